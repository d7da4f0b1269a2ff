// The controller of Clusters: probes each of them in its turn and keeps their status true.

import { defer, filter, merge, mergeMap, type Observable, takeUntil } from 'rxjs';
import { Clusters } from '../api/resources.ts';
import { type Outcome, runController } from '../runtime/controller.ts';
import { whenAborted } from '../runtime/leadership.ts';
import { generationChanged } from '../runtime/predicates.ts';
import { planRetry } from '../runtime/retry-policy.ts';
import { dueNow, self, whenSynced } from '../runtime/trigger.ts';
import type { ClusterDeps } from './deps.ts';
import { ClusterMemory } from './memory.ts';
import { type ClusterInformers, RegistryView } from './observe.ts';
import { createReconcile } from './reconcile.ts';

export interface ClusterControllerOptions extends Omit<ClusterDeps, 'view' | 'memory'> {
  readonly informers: ClusterInformers;
  readonly random: () => number;
}

/** Runs one term for each subscription: nothing is remembered from one to the next. Ends in good order after `stopping` aborts. */
export function createClusterController(options: ClusterControllerOptions): (stopping: AbortSignal) => Observable<Outcome<string>> {
  const view = new RegistryView(options.informers);
  return (stopping) => defer(() => term(options, view, stopping));
}

/** How many probes of one lane are under way at once; most of those that hang do nothing but wait. */
const PROBES_PER_LANE = 512;
const LANES = ['new', 'answering', 'hanging'] as const;

function term(
  { informers, random, ...options }: ClusterControllerOptions,
  view: RegistryView,
  stopping: AbortSignal,
): Observable<Outcome<string>> {
  const { clock, settings } = options;
  const memory = new ClusterMemory();
  const deps: ClusterDeps = { ...options, view, memory };
  const all = [informers.clusters, informers.tokens, ...informers.credentials];
  const requests$ = whenSynced(all, () => view.clusters.keys(), wakes(informers, deps)).pipe(
    dueNow(clock),
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
    placeOf: (key) => ({ lane: laneOf(memory, key), deadlineAt: Infinity }),
    onQueue: ({ depth }) => options.metrics?.observeQueue('cluster-status', depth),
  });
}

/** Clusters that do not answer wait for each other, never one that does for them. */
function laneOf(memory: ClusterMemory, key: string): (typeof LANES)[number] {
  const known = memory.peek(key);
  if (known === undefined || !known.isProbed) return 'new';
  return known.isHanging ? 'hanging' : 'answering';
}

/** The Clusters whose registration changes. */
function wakes({ clusters, credentials }: ClusterInformers, { view }: ClusterDeps): Observable<string> {
  return merge(
    clusters.changes$.pipe(filter(generationChanged), mergeMap(self)),
    merge(...credentials.map(({ changes$ }) => changes$)).pipe(mergeMap(({ key }) => view.clustersOfCredential(key))),
  );
}
