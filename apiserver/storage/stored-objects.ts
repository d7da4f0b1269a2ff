// The object store as access control reads it.

import type { ObjectSource } from '../access/object-source.ts';
import { resourceOf } from './kind-store.ts';
import type { ObjectStore } from './object-store.ts';

export function storedObjects(store: ObjectStore): ObjectSource {
  return {
    get: (group, plural, namespace, name) => store.get(resourceOf({ group, plural }), namespace === '' ? name : `${namespace}/${name}`),
    list: (group, plural, namespace) => store.list(resourceOf({ group, plural }), namespace),
  };
}
