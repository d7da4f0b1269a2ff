// Objects as stores hold them.

import type { ApiObject, Stored } from '../../src/api/resources.ts';

/** Declares an object as stored. Metadata that a test does not need may be absent. */
export function stored<T extends ApiObject>(object: T): Stored<T> {
  return object as Stored<T>;
}
