// The objects of one kind in the store: keys by namespace and name, and conversion to the current schema.

import { validatePathSegment } from '../../src/kubernetes/names.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { badRequest } from '../../src/kubernetes/status.ts';
import { quoteGoString } from '../../src/std/go-text.ts';
import { type Kind, toResource } from '../kinds/kind.ts';
import type { Change, ObjectStore, StoredObject } from './object-store.ts';

/** Returns the key of the object with this name. Throws 400 for a name that is not a path segment. */
function toKey(kind: Kind, namespace: string, name: string): string {
  if (name === '') throw badRequest('Name parameter required.');
  const [problem] = validatePathSegment(name);
  if (problem !== undefined) throw badRequest(`Name parameter invalid: ${quoteGoString(name)}: ${problem}`);
  return kind.namespaced ? `${namespace}/${name}` : name;
}

/** Returns the key of an object. Throws 400 for a name that is not a path segment. */
export function toObjectKey(kind: Kind, { metadata }: KubeObject): string {
  return toKey(kind, metadata.namespace ?? '', metadata.name ?? '');
}

export class KindStore {
  readonly kind: Kind;
  readonly #store: ObjectStore;
  readonly #resource: string;

  constructor(store: ObjectStore, kind: Kind) {
    this.kind = kind;
    this.#store = store;
    this.#resource = toResource(kind);
  }

  get(namespace: string, name: string): StoredObject | undefined {
    const stored = this.#store.get(this.#resource, toKey(this.kind, namespace, name));
    return stored && this.#convert(stored);
  }

  /** Returns the objects in the order of their keys, at `revision` or now; undefined if `revision` is no longer available. */
  list(namespace: string, revision?: number): readonly StoredObject[] | undefined {
    const within = namespace === '' ? undefined : namespace;
    const objects =
      revision === undefined ? this.#store.list(this.#resource, within) : this.#store.listAt(this.#resource, revision, within);
    return objects?.map((object) => this.#convert(object));
  }

  put(object: KubeObject): StoredObject {
    return this.#convert(this.#store.put(this.#resource, toObjectKey(this.kind, object), object));
  }

  /** Returns the object as a read after `put` would return it. */
  preview(object: KubeObject): KubeObject {
    return this.kind.fromStored?.(object) ?? object;
  }

  remove(object: KubeObject): StoredObject | undefined {
    const removed = this.#store.remove(this.#resource, toObjectKey(this.kind, object));
    return removed && this.#convert(removed);
  }

  /** Returns the changes after `revision`; undefined if they were dropped. */
  since(revision: number): readonly Change[] | undefined {
    return this.#store.since(this.#resource, revision)?.map((change) => this.#convertChange(change));
  }

  subscribe(listener: (change: Change) => void): () => void {
    return this.#store.subscribe(this.#resource, (change) => listener(this.#convertChange(change)));
  }

  #convertChange(change: Change): Change {
    return {
      ...change,
      object: this.#convert(change.object),
      ...(change.previous && { previous: this.#convert(change.previous) }),
    };
  }

  #convert(stored: StoredObject): StoredObject {
    return (this.kind.fromStored?.(stored) ?? stored) as StoredObject;
  }
}
