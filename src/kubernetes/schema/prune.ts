// Pruning: drops fields that a structural schema does not contain, and returns their paths.

import { compareUtf8 } from '../../std/go-text.ts';
import { type Fields, isFields, isList, type Value } from '../object.ts';
import { dropNulls } from './drop-nulls.ts';
import { OBJECT_META } from './go-struct.ts';
import { type Schema, schemaOfField } from './schema.ts';

export interface Pruned<T> {
  readonly value: T;
  /** Paths of the dropped fields: the object's own metadata first, then the rest by path, then metadata of embedded resources. */
  readonly unknown: readonly string[];
}

/** Drops unknown fields of a custom resource, and nulls that are neither nullable nor defaulted. */
export function prune<T extends object>(object: T, schema: Schema): Pruned<T>;
export function prune(object: Fields, schema: Schema): Pruned<Fields> {
  const { value, unknown } = pruneUnknown(object, schema);
  return { value: dropNulls(value, schema), unknown };
}

/** Drops unknown fields of a custom resource; keeps nulls. */
export function pruneUnknown(object: Fields, schema: Schema): Pruned<Fields> {
  const found: Found = { fields: [], metadata: [], embedded: [] };
  const root = { ...schema, 'x-kubernetes-embedded-resource': true };
  const value = pruneFields(object, root, { path: '', found, metadata: found.metadata });
  return { value, unknown: [...found.metadata, ...found.fields.sort(compareUtf8), ...found.embedded.sort(compareUtf8)] };
}

interface Found {
  readonly fields: string[];
  readonly metadata: string[];
  readonly embedded: string[];
}

interface Place {
  readonly path: string;
  readonly found: Found;
  /** Collector of unknown metadata fields of the resource. */
  readonly metadata: string[];
}

function pruneValue(value: Value, schema: Schema | undefined, place: Place): Value {
  if (isList(value)) {
    if (schema?.items === undefined && preserves(schema)) return value;
    return value.map((item, index) => pruneValue(item, schema?.items, at(place, `${place.path}[${index}]`)));
  }
  return isFields(value) ? pruneFields(value, schema, place) : value;
}

function pruneFields(object: Fields, schema: Schema | undefined, place: Place): Fields {
  const kept: [string, Value][] = [];
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined) continue;
    const path = place.path === '' ? key : `${place.path}.${key}`;
    if (schema?.['x-kubernetes-embedded-resource'] && TYPE_AND_METADATA.has(key)) {
      kept.push([key, key === 'metadata' ? pruneMetadata(value, path, place.metadata) : value]);
    } else if (isKnown(schema, key)) {
      kept.push([key, pruneValue(value, schemaOfField(schema, key), at(place, path))]);
    } else if (preserves(schema)) {
      kept.push([key, value]);
    } else {
      place.found.fields.push(path);
    }
  }
  return Object.fromEntries(kept);
}

function at({ found }: Place, path: string): Place {
  return { path, found, metadata: found.embedded };
}

/** Types that decode themselves are not pruned. */
function preserves(schema: Schema | undefined): boolean {
  return schema?.['x-kubernetes-preserve-unknown-fields'] === true || schema?.go?.codec !== undefined;
}

function isKnown(schema: Schema | undefined, key: string): boolean {
  return schema !== undefined && (Object.hasOwn(schema.properties ?? {}, key) || schema.additionalProperties !== undefined);
}

const TYPE_AND_METADATA: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

function pruneMetadata(metadata: Value, path: string, unknown: string[]): Value {
  const found: Found = { fields: unknown, metadata: unknown, embedded: unknown };
  return pruneValue(sortedKeys(metadata), OBJECT_META, { path, found, metadata: unknown });
}

/** Sorts the keys of metadata: Kubernetes decodes it from sorted keys, so its unknown fields are in that order. */
function sortedKeys(value: Value): Value {
  if (isList(value)) return value.map(sortedKeys);
  if (!isFields(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => compareUtf8(a, b));
  return Object.fromEntries(entries.map(([key, field]) => [key, field === undefined ? undefined : sortedKeys(field)]));
}
