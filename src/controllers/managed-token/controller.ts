// The controller of ManagedTokens: what wakes them, in which order they run, and what follows a failure.

import { defer, type Observable, takeUntil } from 'rxjs';
import { ManagedTokens } from '../../api/resources.ts';
import { giveUpAt } from '../../domain/plan-token.ts';
import { latestRetryAt } from '../../domain/rotation.ts';
import type { ClusterClients } from '../../issuers/cluster-clients.ts';
import { CONNECTIONS } from '../../issuers/target.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Recorder } from '../../kube/recorder.ts';
import { type Outcome, runController } from '../../runtime/controller.ts';
import { whenAborted } from '../../runtime/leadership.ts';
import { RetryBudget } from '../../runtime/retry-budget.ts';
import { type Failure, planRetry, type Retry } from '../../runtime/retry-policy.ts';
import { dueNow, whenSynced } from '../../runtime/trigger.ts';
import type { Clock } from '../../std/clock.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { Authority } from './authority.ts';
import type { TokenDeps, TokenMetrics, TokenSettings } from './deps.ts';
import { HubView, type TokenInformers } from './hub-view.ts';
import { TokenMemory } from './memory.ts';
import { expiresAt, placeOf } from './place.ts';
import { RecentWithdrawals } from './recent-withdrawals.ts';
import { createReconcile } from './reconcile.ts';
import { wakes } from './triggers.ts';

export interface TokenControllerOptions {
  readonly informers: TokenInformers;
  readonly hub: KubeClient;
  readonly clients: ClusterClients;
  readonly recorder: Pick<Recorder, 'record'>;
  readonly clock: Clock;
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

/** Enough for thirty clusters that hang at once: what they hold up, others need not wait for. */
const CONCURRENCY = 512;
/** More would wait for a connection. A cluster that hangs holds up no more than this. */
const CONCURRENCY_PER_CLUSTER = CONNECTIONS.requests;

function term(options: TokenControllerOptions, view: HubView, stopping: AbortSignal): Observable<Outcome<string>> {
  const { informers, clock } = options;
  const deps = depsOf(options, view);
  const budget = new RetryBudget();
  const live$ = wakes(informers, view, deps.memory);
  const { credentials, ...others } = informers;
  const all = [...Object.values(others), ...credentials];
  const requests$ = whenSynced(all, () => view.tokens.keys(), live$).pipe(dueNow(clock), takeUntil(whenAborted(stopping)));
  return runController(requests$, {
    reconcile: createReconcile(deps),
    retryPolicy: (failure) => retryOf(failure, deps, { budget, random: options.random() }),
    clock,
    concurrency: CONCURRENCY,
    concurrencyPerLane: CONCURRENCY_PER_CLUSTER,
    placeOf: (key) => placeOf(key, deps),
    onQueue: (depth) => options.metrics?.queue('managed-token', depth),
  });
}

function depsOf({ hub, clients, recorder, clock, log, metrics, settings }: TokenControllerOptions, view: HubView): TokenDeps {
  const memory = new TokenMemory();
  const { protectedNamespaces } = settings;
  const authority = new Authority({ hub, view, memory, protectedNamespaces });
  const withdrawals = new RecentWithdrawals(memory);
  return { hub, clients, recorder, clock, log, metrics, settings, view, memory, authority, withdrawals, startedAt: clock.now() };
}

/** A cluster that fails in part is tried again within its budget, but every token in time. */
function retryOf(failure: Failure<string>, { view, clock }: TokenDeps, { budget, random }: RetryMeans): Retry {
  const token = view.tokens.get(failure.key);
  const endsAt = expiresAt(token, view);
  const gaveUpAt = (token && giveUpAt(token)) ?? 0;
  const latestAt = Math.min(
    endsAt === undefined ? Infinity : latestRetryAt(endsAt, failure.now),
    gaveUpAt > failure.now ? gaveUpAt : Infinity,
  );
  const spend = () => budget.spend(token?.spec.clusterName ?? '', clock.monotonic());
  return planRetry(failure, { random, resource: ManagedTokens, latestAt, spend });
}

interface RetryMeans {
  readonly budget: RetryBudget;
  readonly random: number;
}
