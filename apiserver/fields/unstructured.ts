// Values of the wrong type as Kubernetes' converter from untyped maps to Go structs words them; strategic merges end there.

import { type Fields, isFields, isList, type Value } from '../../src/kubernetes/object.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { canonicalBase64 } from '../../src/kubernetes/wire/base64.ts';
import { decodeSelf } from '../../src/kubernetes/wire/decode-self.ts';
import { toNode } from '../../src/kubernetes/wire/json-node.ts';
import { compareUtf8 } from '../../src/std/go-text.ts';

/** The first value that does not fit its field, in the order of the struct; undefined if all do. */
export function conversionProblem(value: Value | undefined, schema: Schema): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (schema.go?.codec !== undefined) return codecProblem(value, schema);
  if (schema.properties !== undefined) {
    return isFields(value) ? structProblem(value, schema.properties) : `cannot restore struct from: ${goKind(value)}`;
  }
  if (typeof schema.additionalProperties === 'object') {
    return isFields(value) ? mapProblem(value, schema.additionalProperties) : `cannot restore map from ${goKind(value)}`;
  }
  if (schema.items !== undefined) {
    return isList(value) ? listProblem(value, schema.items) : `cannot restore slice from ${goKind(value)}`;
  }
  return scalarProblem(value, schema);
}

function structProblem(value: Fields, properties: Readonly<Record<string, Schema>>): string | undefined {
  return first(Object.entries(properties), ([name, field]) =>
    conversionProblem(Object.hasOwn(value, name) ? value[name] : undefined, field),
  );
}

function mapProblem(value: Fields, schema: Schema): string | undefined {
  return first(Object.keys(value).sort(compareUtf8), (key) => conversionProblem(value[key], schema));
}

function listProblem(items: readonly Value[], schema: Schema): string | undefined {
  return first(items, (item) => conversionProblem(item, schema));
}

function codecProblem(value: Value, { go }: Schema): string | undefined {
  const codec = go?.codec ?? 'raw';
  if (codec === 'bytes' && typeof value !== 'string') return isList(value) ? undefined : `cannot restore slice from ${goKind(value)}`;
  try {
    if (typeof value === 'string' && codec === 'bytes') canonicalBase64(value);
    else decodeSelf(toNode(value), codec, { path: '', fields: '', struct: '' });
    return undefined;
  } catch (error) {
    return `${codec === 'bytes' ? 'error decoding from json: ' : ''}${(error as Error).message}`;
  }
}

function scalarProblem(value: Value, { type = 'string', go }: Schema): string | undefined {
  const found = goKind(value);
  if (FITTING[type]?.includes(found)) return undefined;
  // Go could convert these two, so that the converter gets further before it refuses.
  const isConvertible = type === 'integer' ? found === 'float64' : type === 'string' && found === 'int64';
  if (isConvertible) return `cannot convert ${found} to ${go?.type}`;
  return `unrecognized type: ${type === 'string' ? type : go?.type}`;
}

const FITTING: Readonly<Record<string, readonly string[]>> = {
  string: ['string'],
  boolean: ['bool'],
  integer: ['int64'],
  number: ['int64', 'float64'],
};

/** The kind of Go's value for a JSON value. */
function goKind(value: Value): string {
  if (isList(value)) return 'slice';
  if (isFields(value)) return 'map';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  return typeof value === 'bigint' || Number.isInteger(value) ? 'int64' : 'float64';
}

function first<T>(all: readonly T[], problemOf: (each: T) => string | undefined): string | undefined {
  for (const each of all) {
    const problem = problemOf(each);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
