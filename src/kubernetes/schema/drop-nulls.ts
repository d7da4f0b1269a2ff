// Nulls in custom resources: kept if the field is unknown or nullable, or has a default that replaces the null later; otherwise dropped.

import { type Fields, isFields, isList, type Value } from '../object.ts';
import { type Schema, schemaOfField } from './schema.ts';

/** Drops null fields whose schema is not nullable and has no default; keeps null fields without a schema, and null list items. */
export function dropNulls(object: Fields, schema: Schema): Fields {
  const kept: [string, Value][] = [];
  for (const [key, value] of Object.entries(object)) {
    const fieldSchema = schemaOfField(schema, key);
    if (value === undefined || (value === null && isNullDropped(fieldSchema))) continue;
    kept.push([key, dropNullsBelow(value, fieldSchema)]);
  }
  return Object.fromEntries(kept);
}

function isNullDropped(schema: Schema | undefined): boolean {
  return schema !== undefined && !schema.nullable && (schema.default ?? null) === null;
}

function dropNullsBelow(value: Value, schema: Schema | undefined): Value {
  if (schema === undefined) return value;
  if (isList(value)) return value.map((item) => dropNullsBelow(item, schema.items));
  return isFields(value) ? dropNulls(value, schema) : value;
}
