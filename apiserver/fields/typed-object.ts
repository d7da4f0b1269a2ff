// An object together with the type that says which of its parts have owners of their own.

import { isFields, type KubeObject } from '../../src/kubernetes/object.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { type Comparison, compareObjects } from './comparison.ts';
import { type FieldSet, fieldSetOfPaths, outside } from './field-set.ts';
import { type MergeType, objectType } from './merge-type.ts';
import { fieldElement } from './path-element.ts';
import { withZeroValues } from './zero-values.ts';

/** What the server knows of the objects at one endpoint. */
export interface Typing {
  readonly schema: Schema;
  readonly apiVersion: string;
  /** Fields that the endpoint does not write, such as `['status']`: nobody comes to own them through it. */
  readonly resetPaths?: readonly (readonly string[])[];
}

export interface TypedObject {
  readonly apiVersion: string;
  readonly type: MergeType;
  /** The object without its managedFields. */
  readonly value: unknown;
}

/** `object` as Go would hold it; an absent one as the empty object of its kind. */
export function typedObject(object: KubeObject | undefined, { schema, apiVersion }: Typing): TypedObject {
  const value = object === undefined ? {} : withoutManagedFields(object);
  return { apiVersion, type: objectType(schema), value: withZeroValues(value, schema) };
}

/** A typed object as the server stores it. */
export function kubeObject({ value }: TypedObject): KubeObject {
  const object = isFields(value) ? { ...value, metadata: value['metadata'] ?? {} } : value;
  if (!isKubeObject(object)) throw new TypeError('An object without apiVersion, kind or metadata was merged.');
  return object;
}

/** How `next` differs from `old`, apart from fields that the endpoint does not write. */
export function compareTyped(old: TypedObject, next: TypedObject, typing: Typing): Comparison {
  const reset = resetFields(typing);
  const { removed, modified, added } = compareObjects(old.type, old.value, next.value);
  return { removed: outside(removed, reset), modified: outside(modified, reset), added: outside(added, reset) };
}

export function resetFields({ resetPaths = [] }: Typing): FieldSet {
  return fieldSetOfPaths(resetPaths.map((path) => path.map(fieldElement)));
}

export function withoutManagedFields(object: KubeObject): KubeObject {
  if (object.metadata?.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function isKubeObject(value: unknown): value is KubeObject {
  return isFields(value) && typeof value['apiVersion'] === 'string' && typeof value['kind'] === 'string' && isFields(value['metadata']);
}
