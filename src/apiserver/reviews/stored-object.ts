// Objects that a request refers to by name.

import { notFound } from '../../api/status.ts';
import { checkObjectName } from '../../apimachinery/bound-object.ts';
import type { KubeObject } from '../../apimachinery/object.ts';
import type { ObjectSource } from '../access/object-source.ts';

/** A stored object of the core group. Throws 404 if there is none, and 400 for a name that no object can have. */
export function storedObject(objects: ObjectSource, plural: string, namespace: string, name: string): KubeObject {
  checkObjectName(name);
  const found = objects.get('', plural, namespace, name);
  if (found === undefined) throw notFound({ group: '', name: plural }, name);
  return found;
}
