// The endpoints of a filtered list: list, watch and get.

import { Subscription } from 'rxjs';
import type { ApiObject } from '../../api/resources.ts';
import { flag } from '../../kubernetes/wire/query.ts';
import type { Clock } from '../../std/clock.ts';
import { ConcurrencyLimiter, type ConcurrencyLimits, type WatchLimits, watchLimits } from '../limits/concurrency.ts';
import { FairQueue, type FairQueueLimits } from '../limits/fair-queue.ts';
import type { Endpoint } from '../request.ts';
import type { Route } from '../router.ts';
import { plainForm } from './events.ts';
import { type FilteredList, type Followed, type Listing, listPath } from './filtered-list.ts';
import { History } from './history.ts';
import { getObject, listObjects, RESERVED_BYTES } from './list.ts';
import { TokenChecks } from './token-checks.ts';
import { CallerVersions } from './version.ts';
import { watchObjects } from './watch.ts';
import { Watchers } from './watcher.ts';

export interface ListWatchOptions<T extends ApiObject> {
  readonly list: FilteredList<T>;
  /** Informer of the objects. */
  readonly objects: Followed<T>;
  readonly clock: Clock;
  readonly random: () => number;
  /** Maximum number of changes in the log, which callers can resume from; 16,384 by default. */
  readonly historyCapacity?: number | undefined;
  /** Limits on watches; those of a process without a memory limit by default. */
  readonly watchLimits?: WatchLimits | undefined;
}

export interface ListWatch {
  /** Lists the objects, or watches them with watch=true. */
  readonly list: Endpoint;
  readonly get: Endpoint;
  readonly routes: readonly Route[];
  /** Returns the number of open watches. */
  watching(): number;
  /** Follows the hub until unsubscribed, beginning with the objects in the store. */
  run(): Subscription;
}

const HISTORY_CAPACITY = 16_384;
/** Limits on the bytes of responses in progress: eight large lists of one caller, and 128 in total. */
const RESPONSE_LIMITS: ConcurrencyLimits = { perCaller: 8 * RESERVED_BYTES, total: 128 * RESERVED_BYTES };
/** Limits on initial events in progress. The limits on watches also limit the number of waiting replays. */
const REPLAY_LIMITS: FairQueueLimits = {
  perCaller: 8,
  total: 64,
  waitingPerCaller: Number.POSITIVE_INFINITY,
  waiting: Number.POSITIVE_INFINITY,
};

/** Creates the endpoints of a list. They respond with 503 until the objects of the hub have been listed. */
export function createListWatch<T extends ApiObject>(options: ListWatchOptions<T>): ListWatch {
  const { list: listing, objects, clock, random, historyCapacity: capacity = HISTORY_CAPACITY } = options;
  const limits = options.watchLimits ?? watchLimits(undefined);
  const { access, plural } = listing;
  const watchers = new Watchers();
  const history = new History({ clock, capacity, onAdvance: () => watchers.wake() });
  const shared = { listing, history, access, versions: new CallerVersions(), clock };
  const lists = { ...shared, responseBytes: new ConcurrencyLimiter({ ...RESPONSE_LIMITS, noun: `large lists of ${plural} at a time` }) };
  const watches = {
    ...shared,
    plain: plainForm(listing.kind),
    random,
    watchers,
    tokens: new TokenChecks({ clock, random }),
    watchLimiter: new ConcurrencyLimiter({ ...limits, noun: 'watches' }),
    watchLimits: limits,
    replayQueue: new FairQueue(REPLAY_LIMITS),
  };
  const list: Endpoint = (request) => (flag(request.query, 'watch') ? watchObjects(watches, request) : listObjects(lists, request));
  const get: Endpoint = (request) => getObject(lists, request);
  return {
    list,
    get,
    routes: [
      ...listPaths(listing).map((path) => ({ method: 'GET', path, endpoint: list }) as const),
      { method: 'GET', path: objectPath(listing), endpoint: get },
    ],
    watching: () => watchers.size,
    run() {
      const running = new Subscription();
      running.add(access.run());
      running.add(history.follow(objects, listing));
      return running;
    },
  };
}

/** Returns the route patterns of a list: of all objects, and of those in one namespace if the kind is namespaced. */
function listPaths(listing: Listing): readonly string[] {
  return [listPath(listing, ''), ...(listing.kind.namespaced ? [listPath(listing, ':namespace')] : [])];
}

/** Returns the route pattern of one object. */
function objectPath(listing: Listing): string {
  return `${listPath(listing, listing.kind.namespaced ? ':namespace' : '')}/:name`;
}
