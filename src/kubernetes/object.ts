// Structure of all objects of an API server. Stored objects are shared and must not be modified.

/** A JSON value. Integers beyond the precision of a double are bigints. */
export type Value = null | boolean | number | bigint | string | readonly Value[] | Fields;

export interface Fields {
  readonly [name: string]: Value | undefined;
}

/** Returns whether a value is a JSON object. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns whether a value is a JSON list. */
export function isList(value: unknown): value is readonly Value[] {
  return Array.isArray(value);
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** An entry of metadata.managedFields: the fields of one manager. */
export interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation?: 'Apply' | 'Update';
  readonly apiVersion?: string;
  readonly time?: string;
  readonly fieldsType?: 'FieldsV1';
  readonly fieldsV1?: Fields;
  readonly subresource?: string;
}

export interface ObjectMeta {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly selfLink?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

/** Any Kubernetes object. Fields other than apiVersion, kind and metadata depend on the kind. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** Returns the apiVersion: `apps/v1`, or `v1` for the core group. */
export function apiVersionOf({ group, version }: { readonly group: string; readonly version: string }): string {
  return group === '' ? version : `${group}/${version}`;
}
