// Defaults of structural schemas.

import { type Fields, isFields, isList, type Value } from '../../src/kubernetes/object.ts';
import { type Schema, schemaOfField } from '../../src/kubernetes/schema/schema.ts';

/** Returns the object with the defaults of its schema. Defaults inside an absent object do not create that object. */
export function withDefaults<T extends object>(object: T, schema: Schema): T;
export function withDefaults(object: Fields, schema: Schema): Fields {
  const fields: [string, Value][] = [];
  for (const [key, value] of Object.entries(object)) {
    if (value !== undefined) fields.push([key, withChildDefaults(value, schemaOfField(schema, key))]);
  }
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const value = property.default ?? null;
    if (value !== null && !Object.hasOwn(object, key)) fields.push([key, withValueDefaults(value, property)]);
  }
  return Object.fromEntries(fields);
}

function withChildDefaults(value: Value, schema: Schema | undefined): Value {
  const isMissing = value === null && schema !== undefined && !schema.nullable;
  return withValueDefaults(isMissing ? (schema.default ?? null) : value, schema);
}

function withValueDefaults(value: Value, schema: Schema | undefined): Value {
  if (schema === undefined) return value;
  if (isList(value)) return value.map((item) => withChildDefaults(item, schema.items));
  return isFields(value) ? withDefaults(value, schema) : value;
}
