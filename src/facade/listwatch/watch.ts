// GET of the cluster list with watch=true: where a watch begins, how long it lasts and what ends it.

import type { ServerResponse } from 'node:http';
import type { Visibility } from '../../access/visibility.ts';
import { requestedVersion } from '../../kubernetes/list-revision.ts';
import { expired, hasReason, type Status } from '../../kubernetes/status.ts';
import { negotiateWatch } from '../../kubernetes/wire/negotiate.ts';
import type { ListOptions } from '../../kubernetes/wire/options.ts';
import type { Clock } from '../../std/clock.ts';
import { keepPace } from '../admission/pace.ts';
import type { Places } from '../admission/places.ts';
import type { Turns } from '../admission/turns.ts';
import type { ClusterAccess } from '../clusters/cluster-access.ts';
import type { ClusterState, Wait } from '../clusters/cluster-state.ts';
import { convertedForm, type EventForm, errorLine, PLAIN } from '../clusters/event-form.ts';
import { seenBy } from '../clusters/seen.ts';
import { type Selected, selected } from '../clusters/selected.ts';
import type { Watchers } from '../clusters/watchers.ts';
import type { FacadeReply, FacadeRequest } from '../request.ts';
import { type Happening, Replay } from './events.ts';
import type { ClusterHistory } from './history.ts';
import { viewOf } from './list.ts';
import { Chunk, StreamWriter } from './stream-writer.ts';
import type { TokenChecks } from './token-checks.ts';
import { formatVersion, parseVersion } from './version.ts';
import { type Start, Watcher } from './watcher.ts';

export interface WatchDeps {
  readonly state: ClusterState;
  readonly access: ClusterAccess;
  readonly clock: Clock;
  readonly random: () => number;
  readonly watchers: Watchers;
  readonly tokens: TokenChecks;
  readonly watches: Places;
  /** Turns for initial events, which are as long as a list. */
  readonly replays: Turns;
}

const BOOKMARK_INTERVAL_MS = 60_000;
/** A last bookmark this long before the end lets the caller resume from close by. */
const LAST_BOOKMARK_MS = 2_000;
const LONGEST_MS = 3_600_000;

/** Events from the version that is asked for. Bad requests fail before the first one; 410 and 504 come as an ERROR event. */
export async function watchClusters(deps: WatchDeps, request: FacadeRequest): Promise<FacadeReply> {
  const representation = negotiateWatch(request.preferences, { builtIn: false, tables: true });
  const wanted = selected(request, { watch: true });
  const view = viewOf(request, representation.as, deps.clock);
  const form = representation.as === undefined ? PLAIN : convertedForm(view, deps.clock);
  requestedVersion(wanted.options.resourceVersion);
  deps.state.checkKnown();
  await deps.access.visibleTo(request.caller.user);
  const release = deps.watches.take(request);
  // No event holds a list, so a watch that asks for lists has none.
  const isEmpty = (wanted.options.timeoutSeconds ?? 0) < 0 || view.as?.kind === 'PartialObjectMetadataList';
  return {
    status: 200,
    headers: { 'content-type': representation.contentType, vary: 'Authorization, Accept' },
    async write(response) {
      try {
        if (!isEmpty) await serve(deps, request, { ...wanted, form, response });
      } finally {
        release();
      }
    },
  };
}

interface Wanted extends Selected {
  readonly form: EventForm;
  readonly response: ServerResponse;
}

/** Serves one watch; returns when it has ended. */
async function serve(deps: WatchDeps, request: FacadeRequest, wanted: Wanted): Promise<void> {
  const { state, access, clock, tokens, watchers } = deps;
  const { options, selection, form, response } = wanted;
  const { promise, resolve } = Promise.withResolvers<void>();
  let watcher: Watcher | undefined = undefined;
  const writer = new StreamWriter(response, clock, () => watcher?.pump());
  const asked = requestedVersion(options.resourceVersion);
  const wait = { signal: request.signal, visibility: () => access.visibleTo(request.caller.user) };
  const failure = options.sendInitialEvents === true ? await notReached(state, asked, wait) : undefined;
  const endReplay = options.sendInitialEvents === true && failure === undefined ? await startReplay(deps, request, writer) : () => {};
  // From here on nothing awaits until the watcher is among the others, so nothing can be missed.
  const { user } = request.caller;
  const start = failure ?? startOf(state.history, access.visibleNow(user), options);
  if ('code' in start) {
    endReplay();
    writer.write(new Chunk([errorLine(start)]));
    return writer.end();
  }
  const selectionKey = JSON.stringify([options.labelSelector, options.fieldSelector]);
  const selects = selection.isEverything ? () => true : ({ object }: Happening['cluster']) => selection.matches(object);
  const started = new Watcher(
    {
      history: state.history,
      writer,
      form,
      bookmarks: options.allowWatchBookmarks,
      selects,
      selectionKey,
      onReplayed: endReplay,
      onEnd: resolve,
    },
    start,
  );
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

/** Waits for a turn; returns the function that ends it. Closes the connection of a reader who is slower than the lowest rate. */
async function startReplay({ clock, replays }: WatchDeps, { caller, signal }: FacadeRequest, writer: StreamWriter): Promise<() => void> {
  const endTurn = await replays.take(caller.user.username, signal);
  const stop = keepPace({ clock, sent: () => writer.written, onTooSlow: () => writer.destroy() });
  return () => {
    stop();
    endTurn();
  };
}

async function notReached(state: ClusterState, version: bigint, wait: Wait): Promise<Status | undefined> {
  try {
    await state.reached(version, wait);
    return undefined;
  } catch (error) {
    if (!hasReason(error, 'Timeout')) throw error;
    return error.status;
  }
}

function startOf(history: ClusterHistory, visibility: Visibility, options: ListOptions): Start | Status {
  const asked = parseVersion(requestedVersion(options.resourceVersion));
  const now = { visibility, position: history.end, ahead: 0, replay: undefined };
  if (options.sendInitialEvents === true) {
    const bookmark = options.allowWatchBookmarks ? 'initial' : undefined;
    const revision = Math.max(history.revisionFor(visibility), asked.revision);
    return { ...now, replay: new Replay({ happenings: added(history, visibility), revision, bookmark }) };
  }
  if (asked.revision === 0) return now;
  const position = asked.fingerprint === visibility.fingerprint ? positionAfter(history, visibility, asked.revision) : undefined;
  if (position !== undefined) return { ...now, position, ahead: asked.revision > history.revision ? asked.revision : 0 };
  return expired(`too old resource version: ${options.resourceVersion} (${formatVersion(history.oldest, visibility.fingerprint)})`).status;
}

/** Where to resume. A caller who sees no cluster has missed nothing, however old its version is. */
function positionAfter(history: ClusterHistory, visibility: Visibility, revision: number): number | undefined {
  return visibility.isNothing ? history.end : history.positionAfter(revision);
}

function added({ collection }: ClusterHistory, visibility: Visibility): Iterable<Happening> {
  return seenBy(collection, visibility).map((cluster) => ({ type: 'ADDED', cluster }));
}

/** Arms the wake-ups of a watch; returns how to call each off. */
function schedule(
  { clock, random }: WatchDeps,
  options: ListOptions,
  act: { bookmark: () => void; end: () => void },
): readonly (() => void)[] {
  const { timeoutSeconds = 0 } = options;
  const lastsMs = Math.min(timeoutSeconds === 0 ? (LONGEST_MS / 2) * (1 + random()) : timeoutSeconds * 1_000, LONGEST_MS);
  const ends = clock.wakeAfter(lastsMs, act.end);
  if (!options.allowWatchBookmarks) return [ends];
  const last = lastsMs > LAST_BOOKMARK_MS ? [clock.wakeAfter(lastsMs - LAST_BOOKMARK_MS, act.bookmark)] : [];
  return [ends, ...last, every(clock, BOOKMARK_INTERVAL_MS, act.bookmark)];
}

function every(clock: Clock, intervalMs: number, act: () => void): () => void {
  let cancel = () => {};
  const arm = () => {
    cancel = clock.wakeAfter(intervalMs, () => {
      act();
      arm();
    });
  };
  arm();
  return () => cancel();
}
