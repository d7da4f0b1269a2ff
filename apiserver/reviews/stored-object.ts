// Objects that a request refers to by name.

import { checkObjectName } from '../../src/kubernetes/bound-object.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { notFound } from '../../src/kubernetes/status.ts';
import type { ObjectSource } from '../access/policy.ts';

/** A stored object of the core group. Throws 404 if there is none, and 400 for a name that no object can have. */
export function storedObject(objects: ObjectSource, plural: string, namespace: string, name: string): KubeObject {
  checkObjectName(name);
  const found = objects.get('', plural, namespace, name);
  if (found === undefined) throw notFound({ group: '', name: plural }, name);
  return found;
}
