// One page of a list: at which version, which clusters, and where the next one begins.

import type { Visibility } from '../../access/visibility.ts';
import { continuation, isExact, listedVersion, pageLimit, tooOldToContinue, tooOldToList } from '../../kubernetes/list-revision.ts';
import type { Selection } from '../../kubernetes/selection.ts';
import { statusError } from '../../kubernetes/status.ts';
import { encodeContinue } from '../../kubernetes/wire/continue-token.ts';
import type { ListOptions } from '../../kubernetes/wire/options.ts';
import type { Clock } from '../../std/clock.ts';
import type { ClusterState } from '../clusters/cluster-state.ts';
import { seenBy } from '../clusters/seen.ts';
import type { ClusterCollection } from './collection.ts';
import type { PublishedCluster } from './item.ts';
import { parseVersion, versionNumber } from './version.ts';

export interface ClusterPage {
  /** The whole collection, where nothing is left out; its bytes are at hand. */
  readonly whole: ClusterCollection | undefined;
  /** Those of the page; none where it is the whole collection. */
  readonly clusters: readonly PublishedCluster[];
  readonly revision: number;
  readonly fingerprint: number;
  /** Empty on the last page. */
  readonly continue: string;
  readonly remaining?: number;
}

export interface PageRequest {
  readonly selection: Selection;
  readonly options: ListOptions;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** What the caller may see, asked for when everything else is known. */
  readonly visibility: () => Promise<Visibility>;
}

/** One page, under today's rights. Waits a moment for versions that have not come yet. 400, 410, 504. */
export async function readPage(state: ClusterState, request: PageRequest): Promise<ClusterPage> {
  const { selection, options, signal, visibility, clock } = request;
  const token = continuation(options);
  const version = token?.revision ?? listedVersion(options);
  const asked = parseVersion(version);
  const timeLeftMs = timeLeft(options, clock);
  await state.reached(version, { signal, visibility, timeoutMs: timeLeftMs() });
  const seen = await inTime(visibility(), clock, timeLeftMs());
  const isPinned = asked.revision > 0 && (token !== undefined || isExact(options, selection));
  const range = { seen, selection, start: token?.start ?? '', limit: pageLimit(options) };
  const { history } = state;
  if (!isPinned) return pageOf(history.collection, { ...range, revision: Math.max(history.revisionFor(seen), asked.revision) });
  // Of names that are not the same as before, it is not known which were left out before this page.
  const isOther = token !== undefined && asked.fingerprint !== seen.fingerprint;
  const collection = isOther ? undefined : history.at(asked.revision);
  if (collection === undefined) throw token === undefined ? tooOldToList() : tooOldToContinue(token);
  return pageOf(collection, { ...range, revision: asked.revision });
}

interface Range {
  readonly seen: Visibility;
  readonly selection: Selection;
  readonly revision: number;
  /** The first name that the page may hold. */
  readonly start: string;
  /** 0 for none. */
  readonly limit: number;
}

function pageOf(collection: ClusterCollection, { seen, selection, revision, start, limit }: Range): ClusterPage {
  const place = { revision, fingerprint: seen.fingerprint };
  const isWhole = limit === 0 && start === '' && selection.isEverything && seen.isEverything;
  if (isWhole) return { ...place, whole: collection, clusters: [], continue: '' };
  const clusters = selected(seenBy(collection, seen, start), selection);
  if (limit === 0 || clusters.length <= limit) return { ...place, whole: undefined, clusters, continue: '' };
  return {
    ...place,
    whole: undefined,
    clusters: clusters.slice(0, limit),
    continue: encodeContinue(versionNumber(revision, seen.fingerprint), clusters[limit - 1]?.name ?? ''),
    ...(selection.isEverything && { remaining: clusters.length - limit }),
  };
}

/** A positive timeoutSeconds bounds the call. */
function timeLeft({ timeoutSeconds = 0 }: ListOptions, clock: Clock): () => number {
  const endsAt = clock.monotonic() + (timeoutSeconds > 0 ? timeoutSeconds * 1_000 : Number.POSITIVE_INFINITY);
  return () => endsAt - clock.monotonic();
}

/** What comes in time; else 504. */
async function inTime<T>(work: Promise<T>, clock: Clock, timeMs: number): Promise<T> {
  if (timeMs === Number.POSITIVE_INFINITY) return work;
  const { promise, reject } = Promise.withResolvers<never>();
  const cancel = clock.wakeAfter(timeMs, () => reject(statusError('Timeout', TIMED_OUT, {})));
  return Promise.race([work, promise]).finally(cancel);
}

const TIMED_OUT = 'Timeout: request did not complete within requested timeout - context deadline exceeded';

function selected(clusters: Iterable<PublishedCluster>, selection: Selection): readonly PublishedCluster[] {
  const all = [...clusters];
  return selection.isEverything ? all : all.filter(({ object }) => selection.matches(object));
}
