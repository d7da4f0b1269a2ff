// The cluster list of the façade: GET /auth/v1/clusters, with watch=true, and /auth/v1/clusters/{name}.

import { Subscription } from 'rxjs';
import type { Cluster } from '../../api/cluster.gen.ts';
import { flag } from '../../apimachinery/wire/query.ts';
import type { Endpoint } from '../request.ts';
import type { Route } from '../routes.ts';
import { type AccessOptions, ClusterAccess, type Followed } from './cluster-access.ts';
import { ClusterState } from './cluster-state.ts';
import { getCluster, listClusters } from './list.ts';
import { SELF_LINK } from './list-body.ts';
import { Quota } from './quota.ts';
import { TokenChecks } from './token-checks.ts';
import { watchClusters } from './watch.ts';
import { Watchers } from './watchers.ts';

export interface ClusterEndpointsDeps extends AccessOptions {
  readonly clusters: Followed<Cluster>;
  /** Annotations under these prefixes are public. */
  readonly annotationPrefixes?: readonly string[];
  /** How many changes can be gone back to. */
  readonly historyCapacity?: number;
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
const WATCHES = { perUser: 2_000, total: 10_000, what: 'watches' };
const FULL_LISTS = { perUser: 32, total: 128, what: 'lists of all clusters at a time' };

/** Makes the endpoints. They answer 503 until the hub's clusters are known. */
export function createClusterEndpoints(deps: ClusterEndpointsDeps): ClusterEndpoints {
  const { clusters, clock, random, annotationPrefixes = [], historyCapacity: capacity = HISTORY_CAPACITY } = deps;
  const watchers = new Watchers();
  const state = new ClusterState({ clusters, clock, annotationPrefixes, capacity, onAdvance: () => watchers.wake() });
  const access = new ClusterAccess(deps);
  const reads = { state, access, clock, fullLists: new Quota(FULL_LISTS) };
  const watches = { state, access, clock, random, watchers, tokens: new TokenChecks({ clock, random }), watches: new Quota(WATCHES) };
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
