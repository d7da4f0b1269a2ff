// Streams a collection: first a list of all objects, then every change. The cursor is the state:
//
//   no version ──WatchList, or pages if rejected──▶ version ──watch──▶ version …
//        ▲                                                      │
//        └──────────────────── 410 Expired ◀────────────────────┘

import type { ApiObject, Resource, Stored } from '../api/resources.ts';
import { StatusError } from '../kubernetes/status.ts';
import type { Clock } from '../std/clock.ts';
import { isExpired, type KubeClient, type Selection } from './client.ts';
import { type Deadline, startDeadline } from './deadline.ts';
import { KeptObjects, type NamespaceBudget } from './namespace-bytes.ts';
import { objectKeyOf } from './paths.ts';
import { TransportError } from './transport-error.ts';
import { BrokenWatchError, type WatchEvent } from './watch-events.ts';

export type ListWatchEvent<T extends ApiObject> =
  /** All objects of the collection at one resource version. */
  | { readonly type: 'listed'; readonly objects: readonly Stored<T>[]; readonly resourceVersion: string }
  | { readonly type: 'applied'; readonly object: Stored<T>; readonly resourceVersion: string }
  | { readonly type: 'deleted'; readonly object: Stored<T>; readonly resourceVersion: string }
  /** No change up to this resource version. */
  | { readonly type: 'bookmark'; readonly resourceVersion: string };

/**
 * Position in a collection. It outlives connections: the next watch resumes from it. It advances only after the consumer has taken an
 * event, so that the next watch repeats an event that was not taken.
 */
export interface Cursor {
  /** Resource version of the last consumed event; undefined if the collection has to be listed first. */
  resourceVersion: string | undefined;
  /** Use of paged lists: `never` by default; `next` for one list after a stuck WatchList; `always` if the server rejects WatchList. */
  pages: 'never' | 'next' | 'always';
  /** Time of the last list on the monotonic clock, in milliseconds; undefined before the first. */
  listedAt?: number;
}

export interface ListWatchOptions<T extends ApiObject, S extends ApiObject> {
  readonly client: Pick<KubeClient, 'pages' | 'watch'>;
  readonly resource: Resource<T>;
  readonly selection?: Selection;
  /** Reduces each object on arrival. Must keep the identifying metadata, but may replace an overlong name. */
  readonly transform: (object: Stored<T>) => Stored<S>;
  /** Budget for the objects of a list while they arrive; none by default. */
  readonly budget?: NamespaceBudget<S> | undefined;
  /** Returns whether the next connection should start with a list instead of resuming. Ignored within 5 min after any list. */
  readonly wantsList?: () => boolean;
  readonly clock: Clock;
  readonly random: () => number;
  /** Maximum time without a byte from the server, in milliseconds, after which the watch fails; 90 s by default. */
  readonly idleMs?: number;
}

/** Creates a cursor for a collection that has not been listed. */
export function createCursor(): Cursor {
  return { resourceVersion: undefined, pages: 'never' };
}

/**
 * Follows a collection until `signal` aborts. Resumes a watch that the server ended, and lists in pages if the server rejects WatchList;
 * throws all other errors. A call with the same cursor resumes after the last consumed event.
 */
export async function* listWatch<T extends ApiObject, S extends ApiObject>(
  options: ListWatchOptions<T, S>,
  cursor: Cursor,
  signal: AbortSignal,
): AsyncGenerator<ListWatchEvent<S>> {
  while (!signal.aborted) {
    if (isListDue(options, cursor)) cursor.resourceVersion = undefined;
    try {
      if (cursor.resourceVersion !== undefined) yield* resumeWatch(options, cursor, cursor.resourceVersion, signal);
      else if (cursor.pages !== 'never') yield* listPages(options, cursor, signal);
      else yield* watchList(options, cursor, signal);
    } catch (error) {
      if (isExpired(error)) cursor.resourceVersion = undefined;
      throw error;
    }
  }
}

function isListDue({ clock, wantsList }: Pick<ListWatchOptions<never, never>, 'clock' | 'wantsList'>, { listedAt }: Cursor): boolean {
  return listedAt !== undefined && clock.monotonic() - listedAt >= MIN_LIST_MS && wantsList?.() === true;
}

/** Minimum time between any list and the next list that `wantsList` requests, in milliseconds: tenants can cause such lists. */
const MIN_LIST_MS = 300_000;
/** Default of `idleMs`, in milliseconds; servers send a bookmark every 60 to 75 s. */
const IDLE_MS = 90_000;
/** Maximum time before each initial event, in milliseconds. Startup waits for these events, which arrive in quick succession. */
const STALL_MS = 20_000;
/** Minimum lifetime to request for a watch, in seconds; the maximum is twice as long. */
const WATCH_SECONDS = 300;
/** Minimum duration of a watch without changes, in milliseconds; a shorter watch is an error, so the backoff applies. */
const MIN_WATCH_MS = 1_000;

async function* listPages<T extends ApiObject, S extends ApiObject>(
  { client, resource, selection, transform, budget, clock }: ListWatchOptions<T, S>,
  cursor: Cursor,
  signal: AbortSignal,
): AsyncGenerator<ListWatchEvent<S>> {
  const objects = new KeptObjects<S>(budget);
  let resourceVersion = '';
  for await (const page of client.pages(resource, { ...selection, signal })) {
    for (const item of page.items) objects.set(transform(item));
    resourceVersion = page.resourceVersion;
  }
  yield { type: 'listed', objects: [...objects.all.values()], resourceVersion };
  cursor.resourceVersion = resourceVersion;
  cursor.listedAt = clock.monotonic();
  if (cursor.pages === 'next') cursor.pages = 'never';
}

/** Collects the initial events of a WatchList, then continues as a watch on the same connection. */
async function* watchList<T extends ApiObject, S extends ApiObject>(
  options: ListWatchOptions<T, S>,
  cursor: Cursor,
  signal: AbortSignal,
): AsyncGenerator<ListWatchEvent<S>> {
  const stall = startDeadline(options.clock, STALL_MS);
  const events = openWatch(options, { sendInitialEvents: true }, AbortSignal.any([signal, stall.signal]));
  try {
    cursor.resourceVersion = yield* listInitial(events, options, stall);
    cursor.listedAt = options.clock.monotonic();
    yield* follow(events, options.transform, cursor);
  } catch (cause) {
    const isListed = cursor.resourceVersion !== undefined;
    const error = stall.hasPassed ? new TransportError('ETIMEDOUT', 'timed out waiting for the initial events of a watch') : cause;
    if (isListed) throw error;
    if (isStuck(error)) cursor.pages = 'next';
    if (!isRejected(error)) throw error;
    // A rejected request is cheap, so the pages follow without backoff.
    cursor.pages = 'always';
  } finally {
    stall.clear();
    await events.return(undefined);
  }
}

/** Yields the list and returns its resource version. A separate generator, because `watchList` would keep the list in memory. */
async function* listInitial<T extends ApiObject, S extends ApiObject>(
  events: AsyncGenerator<WatchEvent<T>>,
  options: ListWatchOptions<T, S>,
  stall: Deadline,
): AsyncGenerator<ListWatchEvent<S>, string> {
  const listed = await collectInitial(events, options, stall);
  yield listed;
  return listed.resourceVersion;
}

async function* resumeWatch<T extends ApiObject, S extends ApiObject>(
  options: ListWatchOptions<T, S>,
  cursor: Cursor,
  resourceVersion: string,
  signal: AbortSignal,
): AsyncGenerator<ListWatchEvent<S>> {
  const startedAt = options.clock.monotonic();
  const events = openWatch(options, { resourceVersion }, signal);
  let isEmpty = true;
  for await (const event of follow(events, options.transform, cursor)) {
    isEmpty &&= event.type === 'bookmark';
    yield event;
  }
  if (isEmpty && options.clock.monotonic() - startedAt < MIN_WATCH_MS) {
    throw new BrokenWatchError('the server ended the watch immediately, without a change');
  }
}

function openWatch<T extends ApiObject>(
  { client, resource, selection, random, idleMs = IDLE_MS }: Omit<ListWatchOptions<T, never>, 'transform' | 'budget'>,
  start: { readonly resourceVersion: string } | { readonly sendInitialEvents: true },
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>> {
  // Random, so that watches that started together do not end together.
  const timeoutSeconds = WATCH_SECONDS + Math.floor(random() * WATCH_SECONDS);
  return client.watch(resource, { ...selection, ...start, timeoutSeconds, idleMs, signal });
}

async function collectInitial<T extends ApiObject, S extends ApiObject>(
  events: AsyncGenerator<WatchEvent<T>>,
  { transform, budget }: ListWatchOptions<T, S>,
  stall: Deadline,
): Promise<ListWatchEvent<S>> {
  const objects = new KeptObjects<S>(budget);
  // Not a `for await`, which would close the watch after the initial events.
  for (let next = await events.next(); next.done !== true; next = await events.next()) {
    const event = next.value;
    stall.reset(STALL_MS);
    if (event.type === 'BOOKMARK') {
      if (!event.endsInitialEvents) continue;
      stall.clear();
      return { type: 'listed', objects: [...objects.all.values()], resourceVersion: event.resourceVersion };
    }
    const object = transform(event.object);
    if (event.type === 'DELETED') objects.delete(objectKeyOf(object));
    else objects.set(object);
  }
  throw new BrokenWatchError('the watch ended before all initial events arrived');
}

async function* follow<T extends ApiObject, S extends ApiObject>(
  events: AsyncIterable<WatchEvent<T>>,
  transform: (object: Stored<T>) => Stored<S>,
  cursor: Cursor,
): AsyncGenerator<ListWatchEvent<S>> {
  for await (const event of events) {
    const resourceVersion = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
    if (event.type === 'BOOKMARK') yield { type: 'bookmark', resourceVersion };
    else yield { type: event.type === 'DELETED' ? 'deleted' : 'applied', object: transform(event.object), resourceVersion };
    cursor.resourceVersion = resourceVersion;
  }
}

/** Returns whether the server rejected WatchList, as old servers do. */
function isRejected(error: unknown): boolean {
  return error instanceof StatusError && (error.code === 400 || error.code === 422);
}

/**
 * Returns whether the initial events are incomplete: some servers ignore `sendInitialEvents`, and some connections stop delivering data or
 * deliver invalid data.
 */
function isStuck(error: unknown): boolean {
  return error instanceof BrokenWatchError || (error instanceof TransportError && error.code === 'ETIMEDOUT');
}
