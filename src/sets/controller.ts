// The ManagedTokenSet controller: triggers, budgets and retries.

import { defer, finalize, map, type Observable, takeUntil } from 'rxjs';
import { ManagedTokenSets } from '../api/resources.ts';
import { type Outcome, type Result, runController } from '../runtime/controller.ts';
import { whenAborted } from '../runtime/leadership.ts';
import { planRetry } from '../runtime/retry-policy.ts';
import { whenSynced } from '../runtime/trigger.ts';
import type { Clock } from '../std/clock.ts';
import type { ProfileCounts } from '../telemetry/exposition.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { chargeReviews, NamespaceBudgets, overBytes } from '../tokens/budgets.ts';
import { namespaceOf } from '../tokens/priority.ts';
import { SetAuthority } from './authority.ts';
import { type SetInformers, SetView } from './informers.ts';
import { reconcileSet } from './reconcile.ts';
import type { SetDeps } from './run.ts';
import { TrackedSets } from './tracked-set.ts';
import { setTriggers, type Trigger } from './triggers.ts';

export interface SetControllerOptions extends Omit<SetDeps, 'view' | 'memory' | 'authority' | 'budgets' | 'timers'> {
  /** Clock of the deadline of each run; `clock` by default. */
  readonly timers?: Clock;
  readonly informers: SetInformers;
  readonly random: () => number;
  readonly metrics?: Pick<Metrics, 'observeQueue' | 'observeBudgets' | 'observeProfiles'>;
}

/** Maximum number of sets reconciled at the same time; one namespace has at most 8/9 of them. */
const CONCURRENCY = 18;
const TENANT_SHARE = 8;

/** Returns a function that runs one term per subscription, without memory of earlier terms, and stops cleanly after `stopping` aborts. */
export function createSetController(options: SetControllerOptions): (stopping: AbortSignal) => Observable<Outcome<string>> {
  const view = new SetView(options.informers);
  return (stopping) => defer(() => runTerm(options, view, stopping));
}

function runTerm(options: SetControllerOptions, view: SetView, stopping: AbortSignal): Observable<Outcome<string>> {
  const { informers, random, metrics, ...rest } = options;
  const { clock, hub, log, settings } = rest;
  const memory = new TrackedSets();
  const budgets = new NamespaceBudgets({ clock, log, countInNamespace: view.countInNamespace });
  const authority = new SetAuthority({ hub: chargeReviews(hub, budgets), view, protectedNamespaces: settings.protectedNamespaces });
  const deps: SetDeps = { timers: clock, ...rest, view, memory, authority, budgets };
  const { sets, tokens, secrets, clusters, credentials, requesters, roles, bindings } = informers;
  const known = () => view.sets.keys().map((key) => ({ key, spacingMs: 0 }));
  const all = [sets, tokens, secrets, clusters, ...credentials, requesters, roles, bindings];
  const requests$ = whenSynced<Trigger>(all, known, setTriggers(informers, deps)).pipe(
    map(({ key, spacingMs }) => ({ key, dueAt: dueAt(key, spacingMs, deps) })),
    takeUntil(whenAborted(stopping)),
  );
  metrics?.observeBudgets('managed-token-set', () => [...budgets.over(), ...overBytes(view.sets.list())]);
  metrics?.observeProfiles(() => profileCounts(deps));
  return runController(requests$, {
    reconcile: (key, signal) => reconcileWithinBudget(deps, key, signal),
    retryPolicy: (failure) => planRetry(failure, { random: random(), resource: ManagedTokenSets }),
    clock,
    concurrency: CONCURRENCY,
    tenantShare: TENANT_SHARE,
    priorityOf: (key) => ({ lane: '', tenant: namespaceOf(key), deadlineAt: Infinity }),
    onQueue: ({ depth }) => metrics?.observeQueue('managed-token-set', depth),
    // Only the leader knows the ClusterProfiles.
  }).pipe(finalize(() => metrics?.observeProfiles(() => [])));
}

/** Returns the numbers of ClusterProfiles of each set that publishes them. */
function profileCounts({ view, memory }: SetDeps): readonly ProfileCounts[] {
  return view.sets.list().flatMap(({ metadata, spec }) => {
    const tracked = spec.clusterProfiles ? memory.find(metadata.uid) : undefined;
    return tracked === undefined ? [] : [{ namespace: metadata.namespace, name: metadata.name, ...tracked.profiles.counts }];
  });
}

/** Returns the time at which a triggered set is due: now, but not earlier than `spacingMs` after the start of its last run. */
function dueAt(key: string, spacingMs: number, { view, memory, clock }: SetDeps): number {
  const now = clock.now();
  const ranAt = memory.find(view.sets.get(key)?.metadata.uid)?.ranAt ?? Number.NEGATIVE_INFINITY;
  // A time in the future is from before the clock was set back.
  return ranAt > now ? now : Math.max(now, ranAt + spacingMs);
}

/** Reconciles a set. Defers it while its namespace is over its budget. */
async function reconcileWithinBudget(deps: SetDeps, key: string, signal: AbortSignal): Promise<Result> {
  const { memory, view, clock, budgets } = deps;
  const namespace = namespaceOf(key);
  const tracked = memory.find(view.sets.get(key)?.metadata.uid);
  if (tracked?.isTriggeredByTenant) {
    const waitMs = budgets.waitMs(namespace);
    if (waitMs > 0) return { requeueAt: clock.now() + waitMs };
    budgets.spend('runs', namespace);
    tracked.isTriggeredByTenant = false;
  }
  return await reconcileSet(deps, key, signal);
}
