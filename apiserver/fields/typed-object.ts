// An object with its merge type.

import { isFields, type KubeObject } from '../../src/kubernetes/object.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import type { JsonObject } from '../same-value.ts';
import { type Comparison, compareObjects } from './comparison.ts';
import { type FieldSet, recursiveDifference, toFieldElement, toFieldSet } from './field-set.ts';
import { type MergeType, toObjectType } from './merge-type.ts';

/** Type information about the objects of one endpoint. */
export interface Typing {
  readonly schema: Schema;
  readonly apiVersion: string;
  /** Paths of fields that the endpoint does not write, such as `['status']`. */
  readonly resetPaths?: readonly (readonly string[])[];
}

export interface TypedObject {
  readonly type: MergeType;
  /** The object without its managedFields. */
  readonly value: unknown;
}

/** Returns `object` with the zero values that Go writes; an empty object of the kind if `object` is undefined. */
export function toTypedObject(object: KubeObject | undefined, { schema }: Typing): TypedObject {
  const value = object === undefined ? {} : withoutManagedFields(object);
  return { type: toObjectType(schema), value: withZeroValues(value, schema) };
}

/** Returns a typed object in the form that the server stores. */
export function toKubeObject({ value }: TypedObject): KubeObject {
  const object = isFields(value) ? { ...value, metadata: value['metadata'] ?? {} } : value;
  if (!isKubeObject(object)) throw new TypeError('The merged object lacks apiVersion, kind or metadata.');
  return object;
}

/** Returns the changes from `old` to `next`, without fields that the endpoint does not write. */
export function compareTyped(old: TypedObject, next: TypedObject, typing: Typing): Comparison {
  const reset = toResetFields(typing);
  const { removed, modified, added } = compareObjects(old.type, old.value, next.value);
  return {
    removed: recursiveDifference(removed, reset),
    modified: recursiveDifference(modified, reset),
    added: recursiveDifference(added, reset),
  };
}

export function toResetFields({ resetPaths = [] }: Typing): FieldSet {
  return toFieldSet(resetPaths.map((path) => path.map(toFieldElement)));
}

export function withoutManagedFields(object: KubeObject): KubeObject {
  if (object.metadata?.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function isKubeObject(value: unknown): value is KubeObject {
  return isFields(value) && typeof value['apiVersion'] === 'string' && typeof value['kind'] === 'string' && isFields(value['metadata']);
}

/** Returns `value` with the zero values that Go writes. Custom resources stay unchanged. */
function withZeroValues(value: unknown, schema: Schema): unknown {
  if (schema.go === undefined) return value;
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? value : value.map((item: unknown) => withZeroValues(item, items));
  }
  if (!isFields(value)) return value;
  if (schema.go.struct !== undefined) return withZeroFields(value, schema.properties ?? {});
  const { additionalProperties } = schema;
  if (typeof additionalProperties !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, field === undefined ? field : withZeroValues(field, additionalProperties)]),
  );
}

function withZeroFields(fields: JsonObject, properties: Readonly<Record<string, Schema>>): JsonObject {
  const declared = Object.entries(properties).map(([name, schema]) => {
    const value = fields[name] ?? zeroOf(schema);
    return [name, value === undefined ? undefined : withZeroValues(value, schema)] as const;
  });
  const all = { ...fields, ...Object.fromEntries(declared) };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

function zeroOf({ go }: Schema): unknown {
  if (go?.zero !== undefined) return go.zero;
  return go?.struct !== undefined && go.pointer !== true ? {} : undefined;
}
