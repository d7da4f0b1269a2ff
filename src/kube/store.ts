// In-memory copy of one collection, with indexes and the changes of each event.

import type { OperatorFunction } from 'rxjs';
import type { ApiObject, Stored } from '../api/resources.ts';
import { KeyHeap } from '../std/key-heap.ts';
import { mergeItems } from '../std/merge-items.ts';
import type { ListWatchEvent } from './list-watch.ts';
import { isOverBudget, KeptObjects, type NamespaceBudget, type Replacement } from './namespace-bytes.ts';
import { objectKeyOf } from './paths.ts';

/** A change to one object. An object that was deleted and re-created is `deleted`, then `added`. */
export type Change<T extends ApiObject> =
  | { readonly type: 'added'; readonly key: string; readonly object: Stored<T> }
  | { readonly type: 'updated'; readonly key: string; readonly object: Stored<T>; readonly previous: Stored<T> }
  /** `object` is the last known state. */
  | { readonly type: 'deleted'; readonly key: string; readonly object: Stored<T> };

/** Finds objects by the values of an index. */
export interface Lookup<T extends ApiObject> {
  /** Returns the objects for a value; at most `limit`, and all by default. */
  (value: string, limit?: number): readonly Stored<T>[];
  /** Returns the keys of all objects for a value. For many objects, this takes much less time than finding the objects. */
  readonly keys: (value: string) => readonly string[];
}

/** Read access to the objects of a collection. Objects are shared: callers must not modify them. */
export interface Store<T extends ApiObject> {
  /** Resource version of the collection; undefined before the first list, and for a store that combines several collections. */
  readonly resourceVersion: string | undefined;
  readonly size: number;
  /** Returns the object with the `namespace/name` key, or `name` for a cluster-scoped kind. */
  get(key: string): Stored<T> | undefined;
  has(key: string): boolean;
  list(): readonly Stored<T>[];
  keys(): readonly string[];
  /** Adds an index and returns its lookup, which finds the objects for which `valuesOf` returns the given value. */
  index(valuesOf: (object: Stored<T>) => readonly string[]): Lookup<T>;
  /** Adds an index and returns a function that counts the objects for a value, in constant time. */
  tally(valuesOf: (object: Stored<T>) => readonly string[]): (value: string) => number;
  /**
   * Adds an index and returns a function that finds the first object for a value in the order of `compare`, in constant time. A change to
   * an object takes logarithmic time. The order of two objects must not change while both exist.
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

  /** True if a new list would replace at least one stub with its whole object. */
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
    const find = (value: string, limit?: number) => index.keysOf(value, limit).flatMap((key) => this.#objects.all.get(key) ?? []);
    return Object.assign(find, { keys: (value: string) => index.keysOf(value) });
  }

  tally(valuesOf: (object: Stored<T>) => readonly string[]): (value: string) => number {
    const tally = this.#addIndex(new Tally(valuesOf));
    return (value) => tally.count(value);
  }

  first(valueOf: (object: Stored<T>) => string | undefined, compare: Comparison<T>): (value: string) => Stored<T> | undefined {
    const index = this.#addIndex(new FirstIndex(valueOf, compare, (key) => this.#objects.all.get(key)));
    return (value) => this.#objects.all.get(index.firstKey(value) ?? '');
  }

  /** Applies an event and returns its changes. A `listed` event finds deletions that the watch missed. */
  apply(event: ListWatchEvent<T>): readonly Change<T>[] {
    this.#resourceVersion = event.resourceVersion;
    if (event.type === 'bookmark') return [];
    return event.type === 'listed' ? this.#replace(event.objects) : this.#change(event.type, event.object);
  }

  #addIndex<I extends StoreIndex<Stored<T>>>(index: I): I {
    for (const [key, object] of this.#objects.all) index.update(key, undefined, object);
    this.#indexes.push(index);
    return index;
  }

  #replace(objects: readonly Stored<T>[]): readonly Change<T>[] {
    const { all: previous } = this.#objects;
    this.#objects = new KeptObjects(this.#budget);
    for (const object of objects) this.#objects.set(object);
    const { all: next } = this.#objects;
    const changes: Change<T>[] = [];
    for (const [key, object] of previous) {
      if (next.has(key)) continue;
      this.#reindex(key, object, undefined);
      changes.push(toDeletion(key, object));
    }
    for (const [key, object] of next) {
      this.#reindex(key, previous.get(key), object);
      changes.push(...toChanges({ key, object, previous: previous.get(key) }));
    }
    return changes;
  }

  #change(type: 'applied' | 'deleted', object: Stored<T>): readonly Change<T>[] {
    if (type === 'applied') {
      const replacements = this.#objects.set(object);
      for (const { key, object: kept, previous } of replacements) this.#reindex(key, previous, kept);
      return replacements.flatMap(toChanges);
    }
    const key = objectKeyOf(object);
    const previous = this.#objects.delete(key);
    if (previous === undefined) return [];
    this.#reindex(key, previous, undefined);
    return [toDeletion(key, object)];
  }

  #reindex(key: string, previous: Stored<T> | undefined, next: Stored<T> | undefined): void {
    for (const index of this.#indexes) index.update(key, previous, next);
  }
}

/** Changes that one list-watch event made to a store. */
export interface Batch<T extends ApiObject> {
  /** Type of the event; for `listed`, the changes are the difference from the previous state, not every change in between. */
  readonly type: ListWatchEvent<T>['type'];
  readonly resourceVersion: string;
  readonly changes: readonly Change<T>[];
}

/** Applies events to `store` and emits the changes of each. Calls `onApplied` after subscribers have received the changes. */
export function reflectBatches<T extends ApiObject>(
  store: ObjectStore<T>,
  onApplied: () => void,
): OperatorFunction<ListWatchEvent<T>, Batch<T>> {
  return mergeItems(function* (event) {
    const { type, resourceVersion } = event;
    yield { type, resourceVersion, changes: store.apply(event) };
    onApplied();
  });
}

/** An index of all objects. To save memory, it holds keys instead of objects, and does not store the values of each object. */
interface StoreIndex<T> {
  /** Replaces the values of `previous` (undefined for a new key) with the values of `next` (undefined for a deleted key). */
  update(key: string, previous: T | undefined, next: T | undefined): void;
}

class Index<T> implements StoreIndex<T> {
  readonly #valuesOf: (object: T) => readonly string[];
  /** Keys of each value; many values have a single key, which is stored without a set. */
  readonly #keys = new Map<string, string | Set<string>>();

  constructor(valuesOf: (object: T) => readonly string[]) {
    this.#valuesOf = valuesOf;
  }

  keysOf(value: string, limit = Infinity): readonly string[] {
    const keys = this.#keys.get(value) ?? [];
    if (typeof keys === 'string') return [keys].slice(0, limit);
    return keys instanceof Set && keys.size > limit ? keys.values().take(limit).toArray() : [...keys];
  }

  update(key: string, previous: T | undefined, next: T | undefined): void {
    const { removed, added } = compareValues(this.#valuesOf, previous, next);
    for (const value of removed) this.#remove(value, key);
    for (const value of added) this.#add(value, key);
  }

  #add(value: string, key: string): void {
    const keys = this.#keys.get(value);
    if (keys === undefined) this.#keys.set(value, key);
    else if (keys instanceof Set) keys.add(key);
    else this.#keys.set(value, new Set([keys, key]));
  }

  #remove(value: string, key: string): void {
    const keys = this.#keys.get(value);
    if (keys instanceof Set) keys.delete(key);
    if (keys === key || (keys instanceof Set && keys.size === 0)) this.#keys.delete(value);
  }
}

/** Number of objects for each value. */
class Tally<T> implements StoreIndex<T> {
  readonly #valuesOf: (object: T) => readonly string[];
  readonly #counts = new Map<string, number>();

  constructor(valuesOf: (object: T) => readonly string[]) {
    this.#valuesOf = valuesOf;
  }

  count(value: string): number {
    return this.#counts.get(value) ?? 0;
  }

  update(_key: string, previous: T | undefined, next: T | undefined): void {
    const { removed, added } = compareValues(this.#valuesOf, previous, next);
    for (const value of removed) this.#add(value, -1);
    for (const value of added) this.#add(value, 1);
  }

  #add(value: string, change: 1 | -1): void {
    const count = this.count(value) + change;
    if (count === 0) this.#counts.delete(value);
    else this.#counts.set(value, count);
  }
}

interface ValueChange {
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** Returns the values that only `previous` has, and those that only `next` has, each once. */
function compareValues<T>(valuesOf: (object: T) => readonly string[], previous: T | undefined, next: T | undefined): ValueChange {
  const before = previous === undefined ? [] : valuesOf(previous);
  const after = next === undefined ? [] : valuesOf(next);
  return { removed: selectMissing(after, before), added: selectMissing(before, after) };
}

/** Maximum number of values that are compared without a set: for so few values, creating a set takes longer. */
const FEW_VALUES = 8;

function selectMissing(others: readonly string[], values: readonly string[]): readonly string[] {
  if (values.length <= FEW_VALUES) return values.filter((value, index) => !others.includes(value) && values.indexOf(value) === index);
  const known = new Set(others);
  return [...new Set(values)].filter((value) => !known.has(value));
}

/** The first key of each value. Nearly all values have a single key, which is stored without a heap. */
class FirstIndex<T> implements StoreIndex<T> {
  readonly #valueOf: (object: T) => string | undefined;
  readonly #compare: (a: T, b: T) => number;
  readonly #objectOf: (key: string) => T | undefined;
  readonly #keys = new Map<string, string | KeyHeap<string, T>>();

  /** Creates an empty index. `objectOf` returns the current object of a key. */
  constructor(valueOf: (object: T) => string | undefined, compare: (a: T, b: T) => number, objectOf: (key: string) => T | undefined) {
    this.#valueOf = valueOf;
    this.#compare = compare;
    this.#objectOf = objectOf;
  }

  firstKey(value: string): string | undefined {
    const keys = this.#keys.get(value);
    return keys instanceof KeyHeap ? keys.first?.key : keys;
  }

  update(key: string, previous: T | undefined, next: T | undefined): void {
    const before = previous === undefined ? undefined : this.#valueOf(previous);
    const after = next === undefined ? undefined : this.#valueOf(next);
    if (before !== undefined && before !== after) this.#remove(before, key);
    if (after !== undefined && next !== undefined) this.#set(after, key, next);
  }

  #set(value: string, key: string, object: T): void {
    const keys = this.#keys.get(value);
    // If the value equals the key, the map uses the key's string for both, which saves memory.
    if (keys === undefined) this.#keys.set(value === key ? key : value, key);
    else if (keys instanceof KeyHeap) keys.set(key, object);
    else if (keys !== key) this.#keys.set(value, this.#createHeap(keys, key));
  }

  #remove(value: string, key: string): void {
    const keys = this.#keys.get(value);
    if (keys instanceof KeyHeap) keys.remove(key);
    if (keys === key || (keys instanceof KeyHeap && keys.size === 0)) this.#keys.delete(value);
  }

  #createHeap(...all: readonly string[]): KeyHeap<string, T> {
    const heap = new KeyHeap<string, T>(this.#compare);
    for (const key of all) {
      const object = this.#objectOf(key);
      if (object !== undefined) heap.set(key, object);
    }
    return heap;
  }
}

function toChanges<T extends ApiObject>({ key, object, previous }: Replacement<T>): readonly Change<T>[] {
  if (previous === undefined) return [{ type: 'added', key, object }];
  if (previous.metadata.uid !== object.metadata.uid) return [toDeletion(key, previous), { type: 'added', key, object }];
  const isSame = previous.metadata.resourceVersion === object.metadata.resourceVersion && isOverBudget(previous) === isOverBudget(object);
  return isSame ? [] : [{ type: 'updated', key, object, previous }];
}

function toDeletion<T extends ApiObject>(key: string, object: Stored<T>): Change<T> {
  return { type: 'deleted', key, object };
}
