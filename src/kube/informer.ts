// Informer: keeps one collection in memory with a list-watch that restarts after errors.

import { BehaviorSubject, combineLatest, defer, distinctUntilChanged, finalize, map, merge, Observable, retry, Subject, share } from 'rxjs';
import type { ApiObject, Resource, Stored } from '../api/resources.ts';
import { retryAfterMsOf } from '../kubernetes/retry-after.ts';
import { Backoff, REFLECTOR_BACKOFF } from '../std/backoff.ts';
import type { Clock } from '../std/clock.ts';
import { fromAbortable } from '../std/from-abortable.ts';
import { mergeItems } from '../std/merge-items.ts';
import type { KubeClient, Selection } from './client.ts';
import { createCursor, type ListWatchEvent, type ListWatchOptions, listWatch } from './list-watch.ts';
import type { NamespaceBudget } from './namespace-bytes.ts';
import { type Batch, type Change, type Comparison, type Lookup, ObjectStore, reflectBatches, type Store } from './store.ts';

/** A collection in memory. Its list-watch runs while `changes$` or `batches$` has subscribers; all of them share the list-watch. */
export interface Informer<T extends ApiObject> {
  readonly store: Store<T>;
  /** Every change, after the store contains it. Never completes and never fails. */
  readonly changes$: Observable<Change<T>>;
  /** A batch for each list-watch event, even without changes. */
  readonly batches$: Observable<Batch<T>>;
  /** True once the store has received a whole list since the list-watch started. */
  readonly synced: boolean;
  /** Current and later values of `synced`; emits true after the changes of the first list. Does not start the list-watch. */
  readonly synced$: Observable<boolean>;
  /** Informers that this one combines; undefined for one collection. Batches of different parts are not in resource-version order. */
  readonly parts?: readonly Informer<T>[];
  /** Errors that restart the list-watch. Does not start the list-watch. */
  readonly problems$: Observable<ListWatchProblem>;
}

/** A failed list-watch, which restarts after `retryMs` milliseconds. An expired resource version is a normal cause. */
export interface ListWatchProblem {
  readonly error: unknown;
  readonly retryMs: number;
}

export interface InformerOptions<T extends ApiObject> {
  readonly client: Pick<KubeClient, 'pages' | 'watch'>;
  readonly resource: Resource<T>;
  readonly selection?: Selection;
  readonly clock: Clock;
  readonly random: () => number;
  readonly idleMs?: number;
}

/**
 * Creates an informer that drops managedFields, which would double the size of objects. Keeps only the annotations that `keepsAnnotation`
 * selects; all by default.
 */
export function createInformer<T extends ApiObject>(options: InformerOptions<T>, keepsAnnotation?: (key: string) => boolean): Informer<T> {
  return createReducedInformer(options, (object) => reduceMetadata(object, keepsAnnotation));
}

/**
 * Creates an informer that stores the results of `transform`, which must keep the identifying metadata, but may replace an overlong name.
 * When a namespace over its budget has room again, the next watch starts with a list, which restores whole objects; at most every five
 * minutes.
 */
export function createReducedInformer<T extends ApiObject, S extends ApiObject>(
  options: InformerOptions<T>,
  transform: (object: Stored<T>) => Stored<S>,
  budget?: NamespaceBudget<S>,
): Informer<S> {
  const store = new ObjectStore<S>(budget);
  const synced$ = new BehaviorSubject(false);
  const problems$ = new Subject<ListWatchProblem>();
  const batches$ = defer(() => streamEvents({ ...options, transform, budget, wantsList: () => store.canRestore }, problems$)).pipe(
    reflectBatches(store, () => synced$.next(true)),
    finalize(() => synced$.next(false)),
    share(),
  );
  return {
    store,
    batches$,
    changes$: batches$.pipe(mergeItems(({ changes }) => changes)),
    get synced() {
      return synced$.value;
    },
    synced$: synced$.pipe(distinctUntilChanged()),
    problems$: problems$.asObservable(),
  };
}

/** Removes managedFields and unwanted annotations. A status write without them leaves them unchanged on the server. */
function reduceMetadata<T extends ApiObject>(object: Stored<T>, keepsAnnotation?: (key: string) => boolean): Stored<T> {
  const { managedFields: _, ...metadata } = object.metadata;
  if (keepsAnnotation === undefined || metadata.annotations === undefined) return { ...object, metadata };
  const kept = Object.entries(metadata.annotations).filter(([key]) => keepsAnnotation(key));
  return { ...object, metadata: { ...metadata, annotations: Object.fromEntries(kept) } };
}

type EventsOptions<T extends ApiObject, S extends ApiObject> = InformerOptions<T> & ListWatchOptions<T, S>;

function streamEvents<T extends ApiObject, S extends ApiObject>(
  options: EventsOptions<T, S>,
  problems$: Subject<ListWatchProblem>,
): Observable<ListWatchEvent<S>> {
  const { clock, random } = options;
  const cursor = createCursor();
  const backoff = new Backoff({ ...REFLECTOR_BACKOFF, random });
  const delay = (error: unknown) => {
    const retryMs = Math.max(backoff.nextMs(clock.monotonic()), retryAfterMsOf(error) ?? 0);
    problems$.next({ error, retryMs });
    return emitAfter(clock, retryMs);
  };
  return fromAbortable((signal) => listWatch(options, cursor, signal)).pipe(retry({ delay }));
}

function emitAfter(clock: Clock, ms: number): Observable<void> {
  return new Observable((subscriber) => clock.wakeAfter(ms, () => subscriber.next()));
}

/** Combines informers for different namespaces into one. */
export function combineInformers<T extends ApiObject>(informers: readonly Informer<T>[]): Informer<T> {
  const [only] = informers;
  if (only !== undefined && informers.length === 1) return only;
  return {
    parts: informers,
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

class StoreUnion<T extends ApiObject> implements Store<T> {
  readonly #stores: readonly Store<T>[];
  /** Undefined: each collection has its own resource version. */
  readonly resourceVersion = undefined;

  constructor(stores: readonly Store<T>[]) {
    this.#stores = stores;
  }

  get size(): number {
    return this.#stores.reduce((sum, { size }) => sum + size, 0);
  }

  get(key: string): Stored<T> | undefined {
    return this.#stores.find((store) => store.has(key))?.get(key);
  }

  has(key: string): boolean {
    return this.#stores.some((store) => store.has(key));
  }

  list(): readonly Stored<T>[] {
    return this.#stores.flatMap((store) => store.list());
  }

  keys(): readonly string[] {
    return this.#stores.flatMap((store) => store.keys());
  }

  index(valuesOf: (object: Stored<T>) => readonly string[]): Lookup<T> {
    const lookups = this.#stores.map((store) => store.index(valuesOf));
    const find = (value: string, limit?: number) => lookups.flatMap((lookup) => lookup(value, limit)).slice(0, limit);
    return Object.assign(find, { keys: (value: string) => lookups.flatMap((lookup) => lookup.keys(value)) });
  }

  tally(valuesOf: (object: Stored<T>) => readonly string[]): (value: string) => number {
    const counts = this.#stores.map((store) => store.tally(valuesOf));
    return (value) => counts.reduce((sum, count) => sum + count(value), 0);
  }

  first(valueOf: (object: Stored<T>) => string | undefined, compare: Comparison<T>): (value: string) => Stored<T> | undefined {
    const lookups = this.#stores.map((store) => store.first(valueOf, compare));
    return (value) => lookups.flatMap((lookup) => lookup(value) ?? []).toSorted(compare)[0];
  }
}
