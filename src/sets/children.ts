// Writes of the ManagedTokens of a set: creation with POST, changes with server-side apply or a merge patch, removal after repeated checks.

import type { Cluster } from '../api/cluster.gen.ts';
import { TokensGroup, Version } from '../api/names.ts';
import { Clusters, ManagedTokens, type Stored } from '../api/resources.ts';
import { hasReason, ignoreReasons, StatusError } from '../kubernetes/status.ts';
import { computeExponentialMs } from '../std/backoff.ts';
import { cleanMessage } from '../std/clean-message.ts';
import { encodeGoJson } from '../std/go-text.ts';
import type { StoredToken } from '../tokens/policy/spec.ts';
import { decideWithdrawal } from '../tokens/policy/withdrawal.ts';
import { reduceToken } from '../tokens/reduce.ts';
import { selectsCluster } from './informers.ts';
import { issueRequestOf, templateRequestOf } from './issue-request.ts';
import { type TokenPatch, toLeftoverPatch } from './policy/leftovers.ts';
import { isAsRendered, type PlannedWrite } from './policy/plan.ts';
import { type RenderedToken, renderToken, type StoredSet, toChildName } from './policy/template.ts';
import type { SetRun } from './run.ts';
import type { RemovalChecks } from './tracked-set.ts';

/**
 * Creates or changes a ManagedToken. Records a rejected write, which is retried later, and requests another run after a conflict; throws
 * for other failures.
 */
export async function writeChild(run: SetRun, { clusterName, token }: PlannedWrite): Promise<void> {
  const { set, view, tracked, clock } = run;
  const cluster: Stored<Cluster> | undefined = view.registry.clusters.get(clusterName);
  const rendering = cluster && renderToken(set, cluster.metadata);
  // The Cluster was deleted or changed after the plan was made; this change triggers the next run.
  if (rendering === undefined || 'problem' in rendering) return;
  const { rendered } = rendering;
  try {
    const written = token === undefined ? await createChild(run, rendered) : await changeChild(run, rendered, token);
    tracked.recordWrite(written, token, clock.now());
    tracked.recordOverride(clusterName, written, rendered.digest, !isAsRendered(written, rendered.digest));
    tracked.succeedWrite(clusterName);
  } catch (error) {
    run.signal.throwIfAborted();
    // Another client has written or deleted the ManagedToken. The delay gives the informer time to deliver the change before the next run.
    if (hasReason(error, 'AlreadyExists', 'Conflict', 'NotFound')) run.requeue(clock.now() + CONFLICT_MS);
    else if (isRejection(error)) tracked.failWrite(clusterName, cleanMessage(error.message), clock.monotonic());
    else throw error;
  }
}

/** Delay before the next run after a conflict, in milliseconds. */
const CONFLICT_MS = 1_000;

/** Returns whether the server rejects this ManagedToken, for example because of a quota or admission control. */
function isRejection(error: unknown): error is StatusError {
  return (
    error instanceof StatusError && hasReason(error, 'Forbidden', 'Invalid', 'BadRequest', 'MethodNotAllowed', 'RequestEntityTooLarge')
  );
}

async function createChild({ hub, set, signal }: SetRun, { name, labels, annotations, spec }: RenderedToken): Promise<StoredToken> {
  const metadata = { name, namespace: set.metadata.namespace, labels, annotations, ownerReferences: [toOwnerReference(set)] };
  return reduceToken(await hub.create(ManagedTokens, { ...TYPE, metadata, spec }, { signal }));
}

/**
 * Changes a ManagedToken to the rendered one: with server-side apply, or with a merge patch if apply would leave parts in place that must
 * be removed. If another client has added such parts, a merge patch follows the apply. Each write applies only to the ManagedToken with the
 * UID of `token`.
 */
async function changeChild(run: SetRun, rendered: RenderedToken, token: StoredToken): Promise<StoredToken> {
  const rest = isWhole(token) ? toLeftoverPatch(token, rendered) : undefined;
  if (rest !== undefined) return await patchChild(run, token, rest);
  const applied = await applyChild(run, token, rendered);
  // Another client may have added parts since the watch delivered the ManagedToken.
  const added = toLeftoverPatch(applied, rendered);
  return added === undefined ? applied : await patchChild(run, applied, added);
}

/** Returns whether the informer keeps all parts of a ManagedToken that may come from the template. */
function isWhole({ isTooLarge, isOverBudget }: StoredToken): boolean {
  return isTooLarge !== true && isOverBudget !== true;
}

async function applyChild({ hub, signal }: SetRun, { metadata }: StoredToken, rendered: RenderedToken): Promise<StoredToken> {
  const { labels, annotations, spec } = rendered;
  const { namespace, name, uid } = metadata;
  const object = { ...TYPE, metadata: { name, namespace, uid, labels, annotations }, spec };
  return reduceToken(await hub.apply(ManagedTokens, object, { signal, force: true }));
}

async function patchChild({ hub, signal }: SetRun, { metadata }: StoredToken, patch: TokenPatch): Promise<StoredToken> {
  const { uid, resourceVersion } = metadata;
  const guarded = { ...patch, metadata: { ...patch.metadata, uid, resourceVersion } };
  return reduceToken(await hub.patch(ManagedTokens, metadata, guarded, { signal }));
}

const TYPE = { apiVersion: `${TokensGroup}/${Version}`, kind: 'ManagedToken' } as const;

/** Returns the owner reference that makes the set the controller of an object. */
export function toOwnerReference({ metadata }: StoredSet) {
  const { name, uid } = metadata;
  return { apiVersion: `${TokensGroup}/${Version}`, kind: 'ManagedTokenSet', name, uid, controller: true, blockOwnerDeletion: false };
}

/**
 * Checks once more that a ManagedToken must be removed, and deletes the ManagedToken after enough such checks. The intervals are those
 * between reviews before a withdrawal.
 */
export async function removeChild(run: SetRun, token: StoredToken): Promise<void> {
  // Earlier checks of this run may have spent the budget.
  if (!requeueUnlessDue(run, token)) return;
  const { tracked, clock } = run;
  const { uid } = token.metadata;
  const checks = tracked.checks.get(uid) ?? { confirmedAt: [], nextAt: 0 };
  const now = clock.monotonic();
  const next = (await isStillSurplus(run, token)) ? confirmChecks(checks, now) : restartChecks(checks, now);
  if (next === 'remove') return await deleteChild(run, token);
  tracked.checks.set(uid, next);
  run.requeue(clock.now() + next.nextAt - now);
}

/** Returns whether the next check of a ManagedToken is due and the namespace is within its budget; otherwise, requests a later run. */
export function requeueUnlessDue({ tracked, clock, budgets, requeue }: SetRun, { metadata: { uid, namespace } }: StoredToken): boolean {
  const dueIn = Math.max((tracked.checks.get(uid)?.nextAt ?? 0) - clock.monotonic(), budgets.waitMs(namespace));
  if (dueIn > 0) requeue(clock.now() + dueIn);
  return dueIn <= 0;
}

function confirmChecks({ confirmedAt }: RemovalChecks, now: number): RemovalChecks | 'remove' {
  const [first = now] = confirmedAt;
  const next = decideWithdrawal([first, now], now);
  return next.type === 'remove' ? 'remove' : { confirmedAt: [first, now], nextAt: next.type === 'recheck' ? next.at : now };
}

/**
 * Restarts the checks with a growing delay after a contradiction: the informers may lag behind or lack objects, or an authorizer other than
 * RBAC may grant the permission.
 */
function restartChecks({ contradictions = 0 }: RemovalChecks, now: number): RemovalChecks {
  return { confirmedAt: [], nextAt: now + computeExponentialMs(contradictions, CONTRADICTION_BACKOFF), contradictions: contradictions + 1 };
}

const CONTRADICTION_BACKOFF = { initialMs: 1_000, maxMs: 300_000 };

async function deleteChild({ hub, tracked, clock, signal, isCurrent }: SetRun, { metadata }: StoredToken): Promise<void> {
  const { namespace, name, uid } = metadata;
  if (!isCurrent()) return;
  await ignoreReasons(hub.delete(ManagedTokens, { namespace, name }, { uid, signal }), 'NotFound', 'Conflict');
  tracked.recordRemoval(uid, clock.monotonic());
}

/**
 * Returns whether a ManagedToken must still be removed. Reads the Cluster on the hub, and reviews there the permissions of the requesters
 * of the template and the ManagedToken: an informer that is empty by mistake must not cause removals. A tenant can create ManagedTokens
 * that the set controls, for clusters of any name, so the number of requests must not depend on which Clusters exist.
 */
async function isStillSurplus(run: SetRun, token: StoredToken): Promise<boolean> {
  const { hub, set, authorizer, signal } = run;
  const name = deriveClusterName(set, token);
  if (name === undefined) return true;
  const { items } = await hub.list(Clusters, { fieldSelector: `metadata.name=${name}`, signal });
  const [cluster]: readonly Stored<Cluster>[] = items;
  const isGone = cluster === undefined || !selectsCluster(set, cluster);
  const [wanted, own] = [templateRequestOf(set), issueRequestOf(token)];
  if (run.hasRequester && (await authorizer.review(wanted, name, cluster, signal))) return isGone;
  if (encodeGoJson(own) === encodeGoJson(wanted) || token.spec.clusterName !== name) return true;
  const isPermitted = (await authorizer.hasRequester(own, signal)) && (await authorizer.review(own, name, cluster, signal));
  return isGone || !isPermitted;
}

/**
 * Returns the name of the cluster for which a ManagedToken was created, even if a user has changed the spec; undefined if the name of the
 * ManagedToken does not begin with that of the set. If the name was shortened and the spec was changed, the result names no cluster: a
 * shortened name ends with a hash.
 */
function deriveClusterName({ metadata }: StoredSet, token: StoredToken): string | undefined {
  const { clusterName } = token.spec;
  const { name } = token.metadata;
  if (toChildName(metadata.name, clusterName) === name) return clusterName;
  const prefix = `${metadata.name}-`;
  return name.startsWith(prefix) ? name.slice(prefix.length) : undefined;
}
