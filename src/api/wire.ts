// Models of @kubernetes/client-node in their wire form.

import type { V1ObjectMeta } from '@kubernetes/client-node';

/** A model as JSON: RFC 3339 text instead of `Date`, and read-only, because stores share their objects. */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Wire<Item>[]
    : T extends object
      ? { readonly [Field in keyof T]: Wire<T[Field]> }
      : T;

export interface ObjectMeta extends Wire<V1ObjectMeta> {}

/** Metadata of an object of a namespaced kind. */
export interface NamespacedMeta extends ObjectMeta {
  readonly namespace: string;
}

/** Metadata that every object from an API server has. */
export interface StoredIdentity {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}
