// One reconcile of a ManagedTokenSet: observes its clusters and ManagedTokens, writes and removes the ManagedTokens that are due, publishes
// ClusterProfiles, then writes the status.

import { setImmediate } from 'node:timers/promises';
import type { Cluster } from '../api/cluster.gen.ts';
import type { ManagedTokenSetStatus } from '../api/managed-token-set.gen.ts';
import { SetAnnotation, SetConditionType } from '../api/names.ts';
import { ManagedTokenSets, type Stored } from '../api/resources.ts';
import { startDeadline } from '../kube/deadline.ts';
import { toOverBudgetStub } from '../kube/namespace-bytes.ts';
import { objectKeyOf } from '../kube/paths.ts';
import { findCondition } from '../kubernetes/conditions.ts';
import { type FieldError, forbiddenValue, invalidOmitted, tooLong } from '../kubernetes/field-error.ts';
import { SelectorError } from '../kubernetes/selectors/selector.ts';
import type { Result } from '../runtime/controller.ts';
import { forEachBounded } from '../std/bounded.ts';
import { formatTimestamp } from '../std/timestamp.ts';
import type { StoredToken } from '../tokens/policy/spec.ts';
import { RUN_MS } from '../tokens/run.ts';
import { removeChild, requeueUnlessDue, writeChild } from './children.ts';
import { publishProfiles } from './cluster-profiles.ts';
import { MAX_SET_BYTES, reduceSet, resolveSelector, SET_BUDGET, selectsCluster, toControllerKey } from './informers.ts';
import { describePermission, templateRequestOf } from './issue-request.ts';
import { failsAt, isControlledBy, type Member, planSet, resolveRollout, type SetObservation } from './policy/plan.ts';
import { decideRemoval, REMOVAL_WINDOW_MS, type RemovalDecision } from './policy/removal.ts';
import { toDesiredStatus, toInvalidStatus } from './policy/status.ts';
import { renderToken, type StoredSet, toChildName } from './policy/template.ts';
import type { SetDeps, SetRun } from './run.ts';

/** Maximum number of concurrent requests of one set. */
const CONCURRENCY = 16;
/** Maximum number of writes, and of checks before removals, in one run; the next run continues. */
const MAX_WRITES = 256;
/** Minimum time from a status write of a set to the next one, in milliseconds; a write at the start of a rollout does not wait. */
const STATUS_MS = 1_000;
/** Number of clusters to process before other work can run. */
const CHUNK = 250;

/** Reconciles a set. Throws if the reconcile must be retried. */
export async function reconcileSet(deps: SetDeps, key: string, signal: AbortSignal): Promise<Result> {
  const informed = deps.view.sets.get(key);
  // The garbage collector deletes the ManagedTokens of a deleted set.
  if (informed === undefined || informed.metadata.deletionTimestamp !== undefined) return {};
  const { uid, generation } = informed.metadata;
  const tracked = deps.memory.keep(uid);
  let requeueAt: number | undefined;
  const run: Omit<SetRun, 'hasRequester'> = {
    ...deps,
    key,
    set: tracked.set.resolve(informed, deps.clock.now()) ?? informed,
    tracked,
    signal,
    requeue: (at) => {
      requeueAt = Math.min(requeueAt ?? Infinity, at);
    },
    isCurrent: () => {
      const { metadata } = deps.view.sets.get(key) ?? {};
      return metadata?.uid === uid && metadata.generation === generation && metadata.deletionTimestamp === undefined;
    },
  };
  tracked.ranAt = deps.clock.now();
  const deadline = startDeadline(deps.timers, RUN_MS, signal);
  try {
    const hasRequester = await deps.authorizer.hasRequester(templateRequestOf(run.set), deadline.signal);
    await runSet({ ...run, hasRequester, signal: deadline.signal });
  } catch (error) {
    // Own writes are tracked; the next run continues.
    if (!deadline.hasPassed || signal.aborted) throw error;
    run.requeue(deps.clock.now());
  } finally {
    deadline.clear();
  }
  return { requeueAt };
}

async function runSet(run: SetRun): Promise<void> {
  const problems = findProblems(run.set, run.settings.credentialNamespaces);
  if (problems.length > 0) return await writeStatus(run, run.set, toInvalidStatus(run.set, problems, run.clock.now()));
  const errors: unknown[] = [];
  const observation = await observe(run);
  const rollout = resolveRollout(run.set, formatTimestamp(run.clock.now()));
  const { creations, changes } = planSet(observation, rollout, run.clock.now());
  const removal = decideOnRemoval(run, observation);
  // Failures are attributed to a rollout by its start time, which must survive a crash.
  const isNew = changes.length > 0 && run.set.status?.rollout?.templateDigest !== rollout.templateDigest;
  const set = isNew ? await sendStatus(run, run.set, { ...run.set.status, rollout }) : run.set;
  const current = { ...run, set };
  const writes = [...creations, ...changes];
  await attempt(run, errors, () => forEachAllowed(current, writes, writeChild));
  const removable = removal.type === 'allowed' ? observation.surplus.filter((token) => requeueUnlessDue(run, token)) : [];
  await attempt(run, errors, () => forEachAllowed(current, removable, removeChild));
  const after = writes.length > 0 ? await observe(current) : { ...observation, set };
  const profiles = await attempt(run, errors, () => publishProfiles(current, after));
  const { hasRequester } = run;
  const outcome = { observation: after, hasRequester, plan: planSet(after, rollout, run.clock.now()), rollout, removal, profiles };
  requeueLater(run, after);
  await writeStatus(run, set, toDesiredStatus(outcome, run.clock.now()));
  // Thrown after the status is written: a failed request must not hide the state of the other clusters.
  if (errors.length > 0) throw errors[0];
}

/** Calls `part`. If it fails, adds the error to `errors`, so that the other parts still run. Throws only if the run is aborted. */
async function attempt<T>({ signal }: SetRun, errors: unknown[], part: () => Promise<T>): Promise<T | undefined> {
  try {
    return await part();
  } catch (error) {
    signal.throwIfAborted();
    errors.push(error);
    return undefined;
  }
}

/** Returns the reasons why a set is not reconciled. */
function findProblems(set: StoredSet, credentialNamespaces: readonly string[]): readonly FieldError[] {
  const selector = resolveSelector(set);
  return [
    ...(set.isTooLarge ? [tooLong('spec', MAX_SET_BYTES)] : []),
    ...(set.isOverBudget ? [forbiddenValue('spec', 'the ManagedTokenSets in the namespace take too much memory; delete large ones')] : []),
    ...(credentialNamespaces.includes(set.metadata.namespace)
      ? [forbiddenValue('metadata.namespace', 'holds cluster credentials; create the ManagedTokenSet in another namespace')]
      : []),
    ...(selector instanceof SelectorError ? [invalidOmitted('spec.clusterSelector', selector.message)] : []),
  ];
}

async function listSelectedClusters({ set, view }: SetRun): Promise<readonly Stored<Cluster>[]> {
  return await flatMapInChunks(view.registry.clusters.list(), (cluster) => (selectsCluster(set, cluster) ? [cluster] : []));
}

async function observe(run: SetRun): Promise<SetObservation> {
  const { key, set, tracked, hasRequester, authorizer, view, memory, clock } = run;
  const { namespace, name } = set.metadata;
  const now = clock.now();
  const selected = await listSelectedClusters(run);
  const tokenOf = (child: string) => tracked.latest(child, view.tokens.get(`${namespace}/${child}`), now);
  const hasPermission = authorizer.toPermissionCheck(templateRequestOf(set));
  const members = await flatMapInChunks(selected, (cluster): readonly Member[] => {
    const clusterName = cluster.metadata.name;
    const token = tokenOf(toChildName(name, clusterName));
    const isAllowed = hasRequester && hasPermission(cluster);
    // A cluster for which the requester may not issue tokens is not a member and not reported, unless its ManagedToken is permitted as is.
    if (!isAllowed && !isPermitted(run, token, cluster)) return [];
    if (token !== undefined && !isControlledBy(token, set.metadata.uid)) memory.awaitName(objectKeyOf(token), key);
    const rendering = isAllowed ? resolveRendering(set, cluster, token) : { missing: describePermission(set, clusterName) };
    return [{ clusterName, rendering, token, writeFailure: tracked.writeFailure(clusterName, clock.monotonic()) }];
  });
  const names = new Set(members.map(({ clusterName }) => toChildName(name, clusterName)));
  const surplus = listControlledTokens(run).filter(({ metadata }) => !names.has(metadata.name));
  const uidsOf = (tokens: readonly StoredToken[]) => new Set(tokens.map(({ metadata }) => metadata.uid));
  const informed = view.tokensOfSet(toControllerKey(namespace, set.metadata.uid));
  const clusters = new Set(selected.map(({ metadata }) => metadata.name));
  tracked.prune({ clusters, surplus: uidsOf(surplus), informed: uidsOf(informed) }, clock.monotonic());
  const overridden = members
    .filter(({ clusterName, token, rendering }) => 'digest' in rendering && tracked.isOverridden(clusterName, token, rendering.digest))
    .map(({ clusterName }) => clusterName);
  return {
    set,
    members: members.toSorted((a, b) => (a.clusterName < b.clusterName ? -1 : 1)),
    surplus,
    overridden: new Set(overridden),
  };
}

/** Returns whether the set controls a ManagedToken that may stay as it is: a mistake in the template must not remove tokens. */
function isPermitted({ set, authorizer }: SetRun, token: StoredToken | undefined, cluster: Stored<Cluster>): boolean {
  if (token === undefined || token.metadata.deletionTimestamp !== undefined || !isControlledBy(token, set.metadata.uid)) return false;
  return authorizer.allowsToken(token, cluster);
}

/** Returns the ManagedTokens that the set controls, without those that are being deleted. */
function listControlledTokens({ set, tracked, view }: SetRun): readonly StoredToken[] {
  const { namespace, uid } = set.metadata;
  const isKept = ({ metadata }: StoredToken) => metadata.deletionTimestamp === undefined && !tracked.removed.has(metadata.uid);
  return view.tokensOfSet(toControllerKey(namespace, uid)).filter(isKept);
}

/** Renderings by ManagedToken, each with its Cluster and spec. Informers never change these objects, so their identity is compared. */
const RENDERINGS = new WeakMap<StoredToken, { readonly cluster: object; readonly spec: object; readonly rendering: Member['rendering'] }>();

function resolveRendering(set: StoredSet, cluster: Stored<Cluster>, token: StoredToken | undefined): Member['rendering'] {
  const known = token && RENDERINGS.get(token);
  if (known?.cluster === cluster && known.spec === set.spec) return known.rendering;
  const result = renderToken(set, cluster.metadata);
  const rendering = 'problem' in result ? result : { digest: result.rendered.digest };
  if (token !== undefined) RENDERINGS.set(token, { cluster, spec: set.spec, rendering });
  return rendering;
}

/** Maps items in chunks; other work can run between two chunks. */
async function flatMapInChunks<T, U>(items: readonly T[], map: (item: T) => readonly U[]): Promise<readonly U[]> {
  const result: U[] = [];
  for (let start = 0; start < items.length; start += CHUNK) {
    if (start > 0) await setImmediate();
    for (const item of items.slice(start, start + CHUNK)) result.push(...map(item));
  }
  return result;
}

/** Decides on the removal of surplus ManagedTokens. A confirmed removal stays confirmed until it is complete. */
function decideOnRemoval(run: SetRun, { surplus }: SetObservation): RemovalDecision {
  const { set, tracked, clock } = run;
  // A set without a status is new: no earlier process has removed ManagedTokens.
  tracked.removalsKnownAt ??= set.status?.observedGeneration === undefined ? 0 : clock.monotonic() + REMOVAL_WINDOW_MS;
  const unknownMs = tracked.removalsKnownAt - clock.monotonic();
  const decision = decideRemoval({
    uids: surplus.map(({ metadata }) => metadata.uid).filter((uid) => !tracked.approved.has(uid)),
    total: listControlledTokens(run).length,
    removed: unknownMs > 0 ? undefined : tracked.countRecentRemovals(clock.monotonic()),
    confirmation: set.metadata.annotations?.[SetAnnotation.confirmRemoval],
  });
  if (decision.type === 'allowed' && decision.isConfirmed) for (const { metadata } of surplus) tracked.approved.add(metadata.uid);
  if (decision.type === 'deferred') run.requeue(clock.now() + unknownMs);
  return decision;
}

/** Runs the work for the first 256 items while the set exists with the same spec; the next run continues with the others. */
async function forEachAllowed<T>(run: SetRun, items: readonly T[], work: (run: SetRun, item: T) => Promise<void>): Promise<void> {
  await forEachBounded(items.slice(0, MAX_WRITES), CONCURRENCY, async (item) => {
    if (run.isCurrent()) await work(run, item);
  });
  if (items.length > MAX_WRITES) run.requeue(run.clock.now());
}

/** Requests the next run for changes that no watch delivers. */
function requeueLater({ tracked, clock, requeue }: SetRun, { members }: SetObservation): void {
  const now = clock.now();
  const pendingUntil = members.flatMap(({ token }) => (token === undefined ? [] : (failsAt(token) ?? []))).filter((at) => at > now);
  const nextWriteAt = now + tracked.nextWriteAt(clock.monotonic()) - clock.monotonic();
  const nextAt = pendingUntil.reduce((earliest, at) => Math.min(earliest, at), nextWriteAt);
  if (nextAt !== Infinity) requeue(nextAt);
  if (tracked.countRecentRemovals(clock.monotonic()) > 0) requeue(now + REMOVAL_WINDOW_MS);
}

/** Writes the status if it changes, at most once a second, and records events. */
async function writeStatus(run: SetRun, set: StoredSet, next: ManagedTokenSetStatus): Promise<void> {
  const { tracked, clock, recorder, isCurrent, requeue } = run;
  if (next === set.status || !isCurrent()) return;
  const waitMs = tracked.statusAt + STATUS_MS - clock.monotonic();
  if (waitMs > 0) return requeue(clock.now() + waitMs);
  await sendStatus(run, set, next);
  for (const event of toEvents(set.status ?? {}, next)) recorder.record(set, event);
}

async function sendStatus({ hub, tracked, clock, signal }: SetRun, set: StoredSet, status: ManagedTokenSetStatus): Promise<StoredSet> {
  tracked.status = status;
  tracked.statusAt = clock.monotonic();
  const { isTooLarge: _, isOverBudget: __, ...object } = set;
  const response = await hub.updateStatus(ManagedTokenSets, { ...object, status }, { signal });
  const whole = reduceSet(response);
  const written = set.isOverBudget ? toOverBudgetStub(whole, SET_BUDGET) : whole;
  tracked.set.record(written, set, clock.now());
  return written;
}

/** Returns the events to record when one status follows another. */
function toEvents(previous: ManagedTokenSetStatus, next: ManagedTokenSetStatus) {
  const [before, after] = [previous, next].map((status) => findCondition({ status }, SetConditionType.progressing));
  const isAlarming = after !== undefined && ALARMING_REASONS.has(after.reason) && before?.reason !== after.reason;
  const known = new Set(previous.failures?.filter(isConflict).map(({ clusterName }) => clusterName));
  const conflicts = (next.failures ?? []).filter(isConflict).filter(({ clusterName }) => !known.has(clusterName));
  return [
    ...(isAlarming ? [{ type: 'Warning', reason: after.reason, message: after.message } as const] : []),
    ...conflicts.map(
      ({ clusterName, reason, message }) => ({ type: 'Warning', reason, message: `Cluster ${clusterName}: ${message}` }) as const,
    ),
  ];
}

const ALARMING_REASONS: ReadonlySet<string> = new Set(['RolloutStopped', 'RemovalPaused']);

function isConflict({ reason }: { readonly reason: string }): boolean {
  return reason === 'NameConflict';
}
