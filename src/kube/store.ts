// In-memory copy of one collection, with indexes and the changes of each event.

import { mergeMap, type OperatorFunction, of, tap } from 'rxjs';
import type { ApiObject, Stored } from '../api/resources.ts';
import { KeyHeap } from '../std/key-heap.ts';
import type { ListWatchEvent } from './list-watch.ts';
import { isOverBudget, KeptObjects, type NamespaceBudget, type Replacement } from './namespace-bytes.ts';
import { objectKey } from './paths.ts';

/** A change of one object. An object that was deleted and re-created is `deleted`, then `added`. */
export type Change<T extends ApiObject> =
  | { readonly type: 'added'; readonly key: string; readonly object: Stored<T> }
  | { readonly type: 'updated'; readonly key: string; readonly object: Stored<T>; readonly previous: Stored<T> }
  /** `object` is the last known state. */
  | { readonly type: 'deleted'; readonly key: string; readonly object: Stored<T> };

/** Returns the objects for a value of an index; at most `limit`, and all by default. */
export type Lookup<T extends ApiObject> = (value: string, limit?: number) => readonly Stored<T>[];

/** Read access to the objects of a collection. Objects are shared: callers must not modify them. */
export interface Store<T extends ApiObject> {
  /** Resource version of the collection; undefined before the first list. */
  readonly resourceVersion: string | undefined;
  readonly size: number;
  /** Returns the object with the `namespace/name` key, or `name` for a cluster-scoped kind. */
  get(key: string): Stored<T> | undefined;
  has(key: string): boolean;
  list(): readonly Stored<T>[];
  keys(): readonly string[];
  /** Adds an index and returns its lookup: the objects for which `valuesOf` returns the value. */
  index(valuesOf: (object: Stored<T>) => readonly string[]): Lookup<T>;
  /** Adds an index and returns the number of objects for a value, in constant time. */
  tally(valuesOf: (object: Stored<T>) => readonly string[]): (value: string) => number;
  /**
   * Adds an index and returns the first object for a value in the order of `compare`, in constant time. A change to an object takes
   * logarithmic time. The order of two objects must not change while both exist.
   */
  first(valueOf: (object: Stored<T>) => string | undefined, compare: Comparison<T>): (value: string) => Stored<T> | undefined;
}

/** Returns a negative number if `a` precedes `b`. */
export type Comparison<T extends ApiObject> = (a: Stored<T>, b: Stored<T>) => number;

/** A store that applies list-watch events. */
export class ObjectStore<T extends ApiObject> implements Store<T> {
  readonly #budget: NamespaceBudget<T> | undefined;
  #objects: KeptObjects<T>;
  #resourceVersion: string | undefined;
  readonly #indexes: StoreIndex<Stored<T>>[] = [];

  /** Creates an empty store; without a budget, it keeps all objects whole. */
  constructor(budget?: NamespaceBudget<T>) {
    this.#budget = budget;
    this.#objects = new KeptObjects(budget);
  }

  /** True if a namespace that was over its budget has room again, so a new list would restore objects. */
  get canRestore(): boolean {
    return this.#objects.canRestore;
  }

  get resourceVersion(): string | undefined {
    return this.#resourceVersion;
  }

  get size(): number {
    return this.#objects.all.size;
  }

  get(key: string): Stored<T> | undefined {
    return this.#objects.all.get(key);
  }

  has(key: string): boolean {
    return this.#objects.all.has(key);
  }

  list(): readonly Stored<T>[] {
    return [...this.#objects.all.values()];
  }

  keys(): readonly string[] {
    return [...this.#objects.all.keys()];
  }

  index(valuesOf: (object: Stored<T>) => readonly string[]): Lookup<T> {
    const index = this.#addIndex(new Index(valuesOf));
    return (value, limit) => index.keysOf(value, limit).flatMap((key) => this.#objects.all.get(key) ?? []);
  }

  tally(valuesOf: (object: Stored<T>) => readonly string[]): (value: string) => number {
    const index = this.#addIndex(new Index(valuesOf));
    return (value) => index.count(value);
  }

  first(valueOf: (object: Stored<T>) => string | undefined, compare: Comparison<T>): (value: string) => Stored<T> | undefined {
    const index = this.#addIndex(new FirstIndex(valueOf, compare));
    return (value) => this.#objects.all.get(index.firstKey(value) ?? '');
  }

  /** Applies an event and returns its changes. A `listed` event finds deletions that the watch missed. */
  apply(event: ListWatchEvent<T>): readonly Change<T>[] {
    this.#resourceVersion = event.resourceVersion;
    if (event.type === 'bookmark') return [];
    const changes = event.type === 'listed' ? this.#replace(event.objects) : this.#change(event.type, event.object);
    for (const change of changes) this.#reindex(change);
    return changes;
  }

  #addIndex<I extends StoreIndex<Stored<T>>>(index: I): I {
    for (const [key, object] of this.#objects.all) index.add(key, object);
    this.#indexes.push(index);
    return index;
  }

  #replace(objects: readonly Stored<T>[]): readonly Change<T>[] {
    const { all: previous } = this.#objects;
    this.#objects = new KeptObjects(this.#budget);
    for (const object of objects) this.#objects.set(object);
    const { all: next } = this.#objects;
    const missing = [...previous].filter(([key]) => !next.has(key)).map(([key, object]) => deleted(key, object));
    const present = [...next].flatMap(([key, object]) => difference({ key, object, previous: previous.get(key) }));
    return [...missing, ...present];
  }

  #change(type: 'applied' | 'deleted', object: Stored<T>): readonly Change<T>[] {
    if (type === 'applied') return this.#objects.set(object).flatMap(difference);
    const key = objectKey(object);
    return this.#objects.delete(key) === undefined ? [] : [deleted(key, object)];
  }

  #reindex(change: Change<T>): void {
    for (const index of this.#indexes) {
      if (change.type !== 'added') index.remove(change.key);
      if (change.type !== 'deleted') index.add(change.key, change.object);
    }
  }
}

/** Changes that one list-watch event made to a store. */
export interface Batch<T extends ApiObject> {
  /** Type of the event; for `listed`, the changes are the difference to the previous state, not its history. */
  readonly type: ListWatchEvent<T>['type'];
  readonly resourceVersion: string;
  readonly changes: readonly Change<T>[];
}

/** Applies events to `store` and emits the changes of each. Calls `onApplied` after subscribers have received the changes. */
export function reflectBatches<T extends ApiObject>(
  store: ObjectStore<T>,
  onApplied: () => void,
): OperatorFunction<ListWatchEvent<T>, Batch<T>> {
  return mergeMap((event) => {
    const { type, resourceVersion } = event;
    return of({ type, resourceVersion, changes: store.apply(event) }).pipe(tap({ complete: onApplied }));
  });
}

interface StoreIndex<T> {
  add(key: string, object: T): void;
  /** Removes a key; has no effect if the key is absent. */
  remove(key: string): void;
}

class Index<T> implements StoreIndex<T> {
  readonly #valuesOf: (object: T) => readonly string[];
  readonly #keys = new Map<string, Set<string>>();
  /** Values of each key, so that a key can be removed without the old object. */
  readonly #values = new Map<string, readonly string[]>();

  constructor(valuesOf: (object: T) => readonly string[]) {
    this.#valuesOf = valuesOf;
  }

  keysOf(value: string, limit = Infinity): readonly string[] {
    const keys: ReadonlySet<string> = this.#keys.get(value) ?? new Set();
    return keys.size <= limit ? [...keys] : keys.values().take(limit).toArray();
  }

  count(value: string): number {
    return this.#keys.get(value)?.size ?? 0;
  }

  add(key: string, object: T): void {
    const values = this.#valuesOf(object);
    if (values.length === 0) return;
    this.#values.set(key, values);
    for (const value of values) {
      const keys = this.#keys.get(value) ?? new Set();
      this.#keys.set(value, keys.add(key));
    }
  }

  remove(key: string): void {
    for (const value of this.#values.get(key) ?? []) {
      const keys = this.#keys.get(value);
      keys?.delete(key);
      if (keys?.size === 0) this.#keys.delete(value);
    }
    this.#values.delete(key);
  }
}

/** The first key of each value. Nearly all values have a single key, which needs no heap. */
class FirstIndex<T> implements StoreIndex<T> {
  readonly #valueOf: (object: T) => string | undefined;
  readonly #compare: (a: T, b: T) => number;
  readonly #keys = new Map<string, Single<T> | KeyHeap<string, T>>();
  /** Value of each key, so that a key can be removed without the old object. */
  readonly #values = new Map<string, string>();

  constructor(valueOf: (object: T) => string | undefined, compare: (a: T, b: T) => number) {
    this.#valueOf = valueOf;
    this.#compare = compare;
  }

  firstKey(value: string): string | undefined {
    const keys = this.#keys.get(value);
    return keys instanceof KeyHeap ? keys.first?.key : keys?.key;
  }

  add(key: string, object: T): void {
    const value = this.#valueOf(object);
    if (value === undefined) return;
    this.#values.set(key, value);
    const keys = this.#keys.get(value);
    if (keys === undefined) this.#keys.set(value, { key, object });
    else if (keys instanceof KeyHeap) keys.set(key, object);
    else this.#keys.set(value, this.#heapOf(keys, { key, object }));
  }

  remove(key: string): void {
    const value = this.#values.get(key);
    if (value === undefined) return;
    this.#values.delete(key);
    const keys = this.#keys.get(value);
    if (keys instanceof KeyHeap) keys.remove(key);
    if (!(keys instanceof KeyHeap) || keys.size === 0) this.#keys.delete(value);
  }

  #heapOf(...singles: readonly Single<T>[]): KeyHeap<string, T> {
    const heap = new KeyHeap<string, T>(this.#compare);
    for (const { key, object } of singles) heap.set(key, object);
    return heap;
  }
}

interface Single<T> {
  readonly key: string;
  readonly object: T;
}

function difference<T extends ApiObject>({ key, object, previous }: Replacement<T>): readonly Change<T>[] {
  if (previous === undefined) return [{ type: 'added', key, object }];
  if (previous.metadata.uid !== object.metadata.uid) return [deleted(key, previous), { type: 'added', key, object }];
  const isSame = previous.metadata.resourceVersion === object.metadata.resourceVersion && isOverBudget(previous) === isOverBudget(object);
  return isSame ? [] : [{ type: 'updated', key, object, previous }];
}

function deleted<T extends ApiObject>(key: string, object: Stored<T>): Change<T> {
  return { type: 'deleted', key, object };
}
