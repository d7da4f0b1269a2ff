// Watch requests: start, duration and end of a watch.

import type { ServerResponse } from 'node:http';
import type { Visibility } from '../../access/visibility.ts';
import { hasInitialEvents, parseRequestedVersion } from '../../kubernetes/list-revision.ts';
import { expired, hasReason, type Status } from '../../kubernetes/status.ts';
import { checkStreamable, negotiate } from '../../kubernetes/wire/negotiate.ts';
import type { ListOptions } from '../../kubernetes/wire/options.ts';
import type { Clock } from '../../std/clock.ts';
import type { ConcurrencyLimiter } from '../limits/concurrency.ts';
import type { FairQueue } from '../limits/fair-queue.ts';
import { enforceReadRate } from '../limits/read-rate.ts';
import { tenantOf } from '../limits/tenant.ts';
import type { FacadeReply, FacadeRequest } from '../request.ts';
import type { Item } from './collection.ts';
import { convertedForm, type EventForm, errorLine, type ItemEvent, Replay } from './events.ts';
import type { Access, Listing } from './filtered-list.ts';
import type { History, Wait } from './history.ts';
import { viewOf } from './list.ts';
import { type ListQuery, parseQuery } from './page.ts';
import { Chunk, StreamWriter } from './stream-writer.ts';
import type { TokenChecks } from './token-checks.ts';
import { type CallerVersions, type FacadeVersion, parseVersion, versionAt } from './version.ts';
import { type Start, Watcher, type WatcherOptions, type Watchers } from './watcher.ts';

export interface WatchDeps {
  readonly listing: Listing;
  readonly history: History;
  readonly access: Access;
  readonly versions: CallerVersions;
  /** Form of events with whole objects. */
  readonly plain: EventForm;
  readonly clock: Clock;
  readonly random: () => number;
  readonly watchers: Watchers;
  readonly tokens: TokenChecks;
  /** Limit on open watches. */
  readonly watchLimiter: ConcurrencyLimiter;
  /** Queue for initial events, which are as long as a list. */
  readonly replayQueue: FairQueue;
}

const BOOKMARK_INTERVAL_MS = 60_000;
/** Time between the last bookmark and the end of a watch, in milliseconds. The caller resumes from the bookmark. */
const LAST_BOOKMARK_MS = 2_000;
const MAX_DURATION_MS = 3_600_000;

/** Returns a stream of events from the requested version. Throws for bad requests; 410 and 504 are sent as ERROR events. */
export async function watchObjects(deps: WatchDeps, request: FacadeRequest): Promise<FacadeReply> {
  const { listing, history, access, clock, plain, watchLimiter } = deps;
  const representation = negotiate(request.preferences, { builtIn: false, tables: true, watchable: true });
  const query = parseQuery(request, listing, true);
  parseRequestedVersion(query.options.resourceVersion);
  checkStreamable(representation);
  const view = viewOf(request, listing, representation.as, clock);
  const form = representation.as === undefined ? plain : convertedForm(view, clock);
  history.checkSynced(listing.plural);
  await access.visibleTo(request.caller.user);
  const release = watchLimiter.acquire(request);
  // No event contains a list, so a watch for lists has no events.
  const isEmpty = (query.options.timeoutSeconds ?? 0) < 0 || view.as?.kind === 'PartialObjectMetadataList';
  return {
    status: 200,
    headers: { 'content-type': representation.contentType, vary: 'Authorization, Accept' },
    async write(response) {
      try {
        if (!isEmpty) await serve(deps, request, { ...query, form, response });
      } finally {
        release();
      }
    },
  };
}

interface Stream extends ListQuery {
  readonly form: EventForm;
  readonly response: ServerResponse;
}

/** Serves one watch; returns when it has ended. */
async function serve(deps: WatchDeps, request: FacadeRequest, stream: Stream): Promise<void> {
  const { options, form, response } = stream;
  const { history, access, versions, clock, tokens, watchers } = deps;
  const { promise, resolve } = Promise.withResolvers<void>();
  let watcher: Watcher | undefined = undefined;
  const writer = new StreamWriter(response, clock, () => watcher?.pump());
  const requested = parseRequestedVersion(options.resourceVersion);
  const wait = { signal: request.signal, findVisibility: () => access.visibleTo(request.caller.user) };
  const isReplayed = hasInitialEvents(options);
  const failure = isReplayed ? await waitFor(history, requested, wait) : undefined;
  const endReplay = isReplayed && failure === undefined ? await startReplay(deps, request, writer) : () => {};
  // No await from here until the watcher is added, so that it cannot miss an event.
  const { user } = request.caller;
  const currentVersion = (visibility: Visibility, sent?: FacadeVersion) => versions.next(user, visibility, history.revision, sent);
  const visibility = access.visibleNow(user);
  const start = failure ?? startOf(history, visibility, { ...stream, version: currentVersion(visibility, parseVersion(requested)) });
  if ('code' in start) {
    endReplay();
    writer.write(new Chunk([errorLine(start)]));
    return writer.end();
  }
  const bookmarks = options.allowWatchBookmarks;
  const ends = { onReplayed: endReplay, onEnd: resolve };
  const started = new Watcher({ history, writer, form, bookmarks, currentVersion, ...toSelection(stream), ...ends }, start);
  watcher = started;
  const end = () => started.end();
  const stops = [
    endReplay,
    access.follow(user, (now) => started.setVisibility(now)),
    tokens.join(request.caller, end),
    ...schedule(deps, options, { bookmark: () => started.bookmark(), end }),
  ];
  request.signal.addEventListener('abort', end);
  watchers.add(started);
  if (request.signal.aborted) end();
  started.pump();
  await promise;
  watchers.delete(started);
  for (const stop of stops) stop();
}

/** Waits for a seat; returns the function that releases it. Closes the connection of a client that reads below the minimum rate. */
async function startReplay(
  { clock, replayQueue }: WatchDeps,
  { caller, signal }: FacadeRequest,
  writer: StreamWriter,
): Promise<() => void> {
  const releaseSeat = await replayQueue.acquire(tenantOf(caller.user.username), signal);
  const stop = enforceReadRate({ clock, sentBytes: () => writer.written, onTooSlow: () => writer.destroy() });
  return () => {
    stop();
    releaseSeat();
  };
}

/** Waits for a version; returns the Status if it does not arrive in time. */
async function waitFor(history: History, version: bigint, wait: Wait): Promise<Status | undefined> {
  try {
    await history.waitFor(version, wait);
    return undefined;
  } catch (error) {
    if (!hasReason(error, 'Timeout')) throw error;
    return error.status;
  }
}

function toSelection({ namespace, options, selection }: ListQuery): Pick<WatcherOptions, 'selects' | 'selectionKey'> {
  const isEverything = namespace === '' && selection.isEverything;
  return {
    selects: isEverything ? () => true : ({ object }: Item) => selection.matches(object),
    selectionKey: JSON.stringify([namespace, options.labelSelector, options.fieldSelector]),
  };
}

interface Starting extends ListQuery {
  /** Current version for the caller. */
  readonly version: FacadeVersion;
}

function startOf(history: History, visibility: Visibility, { namespace, options, version }: Starting): Start | Status {
  const number = parseRequestedVersion(options.resourceVersion);
  const now = { visibility, position: history.end, ahead: 0, replay: undefined };
  if (hasInitialEvents(options)) {
    const events = initialEvents(history, visibility, namespace);
    const bookmark = options.sendInitialEvents === true && options.allowWatchBookmarks;
    return { ...now, replay: new Replay({ events, isInitial: true, version, bookmark }) };
  }
  if (number === 0n) return now;
  const requested = parseVersion(number);
  const position = requested.fingerprint === visibility.fingerprint ? positionAfter(history, visibility, requested.revision) : undefined;
  if (position !== undefined) return { ...now, position, ahead: requested.revision > history.revision ? requested.revision : 0 };
  return expired(`too old resource version: ${options.resourceVersion} (${versionAt(history.oldest, visibility)})`).status;
}

/** Returns the position to resume from; undefined for an unknown revision. A caller that sees no object can resume from any revision. */
function positionAfter(history: History, visibility: Visibility, revision: number): number | undefined {
  return visibility.isNothing ? history.end : history.positionAfter(revision);
}

function initialEvents({ collection }: History, visibility: Visibility, namespace: string): Iterable<ItemEvent> {
  return collection.visible(visibility, namespace).map((item) => ({ type: 'ADDED', item }));
}

/** Schedules the bookmarks and the end of a watch; returns the functions that cancel them. */
function schedule(
  { clock, random }: WatchDeps,
  options: ListOptions,
  actions: { bookmark: () => void; end: () => void },
): readonly (() => void)[] {
  const { timeoutSeconds = 0 } = options;
  const durationMs = Math.min(timeoutSeconds === 0 ? (MAX_DURATION_MS / 2) * (1 + random()) : timeoutSeconds * 1_000, MAX_DURATION_MS);
  const ends = clock.wakeAfter(durationMs, actions.end);
  if (!options.allowWatchBookmarks) return [ends];
  const last = durationMs > LAST_BOOKMARK_MS ? [clock.wakeAfter(durationMs - LAST_BOOKMARK_MS, actions.bookmark)] : [];
  return [ends, ...last, every(clock, BOOKMARK_INTERVAL_MS, actions.bookmark)];
}

function every(clock: Clock, intervalMs: number, action: () => void): () => void {
  let cancel = () => {};
  const arm = () => {
    cancel = clock.wakeAfter(intervalMs, () => {
      action();
      arm();
    });
  };
  arm();
  return () => cancel();
}
