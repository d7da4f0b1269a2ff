// The ManagedToken controller: triggers, priorities, budgets and retries.

import { filter, finalize, map, merge, type Observable, Subject, switchMap, takeUntil, tap } from 'rxjs';
import { clusterSetOf, NO_CLUSTER_SET } from '../access/cluster-set.ts';
import { parseServiceAccounts } from '../access/user.ts';
import type { Cluster } from '../api/cluster.gen.ts';
import { TokensGroup } from '../api/names.ts';
import { ManagedTokens } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { namespaceOf, objectKeyOf } from '../kube/paths.ts';
import type { Recorder } from '../kube/recorder.ts';
import type { Change } from '../kube/store.ts';
import { type Outcome, type Result, runController } from '../runtime/controller.ts';
import { whenAborted } from '../runtime/leadership.ts';
import { type Failure, planRetry, type Retry, RetryBudget } from '../runtime/retry-policy.ts';
import {
  annotationsChanged,
  anyOf,
  conditionTurnedTrue,
  fieldChanged,
  generationChanged,
  labelsChanged,
  mapToOwnerKeys,
  type Predicate,
  statesOf,
  statusChangedByOthers,
  toSelfKeys,
  whenSynced,
} from '../runtime/trigger.ts';
import type { Clock } from '../std/clock.ts';
import { fromAbortable } from '../std/from-abortable.ts';
import { mergeItems, mergeItemsInTurns } from '../std/merge-items.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import { MAX_CONNECTIONS } from '../targets/target.ts';
import { createAuditLogger, type Logger } from '../telemetry/logger.ts';
import { parseDeletionKey } from './anchor-deletions.ts';
import { deleteRequestedAnchors } from './anchors.ts';
import { TokenAuthorizer } from './authorizer.ts';
import {
  chargeDials,
  chargeReviews,
  chargeRun,
  deferRun,
  dueAt,
  NamespaceBudgets,
  namespacesOverBytes,
  namespacesOverSlots,
} from './budgets.ts';
import { claimedSecret, HubView, keysOf, requesterKeyOf, secretKeyOf, type TokenInformers } from './informers.ts';
import { anchorDeadlineAt } from './policy/plan.ts';
import { latestRetryAt } from './policy/rotation.ts';
import type { StoredSecret } from './policy/secret.ts';
import type { StoredToken } from './policy/spec.ts';
import { findExpiry, laneOf, priorityOf } from './priority.ts';
import { interruptForReview, reconcileToken } from './reconcile.ts';
import { loadRecordKey, type RecordKey } from './record-key.ts';
import { MAX_OWNERS } from './reduce.ts';
import { RemovalLimits } from './removal-limits.ts';
import type { TokenDeps, TokenMetrics, TokenSettings } from './run.ts';
import { TrackedTokens } from './tracked-token.ts';
import { Verification } from './verification.ts';

export interface TokenControllerOptions {
  readonly informers: TokenInformers;
  readonly hub: KubeClient;
  readonly clients: ClusterClients;
  readonly recorder: Pick<Recorder, 'record'>;
  readonly clock: Clock;
  /** Clock for the deadline of each run; `clock` by default. */
  readonly timers?: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics?: TokenMetrics;
  readonly settings: TokenSettings;
}

/** Creates the controller. Each subscription runs one term of leadership, without memory of earlier terms, until `stopping` aborts. */
export function createTokenController(options: TokenControllerOptions): (stopping: AbortSignal) => Observable<Outcome<string>> {
  const view = new HubView(options.informers);
  return (stopping) =>
    emitRecordKey(options).pipe(
      takeUntil(whenAborted(stopping)),
      switchMap((recordKey) => runTerm(options, view, recordKey, stopping)),
    );
}

/** Maximum number of concurrent runs: enough even if nearly thirty clusters hang at once. */
const CONCURRENCY = 512;
/**
 * Maximum number of concurrent runs per lane: one for each connection to the cluster, and two more for other namespaces if one namespace
 * uses all connections.
 */
const CONCURRENCY_PER_CLUSTER = MAX_CONNECTIONS.controllers + 2;
/** Maximum ratio of the slots that one namespace holds to the free slots; see `Limits.tenantShare`. */
const TENANT_SHARE = 8;
/** Number of slots above which the metrics report a namespace; `TENANT_SHARE` limits the slots themselves. */
const SLOTS_PER_NAMESPACE = CONCURRENCY / 8;
/** Retry budget of one namespace on one cluster: a fifth of the retry budget of the cluster. */
const TENANT_RETRIES = { free: 100, gapMs: 100 };

/**
 * Emits the record key of a term. No reconcile runs before the key is loaded: without it, the removal limits would not recognize issued
 * tokens.
 */
function emitRecordKey({ hub, clock, random, log, settings: { namespace } }: TokenControllerOptions): Observable<RecordKey> {
  return fromAbortable(async function* (signal) {
    yield await loadRecordKey({ hub, namespace, clock, random, log, signal });
  });
}

function runTerm(options: TokenControllerOptions, view: HubView, recordKey: RecordKey, stopping: AbortSignal): Observable<Outcome<string>> {
  const { informers, clock, metrics } = options;
  const budgets = new NamespaceBudgets({ clock, log: options.log, countInNamespace: view.countInNamespace });
  const deps = createDeps(options, view, budgets, recordKey);
  const retries = { lanes: new RetryBudget(), tenants: new RetryBudget(TENANT_RETRIES) };
  const { credentials, ...others } = informers;
  const requested$ = new Subject<string>();
  const live$ = merge(tokenTriggers(informers, view, deps.memory), deps.verification.requests$);
  deps.removals.load();
  const triggered$ = whenSynced([...Object.values(others), ...credentials], () => view.tokens.keys(), live$);
  const requests$ = merge(triggered$, requested$).pipe(
    tap((key) => interruptForReview(key, deps)),
    map((key) => ({ key, dueAt: dueAt(key, deps) })),
    takeUntil(whenAborted(stopping)),
  );
  return runController(requests$, {
    reconcile: (key, signal, lane) => {
      const slot = { lane, request: (other: string) => requested$.next(other) };
      return reconcileWithinBudget(budgets, { ...deps, slot }, key, signal);
    },
    retryPolicy: (failure) => planTokenRetry(failure, deps, { retries, random: options.random() }),
    clock,
    concurrency: CONCURRENCY,
    concurrencyPerLane: CONCURRENCY_PER_CLUSTER,
    tenantShare: TENANT_SHARE,
    priorityOf: (key) => priorityOf(key, deps),
    onQueue: ({ depth, slotsByTenant }) => {
      metrics?.observeQueue('managed-token', depth);
      metrics?.observeBudgets('managed-token', () => [
        ...budgets.over(),
        ...namespacesOverSlots(slotsByTenant(), SLOTS_PER_NAMESPACE),
        ...namespacesOverBytes([...view.tokens.list(), ...view.secrets.list()]),
      ]);
    },
  }).pipe(
    finalize(() => {
      deps.removals.close();
      metrics?.setRemovalPaused(false);
      metrics?.observeVerification(() => 0);
      metrics?.observeBudgets('managed-token', () => []);
    }),
  );
}

function createDeps(options: TokenControllerOptions, view: HubView, budgets: NamespaceBudgets, recordKey: RecordKey): TokenDeps {
  const { hub, clients, recorder, clock, timers = clock, random, log, metrics, settings } = options;
  const memory = new TrackedTokens();
  const { protectedNamespaces, namespace } = settings;
  const authorizer = new TokenAuthorizer({ hub: chargeReviews(hub, budgets), view, memory, clock, protectedNamespaces });
  const removals = new RemovalLimits({ hub, view, memory, recordKey, clock, log, metrics, namespace });
  const auditLog = createAuditLogger(log);
  const verification = new Verification({ clock, random, view, intervalMs: settings.verifyIntervalMs });
  metrics?.observeVerification(() => verification.intervalMs);
  return {
    hub,
    clients,
    recorder,
    clock,
    timers,
    log,
    auditLog,
    metrics,
    settings,
    view,
    memory,
    authorizer,
    removals,
    verification,
    recordKey,
    startedAt: clock.now(),
  };
}

/**
 * Reconciles a ManagedToken or, for a deletion key, deletes its anchors in one lane. While the namespace is over its budget, defers the
 * reconcile. If a token may have to be removed, the reconcile is deferred by at most a second, and then issues a token only in place of an
 * expired one.
 */
export async function reconcileWithinBudget(budgets: NamespaceBudgets, deps: TokenDeps, key: string, signal: AbortSignal): Promise<Result> {
  const namespace = namespaceOf(key);
  const clients = chargeDials(deps.clients, budgets, namespace);
  const deletion = parseDeletionKey(key);
  // No budget applies: the run that requested the deletion was within the budget, or urgent.
  if (deletion !== undefined) return await deleteRequestedAnchors({ ...deps, clients }, deletion, signal);
  const waitMs = budgets.waitMs(namespace);
  const requeueAt = waitMs > 0 ? deferRun(key, waitMs, deps) : undefined;
  if (requeueAt !== undefined) return { requeueAt };
  chargeRun(key, deps, budgets);
  return await reconcileToken({ ...deps, clients, budgetMs: waitMs }, key, signal);
}

const SHORTEST_RETRY_MS = 1_000;

interface RetryContext {
  readonly retries: { readonly lanes: RetryBudget; readonly tenants: RetryBudget };
  readonly random: number;
}

/**
 * Plans a retry within the retry budgets of the cluster and the namespace, but early enough for a renewal, the deadline of anchor
 * deletions, and the reconcile that the last run requested.
 */
function planTokenRetry(failure: Failure<string>, { view, clock, memory }: TokenDeps, { retries, random }: RetryContext): Retry {
  const token = view.tokens.get(failure.key);
  const expiry = findExpiry(token, view);
  const deadlineAt = (token && anchorDeadlineAt(token)) ?? 0;
  const { requeueAt = Infinity } = memory.of(token?.metadata.uid);
  const latestAt = Math.min(
    expiry === undefined ? Infinity : latestRetryAt(expiry, failure.now),
    deadlineAt > failure.now ? deadlineAt : Infinity,
    Math.max(requeueAt, failure.now + SHORTEST_RETRY_MS),
  );
  const spend = () => {
    const lane = token === undefined ? '' : laneOf(token, view);
    const now = clock.monotonic();
    // A namespace over its own retry budget does not spend that of the cluster.
    return retries.tenants.spend(`${lane} ${namespaceOf(failure.key)}`, now) || retries.lanes.spend(lane, now);
  };
  return planRetry(failure, { random, resource: ManagedTokens, latestAt, spend });
}

/** Emits the keys of ManagedTokens to reconcile. */
export function tokenTriggers(informers: TokenInformers, view: HubView, memory: TrackedTokens): Observable<string> {
  const { tokens, secrets, credentials, requesters } = informers;
  const written = (key: string) => memory.of(view.tokens.get(key)?.metadata.uid).status;
  const isNews = anyOf<StoredToken>(
    generationChanged,
    annotationsChanged(`${TokensGroup}/`),
    statusChangedByOthers(written),
    budgetChanged,
  );
  const tenantTriggers$ = merge(
    tokens.changes$.pipe(
      tap((change) => trackToken(change, memory)),
      filter(isNews),
      mergeItems((change) => [...new Set([...toSelfKeys(change), ...keysOf(findSuccessors(change, view))])]),
    ),
    secrets.changes$.pipe(
      tap((change) => trackSecret(change, writersOf(change, view), memory)),
      // A relist may turn a stub back into the whole object without a new resource version.
      filter((change) => (change.type === 'updated' && budgetChanged(change)) || !isOwnWrite(change, writersOf(change, view), memory)),
      mergeItems((change) => keysOf([...new Set([...ownersOf(change, view), ...writersOf(change, view)])])),
    ),
    requesters.changes$.pipe(
      filter(({ type }) => type !== 'updated'),
      map(({ key }) => key),
      mergeItemsInTurns((key) => searchKeys(view.tokensOfRequester(key))),
      tap((key) => trackPermissionChange(view.tokens.get(key), memory)),
    ),
  );
  return merge(
    tenantTriggers$.pipe(tap((key) => trackTenantTrigger(view.tokens.get(key), memory))),
    clusterTriggers(informers, view),
    merge(...credentials.map(({ changes$ }) => changes$)).pipe(
      mergeItems(({ key }) => view.registry.clustersOfCredential(key)),
      map(({ metadata }) => metadata.name),
      mergeItemsInTurns((name) => view.tokensForCluster.keys(name)),
    ),
    merge(permissionTriggers(informers, view), clusterSetTriggers(informers, view)).pipe(
      tap((key) => trackPermissionChange(view.tokens.get(key), memory)),
    ),
  );
}

/** Matches an object that became a stub because its namespace is over its budget, or that is whole again. */
const budgetChanged = fieldChanged<StoredToken | StoredSecret>(({ isOverBudget }) => isOverBudget);

/**
 * Emits the keys of the ManagedTokens that changes to Clusters affect. A change to labels or audiences affects only some of them. Changes
 * are queued by the name of the Cluster, so that a Cluster that changes again while it is queued triggers each ManagedToken once.
 */
function clusterTriggers({ clusters }: TokenInformers, view: HubView): Observable<string> {
  const affectedBy = (matches: Predicate<Cluster>, isAffected?: (token: StoredToken) => boolean) =>
    clusters.changes$.pipe(
      filter(matches),
      map(({ key }) => key),
      mergeItemsInTurns((name) => searchKeys(view.tokensForCluster(name), isAffected)),
    );
  return merge(
    affectedBy(isRegistrationChange),
    affectedBy(
      (change) => !isRegistrationChange(change) && labelsChanged(change),
      ({ spec }) => spec.secret.argocd?.labelsFromCluster !== undefined,
    ),
    affectedBy(
      (change) => !isRegistrationChange(change) && apiAudiencesChanged(change),
      ({ spec }) => spec.audiences === undefined,
    ),
  );
}

const isRegistrationChange = anyOf<Cluster>(generationChanged, conditionTurnedTrue('Ready'));
const apiAudiencesChanged = fieldChanged<Cluster>(({ status }) => status?.apiAudiences);

/** Emits the keys of the ManagedTokens whose requesters a changed role or binding affects. */
function permissionTriggers(informers: TokenInformers, view: HubView): Observable<string> {
  return view.permissions.follow(informers).pipe(
    mergeItems((change) => view.permissions.affectedBy(change)),
    mergeItemsInTurns((subject) => searchKeys(tokensOfSubject(subject, view))),
  );
}

/** Emits the keys of the ManagedTokens of each Cluster that joins or leaves a set, including by its creation or deletion. */
function clusterSetTriggers({ clusters }: TokenInformers, view: HubView): Observable<string> {
  return clusters.changes$.pipe(
    filter(hasChangedClusterSet),
    map(({ key }) => key),
    mergeItemsInTurns((key) => view.tokensForCluster.keys(key)),
  );
}

/** Yields the key of each affected ManagedToken, and undefined for each other one, which `mergeItemsInTurns` also counts. */
function* searchKeys(
  tokens: readonly StoredToken[],
  isAffected: (token: StoredToken) => boolean = () => true,
): Generator<string | undefined> {
  for (const token of tokens) yield isAffected(token) ? objectKeyOf(token) : undefined;
}

function hasChangedClusterSet(change: Change<Cluster>): boolean {
  return clusterSetOf(change.object) !== (change.type === 'updated' ? clusterSetOf(change.previous) : NO_CLUSTER_SET);
}

function tokensOfSubject(subject: string, view: HubView): readonly StoredToken[] {
  const scope = parseServiceAccounts(subject);
  if (scope === undefined) return [];
  if (scope === 'all') return view.tokens.list();
  return scope.name === undefined ? view.tokensOfNamespace(scope.namespace) : view.tokensOfRequester(`${scope.namespace}/${scope.name}`);
}

/** Returns the ManagedToken that may create a Secret because the changed ManagedToken no longer claims it; empty if there is none. */
function findSuccessors(change: Change<StoredToken>, { firstClaimant }: HubView): readonly StoredToken[] {
  const released = findReleasedSecret(change);
  const next = released === undefined ? undefined : firstClaimant(released);
  return next === undefined ? [] : [next];
}

/** Returns the key of the Secret that a ManagedToken no longer claims; undefined if there is none. */
function findReleasedSecret(change: Change<StoredToken>): string | undefined {
  if (change.type !== 'updated') return change.type === 'deleted' ? secretKeyOf(change.object) : undefined;
  const claimed = claimedSecret(change.previous);
  return claimed === claimedSecret(change.object) ? undefined : claimed;
}

const ownerKeysOf = mapToOwnerKeys(ManagedTokens);

/** Returns the ManagedTokens that own a Secret before or after a change, but at most MAX_OWNERS, because tenants can add owners. */
function ownersOf(change: Change<StoredSecret>, { tokens }: HubView): readonly StoredToken[] {
  const owners = ownerKeysOf(change).flatMap((key) => tokens.get(key) ?? []);
  return owners.slice(0, MAX_OWNERS);
}

/** Returns the ManagedTokens that may have written a Secret: the first claimant, and owners whose spec names it. */
function writersOf(change: Change<StoredSecret>, view: HubView): readonly StoredToken[] {
  const first = view.firstClaimant(change.key);
  const writers = new Set(ownersOf(change, view).filter((token) => secretKeyOf(token) === change.key));
  return [...(first === undefined ? writers : writers.add(first))];
}

/** Returns whether a change is Purser's own write, which needs no other run: the run that sent it continues. */
function isOwnWrite({ type, object }: Change<StoredSecret>, writers: readonly StoredToken[], memory: TrackedTokens): boolean {
  return type !== 'deleted' && writers.length > 0 && writers.every(({ metadata }) => memory.of(metadata.uid).isOwnWrite(object));
}

function trackToken(change: Change<StoredToken>, memory: TrackedTokens): void {
  const { type, object } = change;
  const uid = object.metadata.uid;
  if (type === 'deleted') return memory.forget(uid);
  memory.of(uid).observeToken(object);
  // RBAC changes are recorded only for ManagedTokens that name the requester at that time, so a new requester is recorded as a change.
  if (new Set(statesOf(change).map(requesterKeyOf)).size > 1) memory.of(uid).recordRbacChange();
}

/** Records that earlier reviews may no longer apply. Does nothing for an untracked ManagedToken, which has no reviews. */
function trackPermissionChange(token: StoredToken | undefined, memory: TrackedTokens): void {
  memory.of(token?.metadata.uid).recordRbacChange();
}

function trackTenantTrigger(token: StoredToken | undefined, memory: TrackedTokens): void {
  if (token !== undefined) memory.keep(token.metadata.uid).isTriggeredByTenant = true;
}

function trackSecret({ type, object }: Change<StoredSecret>, tokens: readonly StoredToken[], memory: TrackedTokens): void {
  for (const { metadata } of tokens) {
    memory.of(metadata.uid).observeSecret(type === 'deleted' ? undefined : object);
  }
}
