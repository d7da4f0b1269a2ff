// Several collections of one kind as if they were one: where only some namespaces may be watched, each has its own.

import { combineLatest, distinctUntilChanged, map, merge } from 'rxjs';
import type { Informer } from './informer.ts';
import type { Store } from './store.ts';

/** Makes one informer of several for different namespaces. */
export function unionOf<T>(informers: readonly Informer<T>[]): Informer<T> {
  const [only] = informers;
  if (only !== undefined && informers.length === 1) return only;
  return {
    store: new StoreUnion(informers.map(({ store }) => store)),
    changes$: merge(...informers.map(({ changes$ }) => changes$)),
    batches$: merge(...informers.map(({ batches$ }) => batches$)),
    get synced() {
      return informers.every(({ synced }) => synced);
    },
    synced$: combineLatest(informers.map(({ synced$ }) => synced$)).pipe(
      map((each) => each.every(Boolean)),
      distinctUntilChanged(),
    ),
    problems$: merge(...informers.map(({ problems$ }) => problems$)),
  };
}

class StoreUnion<T> implements Store<T> {
  readonly #stores: readonly Store<T>[];
  /** Each collection has a version of its own. */
  readonly resourceVersion = undefined;

  constructor(stores: readonly Store<T>[]) {
    this.#stores = stores;
  }

  get size(): number {
    return this.#stores.reduce((sum, { size }) => sum + size, 0);
  }

  get(key: string): T | undefined {
    return this.#stores.find((store) => store.has(key))?.get(key);
  }

  has(key: string): boolean {
    return this.#stores.some((store) => store.has(key));
  }

  list(): readonly T[] {
    return this.#stores.flatMap((store) => store.list());
  }

  keys(): readonly string[] {
    return this.#stores.flatMap((store) => store.keys());
  }

  index(valuesOf: (object: T) => readonly string[]): (value: string) => readonly T[] {
    const lookups = this.#stores.map((store) => store.index(valuesOf));
    return (value) => lookups.flatMap((lookup) => lookup(value));
  }

  tally(valuesOf: (object: T) => readonly string[]): (value: string) => number {
    const counts = this.#stores.map((store) => store.tally(valuesOf));
    return (value) => counts.reduce((sum, count) => sum + count(value), 0);
  }
}
