// Watch requests: start, duration and end of a watch.

import { hash } from 'node:crypto';
import type { Visibility } from '../../access/visibility.ts';
import { hasInitialEvents, parseRequestedVersion } from '../../kubernetes/list-revision.ts';
import { expired, hasReason, type Status } from '../../kubernetes/status.ts';
import { checkStreamable, negotiate } from '../../kubernetes/wire/negotiate.ts';
import type { ListOptions } from '../../kubernetes/wire/options.ts';
import type { Clock } from '../../std/clock.ts';
import { type Caller, recheckToken } from '../authenticate.ts';
import { type BodyStream, Chunk } from '../body-stream.ts';
import type { ConcurrencyLimiter, WatchLimits } from '../limits/concurrency.ts';
import { enforceReadRate } from '../limits/read-rate.ts';
import type { SeatQueue } from '../limits/seat-queue.ts';
import { toTenant } from '../limits/tenant.ts';
import type { UnreadEvents } from '../limits/unread-events.ts';
import type { FacadeReply, FacadeRequest, TakeOver } from '../request.ts';
import type { Item } from './collection.ts';
import { type ConvertedLines, createConvertedForm, type EventForm, encodeErrorLine, type ItemEvent, Replay } from './events.ts';
import type { Listing } from './filtered-list.ts';
import type { History, VersionWait } from './history.ts';
import { parseView } from './list.ts';
import { type ListQuery, parseQuery } from './page.ts';
import type { RbacAccess } from './rbac-access.ts';
import type { TokenChecks } from './token-checks.ts';
import { type CallerVersions, type FacadeVersion, formatFacadeVersionAt, parseFacadeVersion } from './version.ts';
import { Watcher, type WatcherOptions, type Watchers, type WatchStart } from './watcher.ts';

export interface WatchDeps {
  readonly listing: Listing;
  readonly history: History;
  readonly access: RbacAccess;
  readonly versions: CallerVersions;
  /** Form of events with whole objects. */
  readonly plain: EventForm;
  readonly converted: ConvertedLines;
  readonly clock: Clock;
  readonly random: () => number;
  readonly watchers: Watchers;
  readonly tokens: TokenChecks;
  /** Limit on the memory of open watches. */
  readonly watchLimiter: ConcurrencyLimiter;
  readonly watchLimits: Pick<WatchLimits, 'perConnection' | 'perStream'>;
  /** Queue for the initial events of watches, which can be as large as a list. */
  readonly replayQueue: SeatQueue;
  /** Limit on events that clients have not read. */
  readonly unread: UnreadEvents;
}

const BOOKMARK_INTERVAL_MS = 60_000;
/** Time between the last bookmark and the end of a watch, in milliseconds. The caller resumes from the bookmark. */
const LAST_BOOKMARK_MS = 2_000;
const MAX_DURATION_MS = 3_600_000;

/**
 * Returns a stream of events from the requested version. Throws errors of the request before the response, except 410 and 504, which are
 * sent as ERROR events. Any other failure after the start of the response closes the connection or the HTTP/2 stream.
 */
export async function watchObjects(deps: WatchDeps, request: FacadeRequest): Promise<FacadeReply> {
  const { listing, history, access, clock, plain, watchLimiter, watchLimits } = deps;
  const representation = negotiate(request.preferences, { builtIn: false, tables: true, watchable: true });
  const query = parseQuery(request, listing, true);
  parseRequestedVersion(query.options.resourceVersion);
  checkStreamable(representation);
  const view = parseView(request, listing, representation.as, clock);
  const form = representation.as === undefined ? plain : createConvertedForm(view, clock, deps.converted);
  history.checkSynced(listing.plural);
  await access.findVisibility(request.caller.user);
  const release = watchLimiter.acquire(
    request,
    request.isMultiplexed ? watchLimits.perStream : watchLimits.perConnection + request.bufferBytes,
  );
  // An event contains a single object, so a watch for PartialObjectMetadataList has no events.
  const isEmpty = (query.options.timeoutSeconds ?? 0) < 0 || view.as?.kind === 'PartialObjectMetadataList';
  return {
    status: 200,
    headers: { 'content-type': representation.contentType, vary: 'Authorization, Accept', connection: 'close' },
    async write(_response, takeOver) {
      if (isEmpty) release();
      else await startWatch(deps, request, { ...query, form, takeOver, release });
    },
  };
}

interface WatchQuery extends ListQuery {
  readonly form: EventForm;
}

interface PendingWatch extends WatchQuery {
  readonly takeOver: TakeOver;
  /** Stops counting the watch toward the limit on open watches. */
  readonly release: () => void;
}

/** Starts a watch. Returns as soon as the watch has started, so that the request object does not stay in memory. */
async function startWatch(deps: WatchDeps, request: FacadeRequest, { takeOver, release, ...query }: PendingWatch): Promise<void> {
  const { history, access, replayQueue } = deps;
  const { caller, signal } = request;
  const isReplayed = hasInitialEvents(query.options);
  const requested = parseRequestedVersion(query.options.resourceVersion);
  const failure = isReplayed
    ? await waitForVersion(history, requested, { signal, findVisibility: () => access.findVisibility(caller.user) })
    : undefined;
  const releaseSeat = isReplayed && failure === undefined ? await replayQueue.acquire(toTenant(caller.user.username), signal) : () => {};
  const abandon = (error: unknown) => {
    releaseSeat();
    release();
    throw error;
  };
  const { stream, result: found } = await takeOver(() => checkAgain(access, request)).catch(abandon);
  begin(deps, caller, { ...query, stream, release, releaseSeat, failure, found });
}

/** Checks the token again, and returns the objects that the caller may see: both may have changed while the watch waited. */
async function checkAgain(access: RbacAccess, request: FacadeRequest): Promise<Visibility> {
  const { user } = request.caller;
  await Promise.all([recheckToken(request), access.findVisibility(user)]);
  // The check of the token may have taken longer.
  return await access.findVisibility(user);
}

interface StartedWatch extends WatchQuery {
  readonly stream: BodyStream;
  readonly release: () => void;
  /** Gives back the seat for initial events. */
  readonly releaseSeat: () => void;
  /** Status to send instead of events. */
  readonly failure: Status | undefined;
  /** Visibility that was just found for the caller. */
  readonly found: Visibility;
}

/**
 * Adds a watcher, and removes it when the watch ends; or sends the Status of a 410 or 504, and ends the watch. The closures stay in memory
 * with the watcher, so they must not refer to the whole request. Waits for nothing, so that the watcher cannot miss an event.
 */
function begin(deps: WatchDeps, caller: Caller, { stream, release, releaseSeat, failure, found, form, ...query }: StartedWatch): void {
  const { history, access, versions, tokens, watchers, unread, clock } = deps;
  const { user } = caller;
  const tenant = toTenant(user.username);
  const following = access.follow(user, found, (now) => watcher.setVisibility(now));
  const version = versions.next(
    user,
    following.visibility,
    history.revision,
    parseFacadeVersion(parseRequestedVersion(query.options.resourceVersion)),
  );
  const beginReplay = () => enforceReplayRate(stream, clock, releaseSeat);
  const start = failure ?? findStart(history, following.visibility, { ...query, version, beginReplay });
  if ('code' in start) {
    following.stop();
    release();
    stream.write(new Chunk([encodeErrorLine(start)]));
    return stream.end();
  }
  const sendsBookmarks = query.options.allowWatchBookmarks;
  const onEnd = () => {
    watchers.delete(watcher);
    for (const stop of stops) stop();
  };
  const currentVersion = (visibility: Visibility) => versions.next(user, visibility, history.revision);
  const watcher: Watcher = new Watcher(
    { history, stream, form, tenant, unread, sendsBookmarks, currentVersion, ...toSelection(query), onEnd },
    start,
  );
  const stops = [release, following.stop, tokens.join(caller, () => watcher.end()), schedule(deps, query.options, watcher)];
  watchers.add(watcher);
  stream.source = watcher;
  watcher.pump();
}

/**
 * Closes the connection or the HTTP/2 stream if the client reads initial events below the minimum rate. The returned function ends the
 * checks and calls `onEnd`.
 */
function enforceReplayRate(stream: BodyStream, clock: Clock, onEnd: () => void): () => void {
  const stop = enforceReadRate({ clock, sentBytes: () => stream.written, onTooSlow: () => stream.destroy() });
  return () => {
    stop();
    onEnd();
  };
}

/** Waits for a version. Returns the Status of a 504 if the version is not reached in time. */
async function waitForVersion(history: History, version: bigint, wait: VersionWait): Promise<Status | undefined> {
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
    // A digest, because each watch keeps the key.
    selectionKey: isEverything
      ? ''
      : hash('sha256', JSON.stringify([namespace, options.labelSelector, options.fieldSelector]), 'base64url'),
  };
}

interface StartOptions extends ListQuery {
  /** Current version for the caller. */
  readonly version: FacadeVersion;
  /** Called before the initial events are sent. Returns the function to call when they have been sent. */
  readonly beginReplay: () => () => void;
}

/** Returns the start of a watch, or the Status of a 410 if the requested version is unknown. */
function findStart(
  history: History,
  visibility: Visibility,
  { namespace, options, version, beginReplay }: StartOptions,
): WatchStart | Status {
  const number = parseRequestedVersion(options.resourceVersion);
  const now = { visibility, position: history.end, ahead: 0, replay: undefined };
  if (hasInitialEvents(options)) {
    const events = createInitialEvents(history, visibility, namespace);
    const hasBookmark = options.sendInitialEvents === true && options.allowWatchBookmarks;
    return { ...now, replay: new Replay({ events, isInitial: true, version, hasBookmark, onEnd: beginReplay() }) };
  }
  if (number === 0n) return now;
  const requested = parseFacadeVersion(number);
  const position =
    requested.fingerprint === visibility.fingerprint ? findResumePosition(history, visibility, requested.revision) : undefined;
  if (position !== undefined) return { ...now, position, ahead: requested.revision > history.revision ? requested.revision : 0 };
  return expired(`too old resource version: ${options.resourceVersion} (${formatFacadeVersionAt(history.oldest, visibility)})`).status;
}

/**
 * Returns the position to resume from, or undefined if the revision is unknown. A caller who sees no object can resume from any revision.
 */
function findResumePosition(history: History, visibility: Visibility, revision: number): number | undefined {
  return visibility.isNothing ? history.end : history.findPositionAfter(revision);
}

function createInitialEvents({ collection }: History, visibility: Visibility, namespace: string): Iterable<ItemEvent> {
  return collection.findVisible(visibility, namespace).map((item) => ({ type: 'ADDED', item }));
}

/** Sends the bookmarks of a watch and ends the watch after its duration, with one timer. The returned function cancels the timer. */
function schedule({ clock, random }: WatchDeps, { timeoutSeconds = 0, allowWatchBookmarks }: ListOptions, watcher: Watcher): () => void {
  const durationMs = Math.min(timeoutSeconds === 0 ? (MAX_DURATION_MS / 2) * (1 + random()) : timeoutSeconds * 1_000, MAX_DURATION_MS);
  const startedAt = clock.monotonic();
  let cancel = () => {};
  const arm = () => {
    const passedMs = clock.monotonic() - startedAt;
    const bookmarkMs = allowWatchBookmarks ? computeNextBookmark(passedMs, durationMs) : undefined;
    cancel = clock.wakeAfter((bookmarkMs ?? durationMs) - passedMs, () => {
      if (bookmarkMs === undefined) return watcher.end();
      watcher.sendBookmark();
      arm();
    });
  };
  arm();
  return () => cancel();
}

/** Returns the time of the next bookmark, in milliseconds after the start of the watch, or undefined if the watch ends first. */
function computeNextBookmark(passedMs: number, durationMs: number): number | undefined {
  const regular = (Math.floor(passedMs / BOOKMARK_INTERVAL_MS) + 1) * BOOKMARK_INTERVAL_MS;
  const times = [regular, durationMs - LAST_BOOKMARK_MS].filter((ms) => passedMs < ms && ms < durationMs);
  return times.length === 0 ? undefined : Math.min(...times);
}
