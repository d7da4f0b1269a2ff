// The controller of ManagedTokens: what wakes them, in which order they run, and what follows a failure.

import { defer, finalize, type Observable, takeUntil } from 'rxjs';
import { ManagedTokens } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Recorder } from '../kube/recorder.ts';
import { type Outcome, runController } from '../runtime/controller.ts';
import { whenAborted } from '../runtime/leadership.ts';
import { RetryBudget } from '../runtime/retry-budget.ts';
import { type Failure, planRetry, type Retry } from '../runtime/retry-policy.ts';
import { dueNow, whenSynced } from '../runtime/trigger.ts';
import type { Clock } from '../std/clock.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import { CONNECTIONS } from '../targets/target.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Excess } from '../telemetry/namespace-budgets.ts';
import { Authority, type AuthorityOptions } from './authority.ts';
import { NamespaceBudgets } from './budgets.ts';
import type { TokenDeps, TokenMetrics, TokenSettings } from './deps.ts';
import { HubView, type TokenInformers } from './hub-view.ts';
import { TokenMemory } from './memory.ts';
import { expiresAt, laneOf, namespaceOf, placeOf } from './place.ts';
import { giveUpAt } from './policy/plan-token.ts';
import { latestRetryAt } from './policy/rotation.ts';
import type { StoredToken } from './policy/spec.ts';
import { bytesOf } from './reduce-token.ts';
import { RemovalLimits } from './removal-limits.ts';
import { BYTES_PER_NAMESPACE } from './token-bytes.ts';
import { wakes } from './triggers.ts';
import { withinBudget } from './within-budget.ts';

export interface TokenControllerOptions {
  readonly informers: TokenInformers;
  readonly hub: KubeClient;
  readonly clients: ClusterClients;
  readonly recorder: Pick<Recorder, 'record'>;
  readonly clock: Clock;
  /** Clock of the deadline of each run, `clock` by default. */
  readonly timers?: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics?: TokenMetrics;
  readonly settings: TokenSettings;
}

/** Runs one term for each subscription: nothing is remembered from one to the next. Ends in good order after `stopping` aborts. */
export function createTokenController(options: TokenControllerOptions): (stopping: AbortSignal) => Observable<Outcome<string>> {
  const view = new HubView(options.informers);
  return (stopping) => defer(() => term(options, view, stopping));
}

/** Enough for nearly thirty clusters that hang at once. */
const CONCURRENCY = 512;
/** One slot per connection for a single namespace, and two more that it leaves to others. A cluster that hangs holds no more slots. */
const CONCURRENCY_PER_CLUSTER = CONNECTIONS.requests + 2;
const TENANT_SHARE = 8;
/** Slots of a namespace that are reported when they are exceeded; `TENANT_SHARE` is what limits them. */
const SLOTS_PER_NAMESPACE = CONCURRENCY / 8;
/** Retries that one namespace may make at a cluster; a fifth of the cluster's own budget. */
const TENANT_RETRIES = { free: 100, gapMs: 100 };

function term(options: TokenControllerOptions, view: HubView, stopping: AbortSignal): Observable<Outcome<string>> {
  const { informers, clock } = options;
  const namespaces = new NamespaceBudgets({ clock, log: options.log, countInNamespace: view.countInNamespace });
  const deps = depsOf(options, view, namespaces);
  const budgets = { lanes: new RetryBudget(), tenants: new RetryBudget(TENANT_RETRIES) };
  const live$ = wakes(informers, view, deps.memory);
  const { credentials, ...others } = informers;
  const all = [...Object.values(others), ...credentials];
  deps.removals.load();
  const requests$ = whenSynced(all, () => view.tokens.keys(), live$).pipe(dueNow(clock), takeUntil(whenAborted(stopping)));
  return runController(requests$, {
    reconcile: withinBudget(deps, namespaces),
    retryPolicy: (failure) => retryOf(failure, deps, { budgets, random: options.random() }),
    clock,
    concurrency: CONCURRENCY,
    concurrencyPerLane: CONCURRENCY_PER_CLUSTER,
    tenantShare: TENANT_SHARE,
    placeOf: (key) => placeOf(key, deps),
    onQueue: ({ depth, held }) => {
      options.metrics?.queue('managed-token', depth);
      if (options.metrics)
        options.metrics.overBudget = () => [...namespaces.over(), ...overSlots(held()), ...overBytes(view.tokens.list())];
    },
  }).pipe(
    finalize(() => {
      deps.removals.close();
      options.metrics?.removalPaused(false);
    }),
  );
}

function depsOf(options: TokenControllerOptions, view: HubView, namespaces: NamespaceBudgets): TokenDeps {
  const { hub, clients, recorder, clock, timers = clock, log, metrics, settings } = options;
  const memory = new TokenMemory();
  const { protectedNamespaces } = settings;
  const authority = new Authority({ hub: countingReviews(hub, namespaces), view, memory, protectedNamespaces });
  const removals = new RemovalLimits({ hub, view, memory, clock, log, metrics, namespace: settings.namespace });
  return { hub, clients, recorder, clock, timers, log, metrics, settings, view, memory, authority, removals, startedAt: clock.now() };
}

/** The hub as the one question about permission needs it; each review is spent by the namespace of its requester. */
function countingReviews(hub: KubeClient, namespaces: NamespaceBudgets): AuthorityOptions['hub'] {
  return {
    list: (...call) => hub.list(...call),
    createReview: (resource, review, options) => {
      const { user = '' } = (review as { readonly spec?: { readonly user?: string } }).spec ?? {};
      namespaces.spend('reviews', user.split(':')[2] ?? '');
      return hub.createReview(resource, review, options);
    },
  };
}

function overSlots(held: Iterable<readonly [tenant: string, slots: number]>): readonly Excess[] {
  return [...held].filter(([, slots]) => slots > SLOTS_PER_NAMESPACE).map(([namespace]) => [namespace, 'slots']);
}

/** Returns the namespaces of which only stubs are kept, or that are over their share with small ManagedTokens alone. */
function overBytes(tokens: readonly StoredToken[]): readonly Excess[] {
  const bytes = new Map<string, number>();
  for (const token of tokens) {
    const { namespace = '' } = token.metadata;
    bytes.set(namespace, (bytes.get(namespace) ?? 0) + (token.isOverBudget ? Infinity : bytesOf(token)));
  }
  return [...bytes].filter(([, total]) => total > BYTES_PER_NAMESPACE).map(([namespace]) => [namespace, 'bytes']);
}

/** Retries stay within the budgets of cluster and namespace, but no retry comes too late for the token. */
function retryOf(failure: Failure<string>, { view, clock }: TokenDeps, { budgets, random }: RetryMeans): Retry {
  const token = view.tokens.get(failure.key);
  const endsAt = expiresAt(token, view);
  const gaveUpAt = (token && giveUpAt(token)) ?? 0;
  const latestAt = Math.min(
    endsAt === undefined ? Infinity : latestRetryAt(endsAt, failure.now),
    gaveUpAt > failure.now ? gaveUpAt : Infinity,
  );
  const spend = () => {
    const lane = token === undefined ? '' : laneOf(token, view);
    const now = clock.monotonic();
    // A namespace over its own budget does not use up that of its cluster.
    return budgets.tenants.spend(`${lane} ${namespaceOf(failure.key)}`, now) || budgets.lanes.spend(lane, now);
  };
  return planRetry(failure, { random, resource: ManagedTokens, latestAt, spend });
}

interface RetryMeans {
  readonly budgets: { readonly lanes: RetryBudget; readonly tenants: RetryBudget };
  readonly random: number;
}
