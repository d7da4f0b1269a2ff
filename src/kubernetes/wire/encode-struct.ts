// Encodes a value as Go encodes the struct of its schema: fields in declared order, zero values omitted or written as declared.

import { compareUtf8, encodeGoJsonString } from '../../std/go-text.ts';
import { type Fields, isFields, isList } from '../object.ts';
import type { Schema } from '../schema/schema.ts';
import { encodeOrderedJson } from './ordered-json.ts';

/** Returns the compact JSON of a struct without fields that are unknown to the schema. */
export function encodeStruct(value: Readonly<Record<string, unknown>>, schema: Schema): string {
  let text = '';
  for (const field of declaredFieldsOf(schema)) {
    const fieldText = field.encode(value[field.name]);
    if (fieldText !== undefined) text += `${text === '' ? '' : ','}${field.key}${fieldText}`;
  }
  return `{${text}}`;
}

interface DeclaredField {
  readonly name: string;
  /** Encoded name with a colon. */
  readonly key: string;
  /** Returns the JSON of a value; undefined if the field is omitted. */
  readonly encode: (value: unknown) => string | undefined;
}

const DECLARED_FIELDS = new WeakMap<Schema, readonly DeclaredField[]>();

/** Returns the fields of a schema, computed once per schema, because lists encode thousands of objects with them. */
function declaredFieldsOf(schema: Schema): readonly DeclaredField[] {
  const known = DECLARED_FIELDS.get(schema);
  if (known !== undefined) return known;
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => ({
    name,
    key: `${encodeGoJsonString(name)}:`,
    encode: (value: unknown) => (isEmpty(value, field) ? encodeEmpty(value, field) : encodeValue(value, field)),
  }));
  DECLARED_FIELDS.set(schema, fields);
  return fields;
}

/** Returns whether Go's omitempty omits the value. */
export function isEmpty(value: unknown, { go, properties }: Schema): boolean {
  if (value === undefined || value === null) return true;
  if (go?.pointer) return false;
  if (isList(value)) return value.length === 0;
  if (isFields(value)) return properties === undefined && go?.codec === undefined && Object.keys(value).length === 0;
  return value === '' || value === 0 || value === false;
}

function encodeEmpty(value: unknown, schema: Schema): string | undefined {
  const { go } = schema;
  if (go?.zero !== undefined) return encodeOrderedJson(value ?? go.zero);
  return go?.struct !== undefined && !go.pointer ? encodeStruct({}, schema) : undefined;
}

function encodeValue(value: unknown, schema: Schema): string {
  if (isList(value)) return schema.items === undefined ? encodeOrderedJson(value) : encodeList(value, schema.items);
  if (!isFields(value) || schema.go?.codec !== undefined) return encodeOrderedJson(value);
  if (schema.properties !== undefined) return encodeStruct(value, schema);
  return typeof schema.additionalProperties === 'object' ? encodeMap(value, schema.additionalProperties) : encodeOrderedJson(value);
}

function encodeList(items: readonly unknown[], schema: Schema): string {
  return `[${items.map((item) => encodeValue(item, schema)).join(',')}]`;
}

function encodeMap(map: Fields, schema: Schema): string {
  const keys = Object.keys(map).sort(compareUtf8);
  return `{${keys.map((key) => `${encodeGoJsonString(key)}:${encodeValue(map[key], schema)}`).join(',')}}`;
}
