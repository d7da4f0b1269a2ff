// Defaulting by structural schema: absent fields, and nulls where null is not allowed, take the schema's default.

import { type Fields, isFields, isList, type Value } from '../../src/kubernetes/object.ts';
import { type Schema, schemaOfField } from '../../src/kubernetes/schema/schema.ts';

/** The object with every default of its schema filled in; defaults inside an absent object do not conjure it up. */
export function withDefaults<T extends object>(object: T, schema: Schema): T;
export function withDefaults(object: Fields, schema: Schema): Fields {
  const fields: [string, Value][] = [];
  for (const [key, value] of Object.entries(object)) {
    if (value !== undefined) fields.push([key, defaultedChild(value, schemaOfField(schema, key))]);
  }
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const missing = property.default ?? null;
    if (missing !== null && !Object.hasOwn(object, key)) fields.push([key, defaultedValue(missing, property)]);
  }
  return Object.fromEntries(fields);
}

function defaultedChild(value: Value, schema: Schema | undefined): Value {
  const isMissing = value === null && schema !== undefined && !schema.nullable;
  return defaultedValue(isMissing ? (schema.default ?? null) : value, schema);
}

function defaultedValue(value: Value, schema: Schema | undefined): Value {
  if (schema === undefined) return value;
  if (isList(value)) return value.map((item) => defaultedChild(item, schema.items));
  return isFields(value) ? withDefaults(value, schema) : value;
}
