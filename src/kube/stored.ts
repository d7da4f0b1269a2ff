// The check of objects that API servers return, before Purser relies on their metadata.

import type { ApiObject, Resource, Stored } from '../api/resources.ts';

/** Required metadata, for error messages. */
export const STORED_FIELDS = 'name, uid and resourceVersion';

/** Returns whether an object has the metadata that `Stored` promises; a namespaced object also needs its namespace. */
export function isStored<T extends ApiObject>(resource: Resource<T>, object: T | null | undefined): object is Stored<T> {
  const metadata: unknown = object?.metadata;
  if (typeof metadata !== 'object' || metadata === null) return false;
  const { name, uid, resourceVersion, namespace } = metadata as Readonly<Record<string, unknown>>;
  return isText(name) && isText(uid) && isText(resourceVersion) && (!resource.namespaced || isText(namespace));
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}
