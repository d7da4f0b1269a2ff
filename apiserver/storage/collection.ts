// The objects of one resource in memory, in the order of their keys.

import type { KubeObject } from '../../src/kubernetes/object.ts';

/** Keys are `namespace/name`, or `name` for cluster-scoped kinds; their byte order is the order of lists, as in etcd. */
export class Collection {
  readonly #objects = new Map<string, KubeObject>();
  /** The keys of #objects in order; undefined while it must be made anew. */
  #sorted: string[] | undefined = [];

  get(key: string): KubeObject | undefined {
    return this.#objects.get(key);
  }

  set(key: string, object: KubeObject): void {
    if (!this.#objects.has(key)) this.#insert(key);
    this.#objects.set(key, object);
  }

  delete(key: string): void {
    if (this.#objects.delete(key)) this.#sorted = undefined;
  }

  entries(): IterableIterator<[string, KubeObject]> {
    return this.#objects.entries();
  }

  /** Keys in order, all of them or those of one namespace. */
  keys(namespace?: string): readonly string[] {
    this.#sorted ??= [...this.#objects.keys()].sort(byteOrder);
    if (namespace === undefined) return this.#sorted;
    const prefix = `${namespace}/`;
    const from = lowerBound(this.#sorted, prefix);
    // '0' is the character after '/': the first key that is no longer below the prefix.
    return this.#sorted.slice(from, lowerBound(this.#sorted, `${namespace}0`));
  }

  #insert(key: string): void {
    if (this.#sorted === undefined) return;
    this.#sorted.splice(lowerBound(this.#sorted, key), 0, key);
  }
}

/** Index of the first element that is not below `key`. */
function lowerBound(sorted: readonly string[], key: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (byteOrder(sorted[middle] as string, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Names are ASCII, so comparing code units compares bytes. */
function byteOrder(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
