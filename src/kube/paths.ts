// Where objects are served.

import type { ApiObject, Resource } from '../api/resources.ts';

/** Names one object; the namespace is left out for cluster-scoped kinds. */
export interface ObjectName {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** What objects of a kind have as apiVersion: `group/version`, or `v1` in the core group. */
export function apiVersionOf({ group, version }: Pick<Resource<unknown>, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`;
}

/** The path of a collection; without a namespace, of all namespaces. */
export function collectionPath(resource: Resource<unknown>, namespace?: string): string {
  const { group, plural } = resource;
  if (!resource.namespaced && namespace) throw new Error(`${plural} have no namespace`);
  const root = `${group === '' ? '/api' : '/apis'}/${apiVersionOf(resource)}`;
  return namespace ? `${root}/namespaces/${segment(namespace)}/${plural}` : `${root}/${plural}`;
}

/** The path of one object or of one of its subresources. */
export function objectPath(resource: Resource<unknown>, { namespace, name }: ObjectName, subresource?: string): string {
  if (resource.namespaced && !namespace) throw new Error(`${resource.plural} "${name}" needs a namespace`);
  const path = `${collectionPath(resource, namespace)}/${segment(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** The name of an object that has one. */
export function nameOf(object: ApiObject): ObjectName {
  const { name, namespace } = object.metadata;
  if (!name) throw new Error(`a ${object.kind ?? 'Kubernetes object'} without a name`);
  return { name, namespace };
}

/** The key of an object within its kind: `namespace/name`, or `name` at cluster scope. */
export function objectKey(object: ApiObject): string {
  const { name, namespace } = nameOf(object);
  return namespace ? `${namespace}/${name}` : name;
}

/** An empty name would turn a request for one object into one for all of them, and dots would leave the collection. */
function segment(name: string): string {
  if (name === '' || name === '.' || name === '..') throw new Error(`"${name}" is not a name`);
  return encodeURIComponent(name);
}
