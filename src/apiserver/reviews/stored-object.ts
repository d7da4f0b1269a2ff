// Objects that a request refers to by name.

import { badRequest, notFound } from '../../api/status.ts';
import type { KubeObject } from '../../apimachinery/object.ts';
import { pathSegmentProblems } from '../../domain/names.ts';
import { goQuote } from '../../std/go-text.ts';
import type { ObjectSource } from '../access/object-source.ts';

/** A stored object of the core group. Throws 404 if there is none, and 400 for a name that no object can have. */
export function storedObject(objects: ObjectSource, plural: string, namespace: string, name: string): KubeObject {
  if (name === '') throw badRequest('Name parameter required.');
  const problems = pathSegmentProblems(name);
  if (problems.length > 0) throw badRequest(`Name parameter invalid: ${goQuote(name)}: ${problems.join(';')}`);
  const found = objects.get('', plural, namespace, name);
  if (found === undefined) throw notFound({ group: '', name: plural }, name);
  return found;
}
