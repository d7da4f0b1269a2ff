// One collection kept in memory: a list-watch that starts over by itself, the store it fills and the changes it makes.

import { BehaviorSubject, defer, distinctUntilChanged, finalize, mergeMap, Observable, retry, Subject, share, tap } from 'rxjs';
import type { ApiObject, Resource } from '../api/resources.ts';
import { retryAfterMs } from '../kubernetes/retry-after.ts';
import { Backoff, REFLECTOR_BACKOFF } from '../std/backoff.ts';
import type { Clock } from '../std/clock.ts';
import { fromAbortable } from '../std/from-abortable.ts';
import type { Selection } from './calls.ts';
import type { KubeClient } from './client.ts';
import { type ListWatchEvent, listWatch, startCursor } from './list-watch.ts';
import { type Batch, type Change, ObjectStore, reflectBatches, type Store } from './store.ts';

/** The list-watch runs while `changes$` or `batches$` has subscribers, once for all of them. */
export interface Informer<T> {
  readonly store: Store<T>;
  /** Every change of the store, after it happened. Never ends and never fails. */
  readonly changes$: Observable<Change<T>>;
  /** The same as whole events of the list-watch, those without a change among them. */
  readonly batches$: Observable<Batch<T>>;
  /** Whether the store has held a whole list since the list-watch was started. */
  readonly synced: boolean;
  /** `synced` now and whenever it turns; true comes after the changes of the first list. Starts nothing. */
  readonly synced$: Observable<boolean>;
  /** Why the list-watch had to start over, each time. Starts nothing. */
  readonly problems$: Observable<Problem>;
}

/** A failed round of a list-watch; the next one starts `retryMs` later. An expired version is a normal one. */
export interface Problem {
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

/** Makes an informer of objects without their managedFields, which nobody here reads and which are as large as the rest. */
export function createInformer<T extends ApiObject>(options: InformerOptions<T>): Informer<T> {
  return createReducedInformer(options, withoutManagedFields);
}

/**
 * Makes an informer that keeps of each object only what `transform` returns, which must include the metadata. `onDeleted` is called for
 * each object that left the store.
 */
export function createReducedInformer<T extends ApiObject, S extends ApiObject>(
  options: InformerOptions<T>,
  transform: (object: T) => S,
  onDeleted: (object: S) => void = () => {},
): Informer<S> {
  const store = new ObjectStore<S>();
  const synced$ = new BehaviorSubject(false);
  const problems$ = new Subject<Problem>();
  const batches$ = defer(() => events({ ...options, transform }, problems$)).pipe(
    reflectBatches(store, () => synced$.next(true)),
    tap(({ changes }) => {
      for (const { type, object } of changes) if (type === 'deleted') onDeleted(object);
    }),
    finalize(() => synced$.next(false)),
    share(),
  );
  return {
    store,
    batches$,
    changes$: batches$.pipe(mergeMap(({ changes }) => changes)),
    get synced() {
      return synced$.value;
    },
    synced$: synced$.pipe(distinctUntilChanged()),
    problems$: problems$.asObservable(),
  };
}

/** A write without them leaves them as they are. */
function withoutManagedFields<T extends ApiObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

type EventsOptions<T extends ApiObject, S> = InformerOptions<T> & { readonly transform: (object: T) => S };

function events<T extends ApiObject, S extends ApiObject>(
  options: EventsOptions<T, S>,
  problems$: Subject<Problem>,
): Observable<ListWatchEvent<S>> {
  const { clock, random } = options;
  const cursor = startCursor();
  const backoff = new Backoff({ ...REFLECTOR_BACKOFF, random });
  const delay = (error: unknown) => {
    const retryMs = Math.max(backoff.nextMs(clock.monotonic()), retryAfterMs(error) ?? 0);
    problems$.next({ error, retryMs });
    return after(clock, retryMs);
  };
  return fromAbortable((signal) => listWatch(options, cursor, signal)).pipe(retry({ delay }));
}

function after(clock: Clock, ms: number): Observable<void> {
  return new Observable((subscriber) => clock.wakeAfter(ms, () => subscriber.next()));
}
