// API paths and keys of objects.

import type { ApiObject, Resource } from '../api/resources.ts';
import { apiVersionOf } from '../kubernetes/object.ts';

/** Name of an object; without a namespace for a cluster-scoped kind. */
export interface ObjectName {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Name of an object of a namespaced kind. */
export interface NamespacedName extends ObjectName {
  readonly namespace: string;
}

/** Returns the path of a collection; without a namespace, across all namespaces. */
export function collectionPath(resource: Resource<unknown>, namespace?: string): string {
  const { group, plural } = resource;
  if (!resource.namespaced && namespace) throw new Error(`${plural} are cluster-scoped`);
  const root = `${group === '' ? '/api' : '/apis'}/${apiVersionOf(resource)}`;
  return namespace ? `${root}/namespaces/${encodeSegment(namespace)}/${plural}` : `${root}/${plural}`;
}

/** Returns the path of an object or of one of its subresources. */
export function objectPath(resource: Resource<unknown>, { namespace, name }: ObjectName, subresource?: string): string {
  if (resource.namespaced && !namespace) throw new Error(`${resource.plural} "${name}" needs a namespace`);
  const path = `${collectionPath(resource, namespace)}/${encodeSegment(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** Returns the name of an object. Throws if it has none. */
export function nameOf(object: ApiObject): ObjectName {
  const { name, namespace } = object.metadata;
  if (!name) throw new Error(`${object.kind ?? 'Kubernetes object'} has no name`);
  return { name, namespace };
}

/** Returns the key of an object within its kind: `namespace/name`, or `name` for a cluster-scoped kind. */
export function objectKeyOf(object: ApiObject): string {
  const { name, namespace } = nameOf(object);
  // The result of a template literal would refer to its parts and take more memory than the result of `join`.
  return namespace ? [namespace, name].join('/') : name;
}

/** Returns the namespace in the key of an object; empty for a cluster-scoped kind. */
export function namespaceOf(key: string): string {
  return key.slice(0, Math.max(key.indexOf('/'), 0));
}

/** Encodes a path segment. Throws for an empty name or `.`, which would address the collection, and for `..`, which would leave it. */
function encodeSegment(name: string): string {
  if (name === '' || name === '.' || name === '..') throw new Error(`"${name}" is not a valid name`);
  return encodeURIComponent(name);
}
