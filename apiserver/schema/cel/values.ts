// Values as rules see them: integers as bigints, texts of some formats as times and bytes, fields under their CEL names.

import { isFields, isList, type Value } from '../../../src/kubernetes/object.ts';
import { type Schema, schemaOfField } from '../../../src/kubernetes/schema/schema.ts';
import { celDuration } from './environment.ts';
import { celNames } from './names.ts';

/** What rules of a schema see of a value. Fields that are null or that the schema does not name are not seen. */
export function celValue(value: Value, schema: Schema | undefined): unknown {
  if (isList(value)) return value.map((item) => celValue(item, schema?.items));
  if (isFields(value)) return celMap(Object.entries(value), schema);
  if (typeof value === 'number') return schema?.type === 'number' || !Number.isInteger(value) ? value : BigInt(value);
  return typeof value === 'string' && schema?.type === 'string' ? celText(value, schema.format) : value;
}

/** The schema of a resource's root for rules: type and name are always there. */
export function withTypeAndName(schema: Schema): Schema {
  const text: Schema = { type: 'string' };
  const metadata: Schema = { type: 'object', properties: { name: text, generateName: text } };
  return { ...schema, properties: { ...schema.properties, apiVersion: text, kind: text, metadata } };
}

function celMap(entries: readonly (readonly [string, Value | undefined])[], schema: Schema | undefined): Map<string, unknown> {
  const isStruct = schema?.properties !== undefined;
  const seen = new Map<string, unknown>();
  for (const [key, field] of entries) {
    const fieldSchema = schemaOfField(schema, key);
    if (field === undefined || (isStruct && (field === null || fieldSchema === undefined))) continue;
    const value = celValue(field, fieldSchema);
    for (const name of isStruct ? celNames(key) : [key]) seen.set(name, value);
  }
  return seen;
}

function celText(text: string, format: string | undefined): unknown {
  if (format === 'byte') return Buffer.from(text, 'base64');
  if (format === 'date' || format === 'date-time') return new Date(text);
  return format === 'duration' ? celDuration(text) : text;
}
