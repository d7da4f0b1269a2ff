// Pruning: drops fields that a structural schema does not contain, and returns their paths.

import { compareUtf8 } from '../../std/go-text.ts';
import { type Fields, isFields, isList, type Value } from '../object.ts';
import { dropNulls } from './drop-nulls.ts';
import { OBJECT_META } from './go-struct.ts';
import { type Schema, schemaOfField } from './schema.ts';

export interface PruneResult<T> {
  readonly value: T;
  /** Paths of the unknown fields, which were dropped: first those in the metadata, then the others, sorted. */
  readonly unknown: readonly string[];
}

/** Drops unknown fields of a custom resource, and null fields that are neither nullable nor defaulted. */
export function prune<T extends object>(object: T, schema: Schema): PruneResult<T>;
export function prune(object: Fields, schema: Schema): PruneResult<Fields> {
  const { value, unknown } = pruneUnknown(object, schema);
  return { value: dropNulls(value, schema), unknown };
}

/** Drops unknown fields of a custom resource; keeps nulls. */
export function pruneUnknown({ apiVersion, kind, metadata, ...rest }: Fields, schema: Schema): PruneResult<Fields> {
  const ofMetadata: string[] = [];
  const ofRest: string[] = [];
  const type = Object.entries({ apiVersion, kind }).filter(([, value]) => value !== undefined);
  const pruned = metadata === undefined ? {} : { metadata: pruneValue(sortKeys(metadata), OBJECT_META, 'metadata', ofMetadata) };
  const value = { ...Object.fromEntries(type), ...pruned, ...pruneFields(rest, schema, '', ofRest) };
  return { value, unknown: [...ofMetadata, ...ofRest.sort(compareUtf8)] };
}

function pruneValue(value: Value, schema: Schema | undefined, path: string, unknown: string[]): Value {
  // Values of types with their own decoder are not pruned.
  if (schema?.go?.codec !== undefined) return value;
  if (isList(value)) return value.map((item, index) => pruneValue(item, schema?.items, `${path}[${index}]`, unknown));
  return isFields(value) ? pruneFields(value, schema, path, unknown) : value;
}

function pruneFields(object: Fields, schema: Schema | undefined, parent: string, unknown: string[]): Fields {
  const kept: [string, Value][] = [];
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined) continue;
    const path = parent === '' ? key : `${parent}.${key}`;
    if (isKnown(schema, key)) kept.push([key, pruneValue(value, schemaOfField(schema, key), path, unknown)]);
    else if (schema?.['x-kubernetes-preserve-unknown-fields']) kept.push([key, value]);
    else unknown.push(path);
  }
  return Object.fromEntries(kept);
}

function isKnown(schema: Schema | undefined, key: string): boolean {
  return schema !== undefined && (Object.hasOwn(schema.properties ?? {}, key) || schema.additionalProperties !== undefined);
}

/** Sorts the keys of metadata: Kubernetes decodes it from sorted keys, so its unknown fields are in that order. */
function sortKeys(value: Value): Value {
  if (isList(value)) return value.map(sortKeys);
  if (!isFields(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => compareUtf8(a, b));
  return Object.fromEntries(entries.map(([key, field]) => [key, field === undefined ? undefined : sortKeys(field)]));
}
