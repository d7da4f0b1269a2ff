// Watch: the initial objects, if requested, and later changes to the selected objects.

import { hasInitialEvents, parseRequestedVersion } from '../../src/kubernetes/list-revision.ts';
import { apiVersionOf, type KubeObject } from '../../src/kubernetes/object.ts';
import type { Selection } from '../../src/kubernetes/selection.ts';
import { expired, hasReason, type Status, unclassified } from '../../src/kubernetes/status.ts';
import type { ListOptions } from '../../src/kubernetes/wire/options.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Change } from '../storage/object-store.ts';
import { type Api, openStore } from './api.ts';

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; readonly object: KubeObject }
  | { readonly type: 'ERROR'; readonly status: Status };

export interface WatchRequest {
  readonly kind: Kind;
  readonly selection: Selection;
  readonly options: ListOptions;
  /** Aborted when the caller disconnects or the server stops. */
  readonly signal: AbortSignal;
}

/** Maximum number of unread events; a watch with more is closed. */
const MAX_BACKLOG = 10_000;
const BOOKMARK_INTERVAL_MS = 60_000;
/** Time from the last bookmark to the end of a watch, in milliseconds. The client resumes from that bookmark. */
const LAST_BOOKMARK_MS = 2_000;

/** Returns events in batches. Rejects with 500 for a malformed resourceVersion; sends 410 or 504 as a single ERROR event. */
export async function watchObjects(api: Api, request: WatchRequest): Promise<AsyncIterable<readonly WatchEvent[]>> {
  const { kind, selection, options, signal } = request;
  const from = Number(parseRequestedVersion(options.resourceVersion, unclassified));
  if ((options.timeoutSeconds ?? 0) < 0) return yieldOnce([]);
  try {
    if (options.sendInitialEvents === true && from > api.store.revision) await api.waitForRevision(from);
  } catch (error) {
    if (!hasReason(error, 'Timeout')) throw error;
    return yieldOnce([{ type: 'ERROR', status: error.status }]);
  }
  await waitForCommits(api);
  // No await may separate `findStart` from the subscription: changes in between would be lost.
  const start = findStart(api, request, from);
  if (start === undefined) return yieldOnce([{ type: 'ERROR', status: tooOld(api, kind, from) }]);
  const queue = new WatchQueue<WatchEvent>(MAX_BACKLOG, start.events);
  const stops: (() => void)[] = [];
  // The abort of `signal` also calls `end`, because `drain` never runs if the caller disconnects before the first read.
  const end = () => {
    queue.close();
    for (const stop of stops.splice(0)) stop();
  };
  const bookmark = () => {
    const { durableRevision } = api.store;
    // The client already has the revision at which the watch started.
    if (durableRevision > start.after) queue.push(createBookmark(kind, durableRevision));
  };
  stops.push(
    openStore(api, kind).subscribe((change) => {
      if (change.revision <= start.after) return;
      const event = toEvent(change, selection);
      if (event !== undefined) queue.push(event);
    }),
    ...schedule(api, options, { bookmark, end }),
  );
  signal.addEventListener('abort', end);
  if (signal.aborted) end();
  return drain(queue, end);
}

/** Returns the event of a change for a selection; undefined if neither the old nor the new state is selected. */
function toEvent(change: Change, selection: Selection): WatchEvent | undefined {
  const { object, previous, revision } = change;
  const before = previous !== undefined && selection.matches(previous);
  const now = change.type !== 'DELETED' && selection.matches(object);
  if (now) return { type: before ? 'MODIFIED' : 'ADDED', object };
  if (!before) return undefined;
  return { type: 'DELETED', object: { ...previous, metadata: { ...previous.metadata, resourceVersion: String(revision) } } };
}

interface Start {
  readonly events: readonly WatchEvent[];
  /** Revision after which the watch sends changes. */
  readonly after: number;
}

function findStart(api: Api, { kind, selection, options }: WatchRequest, from: number): Start | undefined {
  const store = openStore(api, kind);
  const { revision } = api.store;
  if (hasInitialEvents(options)) {
    const objects = (store.list('') ?? []).filter((object) => selection.matches(object));
    const added = objects.map((object) => ({ type: 'ADDED' as const, object }));
    const isMarked = options.sendInitialEvents && options.allowWatchBookmarks;
    return { events: isMarked ? [...added, createBookmark(kind, revision, true)] : added, after: revision };
  }
  if (from === 0 || from >= revision) return { events: [], after: Math.max(from, revision) };
  if (from < api.watchableSince(kind)) return undefined;
  const changes = store.since(from);
  if (changes === undefined) return undefined;
  return { events: changes.flatMap((change) => toEvent(change, selection) ?? []), after: revision };
}

/** Waits until all writes are on disk: a watch must not send writes that a crash could undo. */
async function waitForCommits(api: Api): Promise<void> {
  while (!api.store.isDurable) await api.store.whenDurable().catch(() => {});
}

/** Schedules the bookmarks and the end of a watch; returns functions that cancel them. */
function schedule(api: Api, options: ListOptions, act: { bookmark: () => void; end: () => void }): readonly (() => void)[] {
  const { timeoutSeconds = 0 } = options;
  const endAt = api.now() + (timeoutSeconds === 0 ? 1_800_000 * (1 + api.random()) : timeoutSeconds * 1000);
  const cancels = [api.wakeAt(endAt, act.end)];
  if (!options.allowWatchBookmarks) return cancels;
  cancels.push(repeat(api, BOOKMARK_INTERVAL_MS, act.bookmark));
  const lastBookmarkAt = endAt - LAST_BOOKMARK_MS;
  if (lastBookmarkAt > api.now()) cancels.push(api.wakeAt(lastBookmarkAt, act.bookmark));
  return cancels;
}

function repeat(api: Api, intervalMs: number, act: () => void): () => void {
  let cancel = () => {};
  const arm = () => {
    cancel = api.wakeAt(api.now() + intervalMs, () => {
      act();
      arm();
    });
  };
  arm();
  return () => cancel();
}

async function* drain(queue: WatchQueue<WatchEvent>, finish: () => void): AsyncGenerator<readonly WatchEvent[]> {
  try {
    for (let events = await queue.take(); events !== undefined; events = await queue.take()) yield events;
  } finally {
    finish();
  }
}

async function* yieldOnce(events: readonly WatchEvent[]): AsyncGenerator<readonly WatchEvent[]> {
  yield events;
}

function createBookmark(kind: Kind, revision: number, isInitialEnd = false): WatchEvent {
  const annotations = { 'k8s.io/initial-events-end': 'true' };
  const metadata = { ...(isInitialEnd && { annotations }), resourceVersion: String(revision) };
  return { type: 'BOOKMARK', object: { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata } };
}

function tooOld(api: Api, kind: Kind, from: number): Status {
  const oldest = Math.max(api.watchableSince(kind), api.store.oldest);
  return expired(`too old resource version: ${from} (${oldest})`).status;
}

/** A queue that drops its items and closes when the reader falls behind by more than `capacity` items. */
export class WatchQueue<T> {
  readonly #capacity: number;
  #waiting: T[];
  #wake: (() => void) | undefined;
  #closed = false;

  /** Creates a queue with the items `first`, which may exceed the capacity. */
  constructor(capacity: number, first: readonly T[]) {
    this.#capacity = Math.max(capacity, first.length);
    this.#waiting = [...first];
  }

  push(item: T): void {
    if (this.#closed) return;
    this.#waiting.push(item);
    if (this.#waiting.length > this.#capacity) {
      this.#waiting = [];
      this.#closed = true;
    }
    this.#wake?.();
  }

  /** Ends the queue after the items that it contains. */
  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  /** Returns all items since the last call; waits for at least one. Returns undefined after the end of the queue. */
  async take(): Promise<readonly T[] | undefined> {
    while (this.#waiting.length === 0) {
      if (this.#closed) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const items = this.#waiting;
    this.#waiting = [];
    return items;
  }
}
