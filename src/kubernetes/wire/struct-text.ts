// Encodes a value as Go encodes the struct of its schema: fields in declared order, zero values by declaration.

import { compareUtf8, goJsonString } from '../../std/go-text.ts';
import { type Fields, isFields, isList } from '../object.ts';
import type { Schema } from '../schema/schema.ts';
import { orderedJson } from './ordered-json.ts';

/** Returns the compact JSON of a struct without fields that are unknown to the schema. */
export function structText(value: Readonly<Record<string, unknown>>, schema: Schema): string {
  let text = '';
  for (const field of declaredFields(schema)) {
    const fieldText = field.text(value[field.name]);
    if (fieldText !== undefined) text += `${text === '' ? '' : ','}${field.key}${fieldText}`;
  }
  return `{${text}}`;
}

interface DeclaredField {
  readonly name: string;
  /** Encoded name with a colon. */
  readonly key: string;
  /** Returns the text of a value; undefined if the field is omitted. */
  readonly text: (value: unknown) => string | undefined;
}

const DECLARED = new WeakMap<Schema, readonly DeclaredField[]>();

/** Returns the fields of a schema, computed once per schema, because lists encode thousands of objects with them. */
function declaredFields(schema: Schema): readonly DeclaredField[] {
  const known = DECLARED.get(schema);
  if (known !== undefined) return known;
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => ({
    name,
    key: `${goJsonString(name)}:`,
    text: (value: unknown) => (isEmpty(value, field) ? emptyText(value, field) : valueText(value, field)),
  }));
  DECLARED.set(schema, fields);
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

function emptyText(value: unknown, schema: Schema): string | undefined {
  const { go } = schema;
  if (go?.zero !== undefined) return orderedJson(value ?? go.zero);
  return go?.struct !== undefined && !go.pointer ? structText({}, schema) : undefined;
}

function valueText(value: unknown, schema: Schema): string {
  if (isList(value)) return schema.items === undefined ? orderedJson(value) : listText(value, schema.items);
  if (!isFields(value) || schema.go?.codec !== undefined) return orderedJson(value);
  if (schema.properties !== undefined) return structText(value, schema);
  return typeof schema.additionalProperties === 'object' ? mapText(value, schema.additionalProperties) : orderedJson(value);
}

function listText(items: readonly unknown[], schema: Schema): string {
  return `[${items.map((item) => valueText(item, schema)).join(',')}]`;
}

function mapText(map: Fields, schema: Schema): string {
  const keys = Object.keys(map).sort(compareUtf8);
  return `{${keys.map((key) => `${goJsonString(key)}:${valueText(map[key], schema)}`).join(',')}}`;
}
