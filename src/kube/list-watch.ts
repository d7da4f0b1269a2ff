// One collection as a stream of events: all objects, then every change. A state machine whose state is the cursor:
//
//   no version ──WatchList, or pages where that is refused──▶ version ──watch──▶ version …
//        ▲                                                                 │
//        └──────────────────────── 410 Expired ◀───────────────────────────┘

import type { ApiObject, Resource } from '../api/resources.ts';
import { StatusError } from '../kubernetes/status.ts';
import type { Clock } from '../std/clock.ts';
import type { Selection } from './calls.ts';
import { isExpired, type KubeClient } from './client.ts';
import { type Deadline, startDeadline } from './deadline.ts';
import { objectKey } from './paths.ts';
import { TransportError } from './transport-error.ts';
import { BrokenWatchError, type WatchEvent } from './watch-events.ts';

export type ListWatchEvent<T> =
  /** All objects of the collection at one version: what is not among them does not exist. */
  | { readonly type: 'listed'; readonly objects: readonly T[]; readonly resourceVersion: string }
  | { readonly type: 'applied'; readonly object: T; readonly resourceVersion: string }
  | { readonly type: 'deleted'; readonly object: T; readonly resourceVersion: string }
  /** Nothing has changed up to this version. */
  | { readonly type: 'bookmark'; readonly resourceVersion: string };

/**
 * How far a collection has been followed. Outlives connections: the next watch starts where the last one broke.
 * It moves only once an event was taken, so that one which was not is asked for again.
 */
export interface Cursor {
  /** The version up to which events were taken; undefined before the first list and after it expired. */
  resourceVersion: string | undefined;
  /** Whether lists come by pages: the next one, where a WatchList got stuck; always, where the server refuses it. */
  pages: 'never' | 'next' | 'always';
}

export interface ListWatchOptions<T extends ApiObject, S> {
  readonly client: Pick<KubeClient, 'pages' | 'watch'>;
  readonly resource: Resource<T>;
  readonly selection?: Selection;
  /** Reduces each object as it arrives, before it is gathered. Must keep the metadata. */
  readonly transform: (object: T) => S;
  readonly clock: Clock;
  readonly random: () => number;
  /** A watch without a byte for this long is taken for dead. */
  readonly idleMs?: number;
}

/** The cursor of a collection that has not been listed. */
export function startCursor(): Cursor {
  return { resourceVersion: undefined, pages: 'never' };
}

/**
 * Follows a collection until `signal` aborts. A watch that the server ends is resumed at once; everything else that ends one is
 * thrown. Called again with the same cursor, it goes on after the last event that was taken.
 */
export async function* listWatch<T extends ApiObject, S extends ApiObject>(
  options: ListWatchOptions<T, S>,
  cursor: Cursor,
  signal: AbortSignal,
): AsyncGenerator<ListWatchEvent<S>> {
  while (!signal.aborted) {
    try {
      if (cursor.resourceVersion !== undefined) yield* watchOn(options, cursor, signal);
      else if (cursor.pages !== 'never') yield* listPages(options, cursor, signal);
      else yield* watchList(options, cursor, signal);
    } catch (error) {
      if (isExpired(error)) cursor.resourceVersion = undefined;
      throw error;
    }
  }
}

/** Servers send a bookmark every 60 to 75 s. */
const IDLE_MS = 90_000;
/** Initial events follow each other closely: nothing works before they are there, so they are not waited for as long. */
const STALL_MS = 20_000;
/** The server ends each watch after this long, and up to twice as long. */
const WATCH_SECONDS = 300;
/** A server that ends watches sooner than this, without an event, would otherwise be asked without end. */
const SHORTEST_WATCH_MS = 1_000;

async function* listPages<T extends ApiObject, S>(
  { client, resource, selection, transform }: ListWatchOptions<T, S>,
  cursor: Cursor,
  signal: AbortSignal,
): AsyncGenerator<ListWatchEvent<S>> {
  const objects: S[] = [];
  let resourceVersion = '';
  for await (const page of client.pages(resource, { ...selection, signal })) {
    for (const item of page.items) objects.push(transform(item));
    resourceVersion = page.resourceVersion;
  }
  yield { type: 'listed', objects, resourceVersion };
  cursor.resourceVersion = resourceVersion;
  if (cursor.pages === 'next') cursor.pages = 'never';
}

/** Gathers the initial events of a WatchList, then goes on as a watch on the same connection. */
async function* watchList<T extends ApiObject, S extends ApiObject>(
  options: ListWatchOptions<T, S>,
  cursor: Cursor,
  signal: AbortSignal,
): AsyncGenerator<ListWatchEvent<S>> {
  const stall = startDeadline(options.clock, STALL_MS);
  const events = openWatch(options, { sendInitialEvents: true }, AbortSignal.any([signal, stall.signal]));
  try {
    const listed = await gatherInitial(events, options.transform, stall);
    yield listed;
    cursor.resourceVersion = listed.resourceVersion;
    yield* followed(events, options.transform, cursor);
  } catch (cause) {
    const isListed = cursor.resourceVersion !== undefined;
    const error = stall.hasPassed ? new TransportError('ETIMEDOUT', 'the initial events of a watch stalled') : cause;
    if (isListed) throw error;
    if (isStuck(error)) cursor.pages = 'next';
    if (!isRefusal(error)) throw error;
    // It costs nothing, so the pages may follow at once.
    cursor.pages = 'always';
  } finally {
    stall.clear();
    await events.return(undefined);
  }
}

async function* watchOn<T extends ApiObject, S extends ApiObject>(
  options: ListWatchOptions<T, S>,
  cursor: Cursor,
  signal: AbortSignal,
): AsyncGenerator<ListWatchEvent<S>> {
  const startedAt = options.clock.monotonic();
  const events = openWatch(options, { resourceVersion: cursor.resourceVersion ?? '' }, signal);
  let isEmpty = true;
  for await (const event of followed(events, options.transform, cursor)) {
    isEmpty &&= event.type === 'bookmark';
    yield event;
  }
  if (isEmpty && options.clock.monotonic() - startedAt < SHORTEST_WATCH_MS) {
    throw new BrokenWatchError('the server ended the watch at once, without an event');
  }
}

function openWatch<T extends ApiObject>(
  { client, resource, selection, random, idleMs = IDLE_MS }: ListWatchOptions<T, unknown>,
  start: { readonly resourceVersion: string } | { readonly sendInitialEvents: true },
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>> {
  // Spread out, so that watches which began together do not end together.
  const timeoutSeconds = WATCH_SECONDS + Math.floor(random() * WATCH_SECONDS);
  return client.watch(resource, { ...selection, ...start, timeoutSeconds, idleMs, signal });
}

async function gatherInitial<T extends ApiObject, S extends ApiObject>(
  events: AsyncGenerator<WatchEvent<T>>,
  transform: (object: T) => S,
  stall: Deadline,
): Promise<ListWatchEvent<S>> {
  const objects = new Map<string, S>();
  // Taken by hand: leaving a `for await` would close the watch, which goes on after these events.
  for (let next = await events.next(); next.done !== true; next = await events.next()) {
    const event = next.value;
    stall.reset(STALL_MS);
    if (event.type === 'BOOKMARK') {
      if (!event.endsInitialEvents) continue;
      stall.clear();
      return { type: 'listed', objects: [...objects.values()], resourceVersion: event.resourceVersion };
    }
    if (event.type === 'DELETED') objects.delete(objectKey(event.object));
    else objects.set(objectKey(event.object), transform(event.object));
  }
  throw new BrokenWatchError('the watch ended before its initial events did');
}

async function* followed<T extends ApiObject, S extends ApiObject>(
  events: AsyncIterable<WatchEvent<T>>,
  transform: (object: T) => S,
  cursor: Cursor,
): AsyncGenerator<ListWatchEvent<S>> {
  for await (const event of events) {
    const resourceVersion = event.type === 'BOOKMARK' ? event.resourceVersion : (event.object.metadata.resourceVersion ?? '');
    if (event.type === 'BOOKMARK') yield { type: 'bookmark', resourceVersion };
    else yield { type: event.type === 'DELETED' ? 'deleted' : 'applied', object: transform(event.object), resourceVersion };
    cursor.resourceVersion = resourceVersion;
  }
}

/** What old servers say of the options. */
function isRefusal(error: unknown): boolean {
  return error instanceof StatusError && (error.code === 400 || error.code === 422);
}

/** Whether the initial events never ended: some servers take the options and do not know them, and some connections fall silent. */
function isStuck(error: unknown): boolean {
  return error instanceof BrokenWatchError || (error instanceof TransportError && error.code === 'ETIMEDOUT');
}
