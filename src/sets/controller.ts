// The ManagedTokenSet controller: triggers, budgets and retries.

import { defer, filter, finalize, map, merge, type Observable, type OperatorFunction, takeUntil, tap } from 'rxjs';
import { parseServiceAccounts } from '../access/user.ts';
import type { Cluster } from '../api/cluster.gen.ts';
import { ClusterConditionType, SetAnnotation } from '../api/names.ts';
import { ManagedTokenSets, ManagedTokens, type Stored } from '../api/resources.ts';
import { namespaceOf, objectKeyOf } from '../kube/paths.ts';
import type { Change } from '../kube/store.ts';
import { findCondition } from '../kubernetes/conditions.ts';
import { type Outcome, type Result, runController } from '../runtime/controller.ts';
import { whenAborted } from '../runtime/leadership.ts';
import { planRetry } from '../runtime/retry-policy.ts';
import {
  annotationsChanged,
  anyOf,
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
import { encodeGoJson } from '../std/go-text.ts';
import { mergeItems, mergeItemsInTurns } from '../std/merge-items.ts';
import type { ProfileCounts } from '../telemetry/exposition.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { chargeReviews, NamespaceBudgets, namespacesOverBytes } from '../tokens/budgets.ts';
import type { StoredSecret } from '../tokens/policy/secret.ts';
import type { StoredToken } from '../tokens/policy/spec.ts';
import { SetAuthorizer } from './authorizer.ts';
import { type SetInformers, SetView, selectsCluster } from './informers.ts';
import { templateRequestOf } from './issue-request.ts';
import { readyConditionOf } from './policy/plan.ts';
import { encodeTemplateMetadata, type StoredSet, toChildName } from './policy/template.ts';
import { reconcileSet } from './reconcile.ts';
import type { SetDeps } from './run.ts';
import { TrackedSets } from './tracked-set.ts';

export interface SetControllerOptions extends Omit<SetDeps, 'view' | 'memory' | 'authorizer' | 'budgets' | 'timers'> {
  /** Clock for the deadline of each run; `clock` by default. */
  readonly timers?: Clock;
  readonly informers: SetInformers;
  readonly random: () => number;
  readonly metrics?: Pick<Metrics, 'observeQueue' | 'observeBudgets' | 'observeProfiles'>;
}

/** Maximum number of sets reconciled at the same time. */
const CONCURRENCY = 18;
/** Maximum ratio of the slots that one namespace holds to the free slots; see `Limits.tenantShare`. */
const TENANT_SHARE = 8;

/** Creates the controller. Each subscription runs one term, without memory of earlier terms, and stops cleanly after `stopping` aborts. */
export function createSetController(options: SetControllerOptions): (stopping: AbortSignal) => Observable<Outcome<string>> {
  const view = new SetView(options.informers);
  return (stopping) => defer(() => runTerm(options, view, stopping));
}

function runTerm(options: SetControllerOptions, view: SetView, stopping: AbortSignal): Observable<Outcome<string>> {
  const { informers, random, metrics, ...rest } = options;
  const { clock, hub, log, settings } = rest;
  const memory = new TrackedSets();
  const budgets = new NamespaceBudgets({ clock, log, countInNamespace: view.countInNamespace });
  const authorizer = new SetAuthorizer({ hub: chargeReviews(hub, budgets), view, protectedNamespaces: settings.protectedNamespaces });
  const deps: SetDeps = { timers: clock, ...rest, view, memory, authorizer, budgets };
  const { sets, tokens, secrets, clusters, credentials, requesters, roles, bindings } = informers;
  const known = () => view.sets.keys().map((key) => ({ key, spacingMs: 0 }));
  const all = [sets, tokens, secrets, clusters, ...credentials, requesters, roles, bindings];
  const requests$ = whenSynced<Trigger>(all, known, createSetTriggers(informers, deps)).pipe(
    map(({ key, spacingMs }) => ({ key, dueAt: computeDueAt(key, spacingMs, deps) })),
    takeUntil(whenAborted(stopping)),
  );
  metrics?.observeBudgets('managed-token-set', () => [...budgets.over(), ...namespacesOverBytes(view.sets.list())]);
  metrics?.observeProfiles(() => countProfiles(deps));
  return runController(requests$, {
    reconcile: (key, signal) => reconcileWithinBudget(deps, key, signal),
    retryPolicy: (failure) => planRetry(failure, { random: random(), resource: ManagedTokenSets }),
    clock,
    concurrency: CONCURRENCY,
    tenantShare: TENANT_SHARE,
    priorityOf: (key) => ({ lane: '', tenant: namespaceOf(key), deadlineAt: Infinity }),
    onQueue: ({ depth }) => metrics?.observeQueue('managed-token-set', depth),
  }).pipe(
    // Only the leader knows the ClusterProfiles and the budgets, so their metrics are empty after the term.
    finalize(() => {
      metrics?.observeProfiles(() => []);
      metrics?.observeBudgets('managed-token-set', () => []);
    }),
  );
}

/** Returns the numbers of ClusterProfiles of each set that publishes them. */
function countProfiles({ view, memory }: SetDeps): readonly ProfileCounts[] {
  return view.sets.list().flatMap(({ metadata, spec }) => {
    const tracked = spec.clusterProfiles ? memory.find(metadata.uid) : undefined;
    return tracked === undefined ? [] : [{ namespace: metadata.namespace, name: metadata.name, ...tracked.profiles.counts }];
  });
}

/** Returns the time at which a triggered set is due: now, but not earlier than `spacingMs` after the start of its last run. */
function computeDueAt(key: string, spacingMs: number, { view, memory, clock }: SetDeps): number {
  const now = clock.now();
  const ranAt = memory.find(view.sets.get(key)?.metadata.uid)?.ranAt ?? Number.NEGATIVE_INFINITY;
  // A time in the future was recorded before the clock was set back.
  return ranAt > now ? now : Math.max(now, ranAt + spacingMs);
}

/** Reconciles a set. While its namespace is over its budget, defers a set that a change in the namespace has triggered. */
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

/** A set to reconcile. */
export interface Trigger {
  readonly key: string;
  /** Minimum time since the start of the set's last run, in milliseconds: many ManagedTokens change together. */
  readonly spacingMs: number;
}

/** Dependencies of the triggers. */
export type TriggerDeps = Pick<SetDeps, 'view' | 'memory'> & {
  readonly authorizer: Pick<SetAuthorizer, 'toPermissionCheck' | 'allowsToken'>;
};

const TOKEN_SPACING_MS = 1_000;
const CLUSTER_SPACING_MS = 500;

/** Creates the stream of the sets to reconcile. The stream also tracks changes to sets, ManagedTokens and permissions. */
export function createSetTriggers(informers: SetInformers, { view, memory, authorizer }: TriggerDeps): Observable<Trigger> {
  const { sets, tokens, clusters } = informers;
  const written = (key: string) => memory.find(view.sets.get(key)?.metadata.uid)?.status;
  const isNews = anyOf<StoredSet>(
    generationChanged,
    annotationsChanged(SetAnnotation.confirmRemoval),
    statusChangedByOthers(written),
    budgetChanged,
  );
  return merge(
    sets.changes$.pipe(
      tap((change) => trackSet(change, memory)),
      filter(isNews),
      mergeItems(toSelfKeys),
      tap((key) => trackTenantTrigger(view.sets.get(key), memory)),
      map((key) => ({ key, spacingMs: 0 })),
    ),
    tokens.changes$.pipe(
      tap((change) => trackToken(change, view, memory)),
      filter(
        anyOf<StoredToken>(
          generationChanged,
          annotationsChanged(SetAnnotation.templateDigest),
          templateMetadataChanged,
          ownerChanged,
          resultChanged,
        ),
      ),
      mergeItems(ownersOf),
      tap((key) => trackTenantTrigger(view.sets.get(key), memory)),
      map((key) => ({ key, spacingMs: TOKEN_SPACING_MS })),
    ),
    tokens.changes$.pipe(
      filter(ownerChanged),
      mergeItems(({ key }) => memory.takeWaiting(key)),
      tap((key) => trackTenantTrigger(view.sets.get(key), memory)),
      map((key) => ({ key, spacingMs: TOKEN_SPACING_MS })),
    ),
    clusters.changes$.pipe(
      filter(membershipChanged),
      findSetsOfClusters(() => view.sets.list(), { view, authorizer }),
      map((key) => ({ key, spacingMs: CLUSTER_SPACING_MS })),
    ),
    createProfileTriggers(informers, { view, memory, authorizer }),
    createPermissionTriggers(informers, { view, memory }),
  );
}

/** Creates the stream of the sets whose requesters are created or deleted, or get or lose a permission. */
function createPermissionTriggers(informers: SetInformers, { view, memory }: Pick<TriggerDeps, 'view' | 'memory'>): Observable<Trigger> {
  return merge(
    informers.requesters.changes$.pipe(
      filter(({ type }) => type !== 'updated'),
      map(({ key }) => key),
      mergeItemsInTurns((key) => view.setsOfRequester(key).map(objectKeyOf)),
      tap((key) => trackTenantTrigger(view.sets.get(key), memory)),
    ),
    view.permissions.follow(informers).pipe(
      mergeItems((change) => view.permissions.affectedBy(change)),
      mergeItemsInTurns((subject) => findSetsOfSubject(subject, view).map(objectKeyOf)),
    ),
  ).pipe(map((key) => ({ key, spacingMs: CLUSTER_SPACING_MS })));
}

/** Matches a set that became a stub because its namespace is over its budget, or that is whole again. */
const budgetChanged = fieldChanged<StoredSet>(({ isOverBudget }) => isOverBudget);

/** Creates the stream of the sets whose ClusterProfiles may change. */
function createProfileTriggers(
  { clusters, secrets, tokens }: SetInformers,
  { view, memory, authorizer }: TriggerDeps,
): Observable<Trigger> {
  const written$ = merge(
    secrets.changes$.pipe(
      filter(dataChanged),
      mergeItems((change) => findSetsOfSecret(change, view)),
    ),
    tokens.changes$.pipe(filter(secretWritten), mergeItems(ownersOf)),
  );
  const health$ = clusters.changes$.pipe(
    filter(healthChanged),
    findSetsOfClusters(() => view.publishingSets(), { view, authorizer }),
  );
  return merge(
    written$.pipe(
      filter((key) => view.sets.get(key)?.spec.clusterProfiles === true),
      tap((key) => trackTenantTrigger(view.sets.get(key), memory)),
    ),
    health$,
  ).pipe(map((key) => ({ key, spacingMs: TOKEN_SPACING_MS })));
}

/** Matches a change to the labels or annotations that a ManagedToken has from the template. */
const templateMetadataChanged = fieldChanged<StoredToken>(({ metadata }) => encodeTemplateMetadata(metadata));

/** Matches a change to the controller that owns a ManagedToken. */
const ownerChanged: Predicate<StoredToken> = (change) =>
  change.type !== 'updated' ||
  encodeGoJson(change.object.metadata.ownerReferences) !== encodeGoJson(change.previous.metadata.ownerReferences);

/** Matches a change to the Ready condition of a ManagedToken, or to the generation that the status describes. */
const resultChanged: Predicate<StoredToken> = (change) =>
  change.type !== 'updated' || encodeResult(change.object) !== encodeResult(change.previous);

function encodeResult(token: StoredToken): string {
  const { status, reason, message } = readyConditionOf(token) ?? {};
  return [token.status?.observedGeneration, status, reason, message].join('\n');
}

/** Matches a change to the labels of a Cluster, and the start of its deletion. */
const membershipChanged = anyOf<Cluster>(
  labelsChanged,
  fieldChanged(({ metadata }) => metadata.deletionTimestamp),
);

/** Matches a change to the parts of a Cluster's status that ClusterProfiles contain; not heartbeats, and not added or deleted Clusters. */
const healthChanged: Predicate<Cluster> = (change) =>
  change.type === 'updated' && encodeProfiledParts(change.object) !== encodeProfiledParts(change.previous);

function encodeProfiledParts(cluster: Cluster): string {
  const { status, reason, lastTransitionTime } = findCondition(cluster, ClusterConditionType.ready) ?? {};
  return [cluster.status?.version, status, reason, lastTransitionTime].join('\n');
}

/** Matches a new Secret, or a change to the data of a Secret. Deleted Secrets do not match. */
const dataChanged: Predicate<StoredSecret> = (change) =>
  change.type === 'added' || (change.type === 'updated' && change.object.dataDigest !== change.previous.dataDigest);

/** Matches an update of the Secret's digest in a ManagedToken's status, which follows each change to the Secret's data by Purser. */
const secretWritten: Predicate<StoredToken> = (change) =>
  change.type === 'updated' && change.object.status?.secretDigest !== change.previous.status?.secretDigest;

const ownersOf = mapToOwnerKeys(ManagedTokenSets);
const tokensOfSecret = mapToOwnerKeys(ManagedTokens);

/** Returns the keys of the sets that own the ManagedToken of a Secret. */
function findSetsOfSecret(change: Change<StoredSecret>, { tokens }: SetView): readonly string[] {
  return tokensOfSecret(change).flatMap((key) => {
    const token = tokens.get(key);
    return token === undefined ? [] : ownersOf({ type: 'added', key, object: token });
  });
}

/**
 * Emits the keys of the candidates that contain a changed Cluster. Merges all changes to a Cluster that precede the search into one, so
 * that the queue stays small, no matter how often a user changes a Cluster.
 */
function findSetsOfClusters(
  candidates: () => readonly StoredSet[],
  deps: Pick<TriggerDeps, 'view' | 'authorizer'>,
): OperatorFunction<Change<Cluster>, string> {
  return (changes$) => {
    /** States after the last and before the first change, by the name of the Cluster. */
    const waiting = new Map<string, readonly Stored<Cluster>[]>();
    const enqueue = (change: Change<Cluster>) => {
      const [, first = change.object] = waiting.get(change.key) ?? statesOf(change);
      waiting.set(change.key, [change.object, first]);
    };
    const search = (name: string) => {
      const states = waiting.get(name) ?? [];
      waiting.delete(name);
      return searchSetsOfCluster(name, states, candidates(), deps);
    };
    return changes$.pipe(
      tap(enqueue),
      map(({ key }) => key),
      mergeItemsInTurns(search),
    );
  };
}

/**
 * Searches for the sets that contain a Cluster in one of these states, or have a permitted ManagedToken for the Cluster, which a run
 * between the two states may have created. Yields the key of each such set, and undefined for each other set. Other sets must not run: a
 * run delays the next run of the set, and would thus reveal a Cluster that the requester must not learn about.
 */
function* searchSetsOfCluster(
  name: string,
  states: readonly Stored<Cluster>[],
  sets: readonly StoredSet[],
  { view, authorizer }: Pick<TriggerDeps, 'view' | 'authorizer'>,
): Generator<string | undefined> {
  const isMember = (set: StoredSet) => {
    if (states.some((cluster) => selectsCluster(set, cluster) && authorizer.toPermissionCheck(templateRequestOf(set))(cluster)))
      return true;
    const token = view.tokens.get(`${set.metadata.namespace}/${toChildName(set.metadata.name, name)}`);
    return token !== undefined && states.some((cluster) => authorizer.allowsToken(token, cluster));
  };
  for (const set of sets) yield isMember(set) ? objectKeyOf(set) : undefined;
}

function findSetsOfSubject(subject: string, view: SetView): readonly StoredSet[] {
  const scope = parseServiceAccounts(subject);
  if (scope === undefined) return [];
  if (scope === 'all') return view.sets.list();
  return scope.name === undefined ? view.setsOfNamespace(scope.namespace) : view.setsOfRequester(`${scope.namespace}/${scope.name}`);
}

function trackSet(change: Change<StoredSet>, memory: TrackedSets): void {
  const { uid } = change.object.metadata;
  if (change.type === 'deleted') return memory.forget(uid);
  memory.find(uid)?.set.acknowledge(change.object);
}

function trackToken(change: Change<StoredToken>, view: SetView, memory: TrackedSets): void {
  const { name } = change.object.metadata;
  for (const key of ownersOf(change)) {
    memory.find(view.sets.get(key)?.metadata.uid)?.observe(name, change.type === 'deleted' ? undefined : change.object);
  }
}

function trackTenantTrigger(set: StoredSet | undefined, memory: TrackedSets): void {
  if (set !== undefined) memory.keep(set.metadata.uid).isTriggeredByTenant = true;
}
