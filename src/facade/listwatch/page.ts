// One page of a list: its version, its items, and the start of the next page.

import { Visibility } from '../../access/visibility.ts';
import {
  computePageLimit,
  continueTokenExpired,
  listExpired,
  parseContinueToken,
  parseListVersion,
  requiresExactVersion,
} from '../../kubernetes/list-revision.ts';
import { parseSelectors, Selection } from '../../kubernetes/selection.ts';
import { statusError } from '../../kubernetes/status.ts';
import { encodeContinue } from '../../kubernetes/wire/continue-token.ts';
import { parseListOptions, validateListOptions } from '../../kubernetes/wire/list-options.ts';
import type { ListOptions } from '../../kubernetes/wire/options.ts';
import type { Clock } from '../../std/clock.ts';
import { checkSelectorCounts, copySelectors } from '../limits/selector-size.ts';
import type { FacadeRequest } from '../request.ts';
import { Collection, type Item } from './collection.ts';
import type { Listing } from './filtered-list.ts';
import type { History } from './history.ts';
import { type FacadeVersion, formatFacadeVersion, parseFacadeVersion } from './version.ts';

/** The parsed path and query of a list or a watch. */
export interface ListQuery {
  /** Namespace in the path; empty for all namespaces, and for a cluster-scoped kind. */
  readonly namespace: string;
  readonly options: ListOptions;
  readonly selection: Selection;
}

/** Parses path and query. Throws 400 or 422, in the order of kube-apiserver's checks. */
export function parseQuery({ params, query }: Pick<FacadeRequest, 'params' | 'query'>, { kind }: Listing, watch: boolean): ListQuery {
  const { namespace = '' } = params;
  const received = parseListOptions(query);
  const parsed = { ...received, ...copySelectors(received) };
  const selectors = parseSelectors(parsed.labelSelector, parsed.fieldSelector);
  checkSelectorCounts(selectors);
  const options = validateListOptions(parsed, { watch });
  return { namespace, options, selection: new Selection(kind, selectors, namespace) };
}

export interface Page {
  /** Collection that is sent as a whole, from shared bytes; undefined if `items` are sent. */
  readonly whole: Collection | undefined;
  /** Items of the page; empty if `whole` is defined. */
  readonly items: readonly Item[];
  readonly version: FacadeVersion;
  /** Token for the next page; empty on the last page. */
  readonly continue: string;
  /** Number of items after this page; undefined on the last page and with a selector. */
  readonly remaining?: number;
}

export interface PageRequest extends ListQuery {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Returns the current visibility of the caller. */
  readonly findVisibility: () => Promise<Visibility>;
  /** Returns the current version for the caller, which is never earlier than the version that the caller sent. */
  readonly currentVersion: (visibility: Visibility, sent: FacadeVersion) => FacadeVersion;
}

/**
 * Returns one page of the objects that the caller may see now. Waits up to three seconds for a version that is not reached yet. Throws 400,
 * 410, 503 or 504.
 */
export async function readPage(history: History, request: PageRequest): Promise<Page> {
  const { namespace, selection, options, signal, findVisibility, currentVersion, clock } = request;
  const token = parseContinueToken(options);
  const version = token?.revision ?? parseListVersion(options);
  const requested = parseFacadeVersion(version);
  const timeLeftMs = startCountdown(options, clock);
  await history.waitFor(version, { signal, findVisibility, timeoutMs: timeLeftMs() });
  const visibility = await withTimeout(findVisibility(), clock, timeLeftMs());
  const isPinned = version > 0n && (token !== undefined || requiresExactVersion(options, selection));
  const range = {
    visibility,
    namespace,
    selection,
    start: token === undefined ? '' : `${toKeyPrefix(namespace)}${token.start}`,
    limit: computePageLimit(options),
  };
  if (!isPinned) return createPage(history.collection, { ...range, version: currentVersion(visibility, requested) });
  // If the visible names have changed since the first page, the pages together would be inconsistent.
  const collection = findCollection(history, requested, { visibility, requiresSameView: token !== undefined || history.isLocal });
  if (collection === undefined) throw token === undefined ? listExpired() : continueTokenExpired(token);
  return createPage(collection, { ...range, version: { ...requested, fingerprint: visibility.fingerprint } });
}

interface View {
  readonly visibility: Visibility;
  /**
   * True if the version must have the fingerprint of `visibility`. Local versions of other replicas have another fingerprint, because each
   * replica uses its own salt.
   */
  readonly requiresSameView: boolean;
}

/**
 * Returns the objects at a past version, or undefined if the version is unknown or, with `requiresSameView`, has another fingerprint. The
 * result is empty for a caller who may see no object.
 */
function findCollection(history: History, requested: FacadeVersion, { visibility, requiresSameView }: View): Collection | undefined {
  if (requiresSameView && requested.fingerprint !== visibility.fingerprint) return undefined;
  const position = history.findPositionAfter(requested.revision);
  if (position === undefined) return undefined;
  return visibility.isNothing ? Collection.empty : history.at(position);
}

interface Range {
  readonly visibility: Visibility;
  readonly namespace: string;
  readonly selection: Selection;
  readonly version: FacadeVersion;
  /** First key that the page may contain. */
  readonly start: string;
  /** Maximum number of items; 0 for no limit. */
  readonly limit: number;
}

function createPage(collection: Collection, { visibility, namespace, selection, version, start, limit }: Range): Page {
  const isWhole = limit === 0 && namespace === '' && start === '' && selection.isEverything && visibility === Visibility.everything;
  if (isWhole) return { version, whole: collection, items: [], continue: '' };
  const items = select(collection.findVisible(visibility, namespace, start), selection, limit);
  const last = limit === 0 || items.length <= limit ? undefined : items[limit - 1];
  if (last === undefined) return { version, whole: undefined, items, continue: '' };
  return {
    version,
    whole: undefined,
    items: items.slice(0, limit),
    continue: encodeContinue(BigInt(formatFacadeVersion(version)), last.key.slice(toKeyPrefix(namespace).length)),
    ...(selection.isEverything && { remaining: items.length - limit }),
  };
}

/** Returns the key prefix of a namespace, or an empty string for all namespaces. Continue tokens omit the prefix. */
function toKeyPrefix(namespace: string): string {
  return namespace === '' ? '' : `${namespace}/`;
}

/** Returns a function that returns the time left until timeoutSeconds have passed, in milliseconds; Infinity without a limit. */
function startCountdown({ timeoutSeconds = 0 }: ListOptions, clock: Clock): () => number {
  const endsAt = clock.monotonic() + (timeoutSeconds > 0 ? timeoutSeconds * 1_000 : Number.POSITIVE_INFINITY);
  return () => endsAt - clock.monotonic();
}

/** Returns the result if it arrives in time; otherwise throws 504. */
async function withTimeout<T>(work: Promise<T>, clock: Clock, timeMs: number): Promise<T> {
  if (timeMs === Number.POSITIVE_INFINITY) return work;
  const { promise, reject } = Promise.withResolvers<never>();
  const cancel = clock.wakeAfter(timeMs, () => reject(statusError('Timeout', TIMED_OUT, {})));
  return Promise.race([work, promise]).finally(cancel);
}

const TIMED_OUT = 'Timeout: request did not complete within requested timeout - context deadline exceeded';

/**
 * Returns the selected items. With a selector and a limit, returns at most one item more than the limit, which shows that there is another
 * page.
 */
function select(items: Iterator<Item>, selection: Selection, limit: number): readonly Item[] {
  if (selection.isEverything) return [...Iterator.from(items)];
  const selected = Iterator.from(items).filter(({ object }) => selection.matches(object));
  return [...(limit === 0 ? selected : selected.take(limit + 1))];
}
