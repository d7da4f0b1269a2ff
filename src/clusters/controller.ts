// The Cluster controller: probes clusters in turn and keeps their status up to date.

import { defer, filter, finalize, merge, mergeMap, type Observable, takeUntil } from 'rxjs';
import type { ManagedToken } from '../api/managed-token.gen.ts';
import { Clusters } from '../api/resources.ts';
import type { Informer } from '../kube/informer.ts';
import { type Outcome, runController } from '../runtime/controller.ts';
import { whenAborted } from '../runtime/leadership.ts';
import { planRetry } from '../runtime/retry-policy.ts';
import { generationChanged, requestNow, selfKeys, whenSynced } from '../runtime/trigger.ts';
import { toRegisteredKey } from '../targets/policy/renewed-secret.ts';
import { Registry, type RegistryInformers } from '../targets/registry.ts';
import { type ClusterDeps, createReconcile } from './reconcile.ts';
import { credentialTimes } from './status.ts';
import { TrackedClusters } from './tracked-cluster.ts';

/** Informers that the controller of Clusters needs. */
export interface ClusterInformers extends RegistryInformers {
  readonly tokens: Informer<ManagedToken>;
}

/** Lookups that all terms share: the stores keep every index. */
type Lookups = Pick<ClusterDeps, 'registry' | 'tokensForCluster'>;

export interface ClusterControllerOptions extends Omit<ClusterDeps, keyof Lookups | 'tracked'> {
  readonly informers: ClusterInformers;
  readonly random: () => number;
}

/** Creates the controller. Each subscription runs one term, without memory of earlier terms, and stops cleanly after `stopping` aborts. */
export function createClusterController(options: ClusterControllerOptions): (stopping: AbortSignal) => Observable<Outcome<string>> {
  const registry = new Registry(options.informers);
  const lookups = { registry, tokensForCluster: tokensByCluster(options.informers) };
  let terms = 0;
  options.metrics?.observeCredentials(() => credentialTimes(registry, options.clients, terms > 0));
  return (stopping) =>
    defer(() => {
      terms += 1;
      return runTerm(options, lookups, stopping).pipe(finalize(() => (terms -= 1)));
    });
}

/** Maximum number of concurrent probes per lane; most probes in the lane `hanging` only wait. */
const PROBES_PER_LANE = 512;
const LANES = ['new', 'responding', 'hanging'] as const;

function runTerm(
  { informers, random, ...options }: ClusterControllerOptions,
  lookups: Lookups,
  stopping: AbortSignal,
): Observable<Outcome<string>> {
  const { clock, settings } = options;
  const tracked = new TrackedClusters();
  const deps: ClusterDeps = { ...options, ...lookups, tracked };
  const all = [informers.clusters, informers.tokens, ...informers.credentials];
  const requests$ = whenSynced(all, () => lookups.registry.clusters.keys(), registrationChanges(informers, deps)).pipe(
    requestNow(clock),
    takeUntil(whenAborted(stopping)),
  );
  return runController(requests$, {
    reconcile: createReconcile(deps),
    retryPolicy: (failure) => {
      const latestAt = failure.now + settings.probeIntervalMs;
      return planRetry(failure, { random: random(), resource: Clusters, latestAt });
    },
    clock,
    concurrency: PROBES_PER_LANE * LANES.length,
    concurrencyPerLane: PROBES_PER_LANE,
    priorityOf: (key) => ({ lane: laneOf(tracked, key), deadlineAt: Infinity }),
    onQueue: ({ depth }) => options.metrics?.observeQueue('cluster-status', depth),
  });
}

/** Returns the lane of a cluster. Hanging clusters have a separate lane, so that responding clusters never wait for them. */
function laneOf(tracked: TrackedClusters, key: string): (typeof LANES)[number] {
  const cluster = tracked.get(key);
  if (cluster === undefined || cluster.probedAt === undefined) return 'new';
  return cluster.isHanging ? 'hanging' : 'responding';
}

/** Emits the keys of Clusters whose registration changes. */
function registrationChanges({ clusters, credentials }: ClusterInformers, { registry }: ClusterDeps): Observable<string> {
  return merge(
    clusters.changes$.pipe(filter(generationChanged), mergeMap(selfKeys)),
    merge(...credentials.map(({ changes$ }) => changes$)).pipe(
      mergeMap(({ key }) => registry.clustersOfCredential(toRegisteredKey(key)).map(({ metadata }) => metadata.name)),
    ),
  );
}

/** Returns the lookup of the ManagedTokens for a cluster. The index is built on first use, because most fleets never need it. */
function tokensByCluster({ tokens }: ClusterInformers): (name: string) => readonly ManagedToken[] {
  let lookup: ((name: string) => readonly ManagedToken[]) | undefined;
  return (name) => {
    lookup ??= tokens.store.index(({ spec }) => [spec.clusterName]);
    return lookup(name);
  };
}
