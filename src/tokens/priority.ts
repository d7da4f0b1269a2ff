// Priority of a ManagedToken in the work queue: its lane, its tenant and its deadline.

import { Annotation } from '../api/names.ts';
import { namespaceOf } from '../kube/paths.ts';
import type { Priority } from '../runtime/work-queue.ts';
import { parseTimestamp } from '../std/timestamp.ts';
import { dialedClusterOf, type RegisteredCluster } from '../targets/registry.ts';
import { parseDeletionKey } from './anchor-deletions.ts';
import { type HubView, secretKeyOf } from './informers.ts';
import { formerAnchors } from './policy/anchors.ts';
import { parseRecord, requestOf, type TokenRecord } from './policy/record.ts';
import type { StoredToken } from './policy/spec.ts';
import type { TokenDeps } from './run.ts';

/**
 * Returns the priority in the queue. Each dialed cluster is a lane, and each namespace a tenant. Deadlines:
 * - now for a deletion, a removal in progress, and a revocation or an uncertain permission of an issued token;
 * - a minute for a due renewal, a changed spec and a requested rotation;
 * - a minute, or longer in a large namespace, for a Secret without a token or without a valid record;
 * - ten minutes for any other reconcile, or a minute after the time of renewal if that is earlier.
 * No deadline of an issued token is later than its expiry.
 */
export function priorityOf(key: string, deps: PriorityDeps): Priority {
  const { tokenKey = key, lane } = parseDeletionKey(key) ?? {};
  const token = deps.view.tokens.get(tokenKey);
  const tenant = namespaceOf(key);
  if (token === undefined) return { lane: lane ?? SHARED_LANE, tenant, deadlineAt: Infinity };
  const needsReview = deps.authorizer.needsReview(token);
  return { lane: lane ?? selectNextLane(token, needsReview, deps), tenant, deadlineAt: computeDeadlineAt(token, needsReview, deps) };
}

function selectNextLane(token: StoredToken, needsReview: boolean, { view, memory }: PriorityDeps): string {
  if (needsReview) return SHARED_LANE;
  const isDialing = memory.of(token.metadata.uid).isDialing;
  return isDialing ? (laneOfCluster(view.registry.registered(token.spec.clusterName)) ?? SHARED_LANE) : laneOf(token, view);
}

/**
 * Returns the default lane of the runs of a ManagedToken: that of the cluster that issues its token. For ManagedTokens with former anchors,
 * and for those without a dialed cluster, returns the shared lane: a tenant could otherwise open any number of lanes with invented names.
 * Runs in the shared lane dial no cluster, so that reviews of withdrawn permissions never wait for a cluster.
 */
export function laneOf(token: StoredToken, view: HubView): string {
  return formerAnchors(token).length > 0 ? SHARED_LANE : (laneOfCluster(view.registry.registered(token.spec.clusterName)) ?? SHARED_LANE);
}

/** Returns the lane of runs that dial a cluster; undefined if Purser connects to no server for it. */
export function laneOfCluster(registered: RegisteredCluster | undefined): string | undefined {
  return registered && dialedClusterOf(registered);
}

/** Lane of runs that dial no cluster. */
export const SHARED_LANE = '';

/** Returns the expiry of the token in the Secret of a ManagedToken; undefined if the Secret holds no token, or no valid record. */
export function findExpiry(token: StoredToken | undefined, view: HubView): number | undefined {
  return token && findHolding(token, view)?.record.expiresAt;
}

type PriorityDeps = Pick<TokenDeps, 'view' | 'clock' | 'authorizer' | 'memory'>;

/**
 * Deadline for a Secret without a token in a namespace with at most SMALL_NAMESPACE ManagedTokens, in milliseconds; longer in a larger one.
 */
const FIRST_TOKEN_MS = 60_000;
const SMALL_NAMESPACE = 100;
/** Deadline for a due renewal, a changed spec or a requested rotation, in milliseconds, unless the token expires earlier. */
const DUE_MS = 60_000;
/** Deadline for every other reconcile, in milliseconds. */
const OTHER_MS = 600_000;

function computeDeadlineAt(token: StoredToken, needsReview: boolean, { view, clock, memory }: PriorityDeps): number {
  const now = clock.now();
  const { deletionTimestamp, namespace } = token.metadata;
  const holding = findHolding(token, view);
  if (deletionTimestamp !== undefined || memory.of(token.metadata.uid).isRemoved) return now;
  if (holding === undefined) return now + FIRST_TOKEN_MS * Math.max(1, view.countInNamespace(namespace) / SMALL_NAMESPACE);
  const { record, renewAt } = holding;
  const revokeRequest = requestOf(token, Annotation.revoke);
  // If the token cannot be revoked, only the status contains the last request.
  const isHandled = revokeRequest === token.status?.lastRevokeRequest;
  if (needsReview || (!isHandled && isPending(revokeRequest, record.revokeRequest))) return now;
  // A ManagedToken that is reconciled early may wait until its renewal is due, but not much longer.
  const dueAt = isRequested(token, record) ? now : Math.max(renewAt, now);
  return Math.min(record.expiresAt, dueAt + DUE_MS, now + OTHER_MS);
}

/** Returns whether a new spec or a rotate request is pending. */
function isRequested(token: StoredToken, { rotateRequest }: TokenRecord): boolean {
  const isNew = token.metadata.generation !== token.status?.observedGeneration;
  return isNew || isPending(requestOf(token, Annotation.rotate), rotateRequest);
}

/** Returns whether a request is pending. After a user has removed its annotation, a request is no longer pending. */
function isPending(request: string | undefined, recorded: string | undefined): boolean {
  return request !== undefined && request !== recorded;
}

/** Record of the token in a Secret, and the time of renewal. */
interface Holding {
  readonly record: TokenRecord;
  readonly renewAt: number;
}

function findHolding(token: StoredToken, { secrets }: HubView): Holding | undefined {
  const secret = secrets.get(secretKeyOf(token));
  const record = secret?.tokenDigest === undefined ? undefined : parseRecord(secret.metadata.annotations);
  return record && { record, renewAt: parseTimestamp(secret?.metadata.annotations?.[Annotation.renewAt]) ?? record.issuedAt };
}
