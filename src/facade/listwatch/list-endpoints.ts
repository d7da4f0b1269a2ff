// The endpoints of a filtered list: list, watch and get.

import { randomInt } from 'node:crypto';
import { Subscription } from 'rxjs';
import type { ApiObject } from '../../api/resources.ts';
import { readFlag } from '../../kubernetes/wire/query.ts';
import { ConcurrencyLimiter, type ConcurrencyLimits, type WatchLimits } from '../limits/concurrency.ts';
import { type SeatLimits, SeatQueue } from '../limits/seat-queue.ts';
import { UnreadEvents } from '../limits/unread-events.ts';
import type { Endpoint } from '../request.ts';
import type { Route } from '../router.ts';
import { Item } from './collection.ts';
import { createConvertedLines, createPlainForm } from './events.ts';
import { type FilteredList, type Listing, toListPath } from './filtered-list.ts';
import { History, type ListSource } from './history.ts';
import { getObject, listObjects, RESERVED_BYTES } from './list.ts';
import { RbacAccess, type RbacAccessOptions } from './rbac-access.ts';
import { TokenChecks } from './token-checks.ts';
import { CallerVersions } from './version.ts';
import { watchObjects } from './watch.ts';
import { Watchers } from './watcher.ts';

export interface ListEndpointsOptions<T extends ApiObject> extends RbacAccessOptions {
  readonly list: FilteredList<T>;
  /** Informer of the objects. */
  readonly objects: ListSource<T>;
  /** Limits that all lists share. */
  readonly limits: SharedLimits;
  /** Prefixes of the annotations that callers see; none by default. Applies only to lists that show annotations. */
  readonly annotationPrefixes?: readonly string[] | undefined;
  /** Number of recent changes in the log, from which callers can resume; see `HistoryOptions.capacity`. 16,384 by default. */
  readonly historyCapacity?: number | undefined;
}

export interface ListEndpoints {
  /** Lists the objects, or watches them with watch=true. */
  readonly list: Endpoint;
  readonly get: Endpoint;
  readonly routes: readonly Route[];
  /** Returns the number of open watches. */
  countWatches(): number;
  /**
   * Follows the hub until unsubscribed; unsubscribing ends all watches. Must be called once. A list on demand follows the hub only while
   * callers use the list.
   */
  run(): Subscription;
}

const HISTORY_CAPACITY = 16_384;
/** Upper bound of the random salts for local revisions. Because of the salt, other replicas do not accept versions of this replica. */
const MAX_SALT = 2 ** 31;
/** Limits on the bytes of responses in progress: eight large lists of one tenant, and 128 in total. */
const RESPONSE_LIMITS: ConcurrencyLimits = { perTenant: 8 * RESERVED_BYTES, total: 128 * RESERVED_BYTES };
/** Limits on watches that send initial events at the same time. The limits on watches also limit the number of waiting ones. */
const REPLAY_LIMITS: SeatLimits = {
  perTenant: 8,
  total: 64,
  waitingPerTenant: Number.POSITIVE_INFINITY,
  waiting: Number.POSITIVE_INFINITY,
};

/** Limits that all lists of the process share, because they bound its memory and its requests to the hub. */
export interface SharedLimits {
  /** Limit on the memory of long responses in progress, in bytes. */
  readonly responseBytes: ConcurrencyLimiter;
  /** Limit on the memory of open watches. */
  readonly watchLimiter: ConcurrencyLimiter;
  readonly watchLimits: Pick<WatchLimits, 'perConnection' | 'perStream'>;
  /** Queue for the initial events of watches, which can be as large as a list. */
  readonly replayQueue: SeatQueue;
  readonly unread: UnreadEvents;
  readonly tokens: TokenChecks;
}

export interface SharedLimitsOptions extends Pick<RbacAccessOptions, 'clock' | 'random'> {
  readonly watchLimits: WatchLimits;
}

/** Creates the limits that these lists share. */
export function createSharedLimits(lists: readonly Listing[], { clock, random, watchLimits }: SharedLimitsOptions): SharedLimits {
  const noun = `large responses with ${lists.map(({ plural }) => plural).join(' or ')} in progress`;
  return {
    responseBytes: new ConcurrencyLimiter({ ...RESPONSE_LIMITS, noun }),
    watchLimiter: new ConcurrencyLimiter({ ...watchLimits, noun: 'watches' }),
    watchLimits,
    replayQueue: new SeatQueue(REPLAY_LIMITS),
    unread: new UnreadEvents(clock),
    tokens: new TokenChecks({ clock, random }),
  };
}

/** Creates the endpoints of a list. They respond with 503 until the objects of the hub have been listed. */
export function createListEndpoints<T extends ApiObject>(options: ListEndpointsOptions<T>): ListEndpoints {
  const { list: listing, objects, limits, clock, random, annotationPrefixes, historyCapacity: capacity = HISTORY_CAPACITY } = options;
  const isLocal = objects.parts !== undefined;
  const access = new RbacAccess(options, listing.permission, isLocal ? randomInt(1, MAX_SALT) : 0);
  const watchers = new Watchers(clock);
  const history = new History({ clock, capacity, isLocal, onAdvance: () => watchers.wake() });
  const deps = {
    listing,
    history,
    access,
    versions: new CallerVersions(),
    clock,
    random,
    watchers,
    plain: createPlainForm(listing.kind),
    converted: createConvertedLines(),
    ...limits,
  };
  const list: Endpoint = (request) => (readFlag(request.query, 'watch') ? watchObjects(deps, request) : listObjects(deps, request));
  const get: Endpoint = (request) => getObject(deps, request);
  const toItem = (object: T) =>
    new Item(listing.toPublic(object, annotationPrefixes), listing.weightOf(object), listing.clusterSetNameOf(object));
  return {
    list,
    get,
    routes: createListRoutes(listing, { list, get }),
    countWatches: () => watchers.size,
    run() {
      const running = new Subscription();
      running.add(access.run());
      running.add(history.follow(objects, toItem));
      running.add(() => watchers.close());
      return running;
    },
  };
}

export function createListRoutes(listing: Listing, { list, get }: Pick<ListEndpoints, 'list' | 'get'>): readonly Route[] {
  return [
    ...toListPaths(listing).map((path) => ({ method: 'GET', path, endpoint: list }) as const),
    { method: 'GET', path: toObjectPath(listing), endpoint: get },
  ];
}

/** Returns the route patterns of a list: of all objects, and of those in one namespace if the kind is namespaced. */
function toListPaths(listing: Listing): readonly string[] {
  return [toListPath(listing, ''), ...(listing.kind.namespaced ? [toListPath(listing, ':namespace')] : [])];
}

/** Returns the route pattern of one object. */
function toObjectPath(listing: Listing): string {
  return `${toListPath(listing, listing.kind.namespaced ? ':namespace' : '')}/:name`;
}
