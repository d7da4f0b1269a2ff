// JSON schemas as Go writes them: known fields in declared order, zero values left out, values with sorted keys.

import { type Fields, isFields, isList, type Value } from '../../../src/kubernetes/object.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';
import { compareUtf8 } from '../../../src/std/go-text.ts';
import { JSON_SCHEMA_PROPS } from './schema.ts';

/** The canonical form of a declared schema and of all schemas in it. */
export function canonicalSchema<T extends object>(schema: T): T;
export function canonicalSchema(schema: Fields): Fields {
  return canonicalStruct(schema, JSON_SCHEMA_PROPS);
}

function canonicalStruct(struct: Fields, { properties = {} }: Schema): Fields {
  const fields: [string, Value][] = [];
  for (const [name, declared] of Object.entries(properties)) {
    const value = struct[name];
    if (value === undefined || value === null || (!declared.go?.pointer && isZero(value))) continue;
    fields.push([name, canonicalField(name, value, declared)]);
  }
  return Object.fromEntries(fields);
}

function isZero(value: Value): boolean {
  if (isList(value)) return value.length === 0;
  return isFields(value) ? Object.keys(value).length === 0 : value === '' || value === false || value === 0;
}

const SCHEMAS: ReadonlySet<string> = new Set(['items', 'additionalProperties', 'additionalItems', 'not', 'allOf', 'anyOf', 'oneOf']);
const MAPS_OF_SCHEMAS: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'definitions', 'dependencies']);
const VALUES: ReadonlySet<string> = new Set(['default', 'example', 'enum']);

function canonicalField(name: string, value: Value, declared: Schema): Value {
  if (SCHEMAS.has(name)) return schemasIn(value);
  if (MAPS_OF_SCHEMAS.has(name) && isFields(value)) {
    return Object.fromEntries(sortedEntries(value).map(([key, schema = null]) => [key, schemasIn(schema)]));
  }
  return VALUES.has(name) ? sortedValue(value) : structsIn(value, declared);
}

function structsIn(value: Value, declared: Schema | undefined): Value {
  if (isList(value)) return value.map((item) => structsIn(item, declared?.items));
  return isFields(value) && declared !== undefined ? canonicalStruct(value, declared) : value;
}

function schemasIn(value: Value): Value {
  if (isList(value)) return value.map(schemasIn);
  return isFields(value) ? canonicalSchema(value) : value;
}

function sortedValue(value: Value): Value {
  if (isList(value)) return value.map(sortedValue);
  if (!isFields(value)) return value;
  return Object.fromEntries(sortedEntries(value).map(([key, field = null]) => [key, sortedValue(field)]));
}

function sortedEntries(value: Fields): readonly (readonly [string, Value | undefined])[] {
  return Object.entries(value).sort(([a], [b]) => compareUtf8(a, b));
}
