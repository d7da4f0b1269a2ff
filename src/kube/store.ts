// The last known state of one collection, and what each event changes in it.

import { mergeMap, type OperatorFunction, of, tap } from 'rxjs';
import type { ApiObject } from '../api/resources.ts';
import type { ListWatchEvent } from './list-watch.ts';
import { objectKey } from './paths.ts';

/** What happened to one object. An object that was deleted and made anew is `deleted`, then `added`. */
export type Change<T> =
  | { readonly type: 'added'; readonly key: string; readonly object: T }
  | { readonly type: 'updated'; readonly key: string; readonly object: T; readonly previous: T }
  /** `object` is the last state that is known. */
  | { readonly type: 'deleted'; readonly key: string; readonly object: T };

/** Reads the objects of a collection. Objects are shared: nobody changes one in place. */
export interface Store<T> {
  /** The version of the collection that is held; undefined before the first list. */
  readonly resourceVersion: string | undefined;
  readonly size: number;
  /** By `namespace/name`, or `name` at cluster scope. */
  get(key: string): T | undefined;
  has(key: string): boolean;
  list(): readonly T[];
  keys(): readonly string[];
  /** Keeps an index from now on and returns its lookup: the objects for which `valuesOf` gives that value. */
  index(valuesOf: (object: T) => readonly string[]): (value: string) => readonly T[];
  /** The same, but tells only how many there are, in constant time. */
  tally(valuesOf: (object: T) => readonly string[]): (value: string) => number;
}

/** A store that takes events. */
export class ObjectStore<T extends ApiObject> implements Store<T> {
  #objects = new Map<string, T>();
  #resourceVersion: string | undefined;
  readonly #indexes: Index<T>[] = [];

  get resourceVersion(): string | undefined {
    return this.#resourceVersion;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  has(key: string): boolean {
    return this.#objects.has(key);
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  keys(): readonly string[] {
    return [...this.#objects.keys()];
  }

  index(valuesOf: (object: T) => readonly string[]): (value: string) => readonly T[] {
    const index = this.#indexed(valuesOf);
    return (value) => index.keysOf(value).flatMap((key) => this.#objects.get(key) ?? []);
  }

  tally(valuesOf: (object: T) => readonly string[]): (value: string) => number {
    const index = this.#indexed(valuesOf);
    return (value) => index.count(value);
  }

  /** Takes an event in whole, then says what it changed. Deletions that nobody saw are found by a `listed` event. */
  apply(event: ListWatchEvent<T>): readonly Change<T>[] {
    this.#resourceVersion = event.resourceVersion;
    if (event.type === 'bookmark') return [];
    const changes = event.type === 'listed' ? this.#replace(event.objects) : this.#change(event.type, event.object);
    for (const change of changes) this.#reindex(change);
    return changes;
  }

  #indexed(valuesOf: (object: T) => readonly string[]): Index<T> {
    const index = new Index(valuesOf);
    for (const [key, object] of this.#objects) index.add(key, object);
    this.#indexes.push(index);
    return index;
  }

  #replace(objects: readonly T[]): readonly Change<T>[] {
    const previous = this.#objects;
    const next = new Map(objects.map((object) => [objectKey(object), object]));
    this.#objects = next;
    const gone = [...previous].filter(([key]) => !next.has(key)).map(([key, object]) => deleted(key, object));
    return [...gone, ...[...next].flatMap(([key, object]) => difference(key, previous.get(key), object))];
  }

  #change(type: 'applied' | 'deleted', object: T): readonly Change<T>[] {
    const key = objectKey(object);
    const previous = this.#objects.get(key);
    if (type === 'applied') {
      this.#objects.set(key, object);
      return difference(key, previous, object);
    }
    return this.#objects.delete(key) ? [deleted(key, object)] : [];
  }

  #reindex(change: Change<T>): void {
    for (const index of this.#indexes) {
      if (change.type !== 'added') index.remove(change.key);
      if (change.type !== 'deleted') index.add(change.key, change.object);
    }
  }
}

/** What one event of a list-watch has done to a store. */
export interface Batch<T> {
  /** Of a list, it is not known what happened between the version before and this one, only what came of it. */
  readonly type: ListWatchEvent<T>['type'];
  readonly resourceVersion: string;
  readonly changes: readonly Change<T>[];
}

/** Applies events to `store` and passes on what each has done. Calls `applied` when that has been passed on. */
export function reflectBatches<T extends ApiObject>(
  store: ObjectStore<T>,
  applied: () => void,
): OperatorFunction<ListWatchEvent<T>, Batch<T>> {
  return mergeMap((event) => {
    const { type, resourceVersion } = event;
    return of({ type, resourceVersion, changes: store.apply(event) }).pipe(tap({ complete: applied }));
  });
}

/** The same change by change; whoever gets a change finds it in the store. */
export function reflect<T extends ApiObject>(store: ObjectStore<T>, applied: () => void): OperatorFunction<ListWatchEvent<T>, Change<T>> {
  return (events$) =>
    events$.pipe(
      reflectBatches(store, applied),
      mergeMap(({ changes }) => changes),
    );
}

class Index<T> {
  readonly #valuesOf: (object: T) => readonly string[];
  readonly #keys = new Map<string, Set<string>>();
  /** What each key was filed under, so that it can be taken out without its old object. */
  readonly #values = new Map<string, readonly string[]>();

  constructor(valuesOf: (object: T) => readonly string[]) {
    this.#valuesOf = valuesOf;
  }

  keysOf(value: string): readonly string[] {
    return [...(this.#keys.get(value) ?? [])];
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

function difference<T extends ApiObject>(key: string, previous: T | undefined, object: T): readonly Change<T>[] {
  if (previous === undefined) return [{ type: 'added', key, object }];
  if (previous.metadata.uid !== object.metadata.uid) return [deleted(key, previous), { type: 'added', key, object }];
  if (previous.metadata.resourceVersion === object.metadata.resourceVersion) return [];
  return [{ type: 'updated', key, object, previous }];
}

function deleted<T>(key: string, object: T): Change<T> {
  return { type: 'deleted', key, object };
}
