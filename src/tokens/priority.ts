// Priority of a ManagedToken in the work queue: its lane, its tenant and its deadline.

import { Annotation } from '../api/names.ts';
import type { Priority } from '../runtime/work-queue.ts';
import { parseTimestamp } from '../std/timestamp.ts';
import { dialedCluster } from '../targets/registered-cluster.ts';
import { type HubView, secretKeyOf } from './informers.ts';
import { formerAnchors } from './policy/anchors.ts';
import { parseRecord, requestOf, type TokenRecord } from './policy/record.ts';
import type { StoredToken } from './policy/spec.ts';
import type { TokenDeps } from './run.ts';

/**
 * Returns the priority in the queue. Each dialed cluster is a lane, and each namespace a tenant. Among the ManagedTokens of a namespace,
 * permissions in doubt come first, then tokens by expiry, then renewals and requests, then reconciles without a known cause.
 */
export function priorityOf(key: string, deps: PriorityDeps): Priority {
  const token = deps.view.tokens.get(key);
  const tenant = namespaceOf(key);
  if (token === undefined) return { lane: SHARED_LANE, tenant, deadlineAt: Infinity };
  const needsReview = deps.authority.needsReview(token);
  return { lane: needsReview ? SHARED_LANE : laneOf(token, deps.view), tenant, deadlineAt: deadlineOf(token, needsReview, deps) };
}

/** Returns the namespace in the key of a ManagedToken. */
export function namespaceOf(key: string): string {
  return key.slice(0, Math.max(key.indexOf('/'), 0));
}

/**
 * Returns the lane of a ManagedToken: the cluster that issues its token. ManagedTokens that dial no server, or another one than their spec
 * names, share one lane; otherwise a tenant could open any number of lanes with invented names.
 */
export function laneOf(token: StoredToken, view: HubView): string {
  const registered = view.registered(token.spec.clusterName);
  if (registered === undefined || formerAnchors(token).length > 0) return SHARED_LANE;
  return dialedCluster(registered) ?? SHARED_LANE;
}

const SHARED_LANE = '';

/** Returns the expiry of the token in the Secret of a ManagedToken; undefined without a token. */
export function expiresAt(token: StoredToken | undefined, view: HubView): number | undefined {
  return token && held(token, view)?.record.expiresAt;
}

type PriorityDeps = Pick<TokenDeps, 'view' | 'clock' | 'authority'>;

/** Deadline for a first token, in milliseconds, in a namespace with at most SMALL_NAMESPACE ManagedTokens. */
const FIRST_TOKEN_MS = 60_000;
const SMALL_NAMESPACE = 100;
/** Deadline for a renewal that is due, in milliseconds, unless the token expires earlier. */
const DUE_MS = 60_000;
/** Deadline for every other reconcile, in milliseconds. */
const OTHER_MS = 600_000;

function deadlineOf(token: StoredToken, needsReview: boolean, { view, clock }: PriorityDeps): number {
  const now = clock.now();
  const { deletionTimestamp, namespace } = token.metadata;
  const holding = held(token, view);
  if (deletionTimestamp !== undefined) return now;
  if (holding === undefined) return now + FIRST_TOKEN_MS * Math.max(1, view.countInNamespace(namespace) / SMALL_NAMESPACE);
  const { record, renewAt } = holding;
  if (requestOf(token, Annotation.revoke) !== record.revokeRequest || needsReview) return now;
  // A ManagedToken that is reconciled early may wait until its renewal is due, but must not be last then.
  const dueAt = isRequested(token, record) ? now : Math.max(renewAt, now);
  return Math.min(record.expiresAt, dueAt + DUE_MS, now + OTHER_MS);
}

/** Returns whether a new spec or a rotate request is pending. */
function isRequested(token: StoredToken, { rotateRequest }: TokenRecord): boolean {
  const isNew = token.metadata.generation !== token.status?.observedGeneration;
  return isNew || requestOf(token, Annotation.rotate) !== rotateRequest;
}

interface Holding {
  readonly record: TokenRecord;
  readonly renewAt: number;
}

function held(token: StoredToken, { secrets }: HubView): Holding | undefined {
  const secret = secrets.get(secretKeyOf(token));
  const record = secret?.tokenDigest === undefined ? undefined : parseRecord(secret.metadata.annotations);
  return record && { record, renewAt: parseTimestamp(secret?.metadata.annotations?.[Annotation.renewAt]) ?? record.issuedAt };
}
