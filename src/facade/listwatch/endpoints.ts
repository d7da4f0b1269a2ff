// The cluster list of the façade: GET /auth/v1/clusters, with watch=true, and /auth/v1/clusters/{name}.

import { Subscription } from 'rxjs';
import type { Cluster } from '../../api/cluster.gen.ts';
import { flag } from '../../kubernetes/wire/query.ts';
import { type PlaceLimits, Places } from '../admission/places.ts';
import { type TurnLimits, Turns } from '../admission/turns.ts';
import { watchLimits } from '../admission/watch-limits.ts';
import { type AccessOptions, ClusterAccess, type Followed } from '../clusters/cluster-access.ts';
import { ClusterState } from '../clusters/cluster-state.ts';
import { SELF_LINK } from '../clusters/list-body.ts';
import { Watchers } from '../clusters/watchers.ts';
import type { Endpoint } from '../request.ts';
import type { Route } from '../router.ts';
import { getCluster, listClusters } from './list.ts';
import { TokenChecks } from './token-checks.ts';
import { watchClusters } from './watch.ts';

export interface ClusterEndpointsDeps extends AccessOptions {
  readonly clusters: Followed<Cluster>;
  /** Annotations under these prefixes are public. */
  readonly annotationPrefixes?: readonly string[];
  /** How many changes can be gone back to. */
  readonly historyCapacity?: number;
  /** Limits on watches; those of a process without a memory limit by default. */
  readonly watchLimits?: PlaceLimits | undefined;
}

export interface ClusterEndpoints {
  readonly list: Endpoint;
  readonly get: Endpoint;
  /** How many watches are open. */
  watching(): number;
  /** Follows the hub until unsubscribed; what the informers know already is taken at once. */
  run(): Subscription;
}

/** Where they are served. */
export function clusterRoutes({ list, get }: ClusterEndpoints): readonly Route[] {
  return [
    { method: 'GET', path: SELF_LINK, endpoint: list },
    { method: 'GET', path: `${SELF_LINK}/:name`, endpoint: get },
  ];
}

const HISTORY_CAPACITY = 16_384;
const FULL_LISTS: PlaceLimits = { perCaller: 8, total: 128 };
/** The number that waits is limited by the places for watches. */
const REPLAYS: TurnLimits = {
  perCaller: 8,
  total: 64,
  waitingPerCaller: Number.POSITIVE_INFINITY,
  waiting: Number.POSITIVE_INFINITY,
};

/** Makes the endpoints. They answer 503 until the hub's clusters are known. */
export function createClusterEndpoints(deps: ClusterEndpointsDeps): ClusterEndpoints {
  const { clusters, clock, random, annotationPrefixes = [], historyCapacity: capacity = HISTORY_CAPACITY } = deps;
  const watchers = new Watchers();
  const state = new ClusterState({ clusters, clock, annotationPrefixes, capacity, onAdvance: () => watchers.wake() });
  const access = new ClusterAccess(deps);
  const reads = { state, access, clock, fullLists: new Places({ ...FULL_LISTS, what: 'lists of all clusters at a time' }) };
  const watches = {
    state,
    access,
    clock,
    random,
    watchers,
    tokens: new TokenChecks({ clock, random }),
    watches: new Places({ ...(deps.watchLimits ?? watchLimits(undefined)), what: 'watches' }),
    replays: new Turns(REPLAYS),
  };
  return {
    list: (request) => (flag(request.query, 'watch') ? watchClusters(watches, request) : listClusters(reads, request)),
    get: (request) => getCluster(reads, request),
    watching: () => watchers.size,
    run() {
      const running = new Subscription();
      running.add(access.run());
      running.add(state.run());
      return running;
    },
  };
}
