// The models of @kubernetes/client-node as they are on the wire, where we read and write them.

import type { V1ObjectMeta } from '@kubernetes/client-node';

/**
 * A model as JSON carries it: instants are RFC 3339 text instead of `Date`, and nothing is changed in place,
 * because objects in stores are shared.
 */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Wire<Item>[]
    : T extends object
      ? { readonly [Field in keyof T]: Wire<T[Field]> }
      : T;

/** The metadata of any object. */
export type ObjectMeta = Wire<V1ObjectMeta>;
