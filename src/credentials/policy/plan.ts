// The next step for one credential: restore the Secret with the renewed token, revoke the earlier tokens that are bound to anchors, delete
// anchors of replaced tokens, renew the token, recover with the registered token, or, if Purser does not renew the credential, switch back
// to the registered token and remove the record. Times are by Purser's clock, in milliseconds since the epoch.

import { computeExponentialMs } from '../../std/backoff.ts';
import { computeNextTurnAt } from '../../std/hash.ts';
import { computeOverlapMs, computeRenewalSlotAt, type RenewalTerms, type TokenInUse } from '../../targets/policy/renewal.ts';
import { MAX_REPLACED, type RenewalRecord, type ReplacedAnchor } from '../../targets/policy/renewed-secret.ts';

/** Input of the plan for a credential. */
export interface CredentialObservation {
  /** UID of the registered Secret. */
  readonly uid: string;
  readonly terms: RenewalTerms;
  /** The latest token; undefined if the credential cannot be renewed, or if no registration is usable. */
  readonly token: TokenInUse | undefined;
  /** Record of the latest renewal; undefined before the first renewal, or if no registration is usable. */
  readonly record: RenewalRecord | undefined;
  /** True if the latest token is the one on record, false if it is the registered one. */
  readonly isRenewed: boolean;
  /** An administrator's renewal request; undefined if there is none. */
  readonly renewRequest: string | undefined;
  /** An administrator's revocation request; undefined if there is none. */
  readonly revokeRequest: string | undefined;
  /** True if the hub has lost the latest renewed token, which this process still has. */
  readonly isLost: boolean;
  /** True if the status of a Cluster reports that the credential is rejected. */
  readonly isRejected: boolean;
  /** Interval of probes, in milliseconds. Every replica notices a renewed token within one interval. */
  readonly probeIntervalMs: number;
  /** Start of the controller's term. */
  readonly startedAt: number;
  readonly history: CredentialHistory;
}

/** State after earlier steps of this term. */
export interface CredentialHistory {
  /** Digest of the registered token at the last renewal; empty before the first renewal, and after the renewed token was retired. */
  readonly renewedDigest: string;
  /** Digest of a token that does not belong to a service account; empty if there is none. */
  readonly foreignDigest: string;
  /** UIDs of anchors that were deleted. */
  readonly deletedAnchors: ReadonlySet<string>;
  /** Earliest time of the next renewal or return to the registered token, after a failure or a write. */
  readonly renewNotBefore: number;
  /** Earliest time of the next anchor deletion or revocation, after a failure or a revocation. */
  readonly deleteNotBefore: number;
  /** Earliest time to restore the Secret, after a failure, or a write that the informer may not have received. */
  readonly restoreNotBefore: number;
}

export type CredentialPlan =
  /** `until` is the time of the next step; undefined if no step is due before an observed object changes. */
  | { readonly type: 'wait'; readonly until: number | undefined }
  | { readonly type: 'restore' }
  | { readonly type: 'deleteAnchors'; readonly anchors: readonly ReplacedAnchor[] }
  | { readonly type: 'renew' }
  /** Requests the next token with the registered token, because the renewed token has expired or the cluster rejects the renewed token. */
  | { readonly type: 'recover' }
  /** Revokes all tokens that are bound to anchors, except the token on record, which was obtained for the revocation. */
  | { readonly type: 'revoke' }
  /** Switches back to the registered token. */
  | { readonly type: 'retire' }
  /** Removes the Secret with the record of a retired token, after the anchors on record were deleted. */
  | { readonly type: 'removeRecord' };

/** Returns the first step that is due, or `wait` with the time of the next step. */
export function planCredential(observation: CredentialObservation, now: number): CredentialPlan {
  const steps: readonly Step[] = [
    { at: computeRestoreAt(observation), plan: { type: 'restore' } },
    { at: computeRevokeAt(observation), plan: { type: 'revoke' } },
    planDeletion(observation, now),
    isRenewable(observation) ? planRenewal(observation, now) : planRetirement(observation),
  ];
  const due = steps.find(({ at }) => at <= now);
  if (due !== undefined) return due.plan;
  const nextAt = Math.min(...steps.map(({ at }) => at));
  return { type: 'wait', until: nextAt === Infinity ? undefined : nextAt };
}

/**
 * Returns the delay before the next attempt after consecutive failures, in milliseconds. It grows exponentially up to ten minutes. If
 * `remainingMs`, the remaining validity of the token, is positive, the delay is also at most a fifth of it, but never shorter than the
 * initial delay.
 */
export function computeRetryDelayMs(failures: number, remainingMs: number): number {
  const delayMs = computeExponentialMs(Math.max(failures - 1, 0), BACKOFF);
  return remainingMs > 0 ? Math.min(delayMs, Math.max(remainingMs / 5, BACKOFF.initialMs)) : delayMs;
}

interface Step {
  /** Time at which the step is due; Infinity if the step is not needed. */
  readonly at: number;
  readonly plan: CredentialPlan;
}

/** Minimum time between two attempts, in milliseconds. */
export const MIN_RETRY_MS = 10_000;
const BACKOFF = { initialMs: MIN_RETRY_MS, maxMs: 600_000 };
/** Period over which Purser spreads deletions that an earlier term has probably completed, in milliseconds. */
const REPEAT_MS = 600_000;
/** Time within which a term has probably completed a due deletion, in milliseconds. */
const COMPLETION_MS = 600_000;
/** Maximum time by which a recorded renewal may be in the future, in milliseconds; beyond it, the clock was set back after the renewal. */
const MAX_AHEAD_MS = 300_000;

/**
 * Returns whether Purser renews the credential; false for renewal Manual, for a credential that is not a service account token, and without
 * a usable registration.
 */
function isRenewable({ token, terms }: CredentialObservation): boolean {
  return token !== undefined && terms.isAutomatic;
}

function planRenewal(observation: CredentialObservation, now: number): Step {
  return needsRecovery(observation, now)
    ? { at: observation.history.renewNotBefore, plan: { type: 'recover' } }
    : { at: computeRenewAt(observation, now), plan: { type: 'renew' } };
}

/**
 * Returns the next step of the return to the registered token. The Secret with the record of anchors is removed last, so that no crash
 * loses the record.
 */
function planRetirement({ record, history }: CredentialObservation): Step {
  if (record === undefined) return { at: Infinity, plan: { type: 'retire' } };
  if (record.retiredAt === undefined) return { at: history.renewNotBefore, plan: { type: 'retire' } };
  const isLeft = record.replaced.some(({ uid }) => !history.deletedAnchors.has(uid));
  return { at: isLeft ? Infinity : history.renewNotBefore, plan: { type: 'removeRecord' } };
}

/**
 * Returns whether the renewed token cannot be used: it has expired, or the cluster rejects it, for example because its anchor was deleted.
 */
function needsRecovery({ isRejected, isRenewed, token }: CredentialObservation, now: number): boolean {
  return isRenewed && (isRejected || (token?.expiresAt ?? Infinity) <= now);
}

function computeRestoreAt({ isLost, terms, history }: CredentialObservation): number {
  return isLost && terms.isAutomatic ? history.restoreNotBefore : Infinity;
}

/**
 * Returns the time of a requested revocation; Infinity if there is none. A renewal precedes the revocation; other replicas notice the new
 * token when the cluster rejects the old one.
 */
function computeRevokeAt({ record, isRenewed, isLost, history }: CredentialObservation): number {
  const isPending = isRenewed && !isLost && record?.revokeRequest !== undefined && record.revokeRequest !== record.revoked;
  return isPending ? history.deleteNotBefore : Infinity;
}

/** Returns the deletion of all anchors that are due, or the time at which the first anchor becomes due. */
function planDeletion(observation: CredentialObservation, now: number): Step {
  const { record, history } = observation;
  const left = (record?.replaced ?? [])
    .filter(({ uid }) => !history.deletedAnchors.has(uid))
    .toSorted((a, b) => a.replacedAt - b.replacedAt);
  const excess = left.length - MAX_REPLACED + 1;
  const timed = left.map((anchor, index) => ({ anchor, at: index < excess ? 0 : computeDeleteAt(observation, anchor, now) }));
  const anchors = timed.filter(({ at }) => at <= now).map(({ anchor }) => anchor);
  return { at: Math.max(Math.min(...timed.map(({ at }) => at)), history.deleteNotBefore), plan: { type: 'deleteAnchors', anchors } };
}

function computeDeleteAt(
  { uid, record, terms, probeIntervalMs, startedAt }: CredentialObservation,
  { replacedAt }: ReplacedAnchor,
  now: number,
): number {
  // The clock was set back after the renewal.
  if (record === undefined || replacedAt > now + MAX_AHEAD_MS) return 0;
  const at = replacedAt + computeOverlapMs(terms, record.expiresAt - record.renewedAt, probeIntervalMs);
  const isRepeated = at + COMPLETION_MS < startedAt;
  return isRepeated ? computeNextTurnAt('anchors', uid, startedAt, REPEAT_MS) : at;
}

function computeRenewAt(observation: CredentialObservation, now: number): number {
  const { uid, token, history } = observation;
  if (token === undefined || token.digest === history.foreignDigest) return Infinity;
  const isFirst = token.isSupplied && token.digest !== history.renewedDigest;
  const isAhead = !token.isSupplied && (token.issuedAt ?? 0) > now + MAX_AHEAD_MS;
  const dueAt = isFirst || isAhead || isRequested(observation) ? 0 : (computeRenewalSlotAt(token, uid) ?? Infinity);
  return Math.max(dueAt, history.renewNotBefore);
}

/** Returns whether an administrator requests a renewal or a revocation that is not on record. */
function isRequested({ record, renewRequest, revokeRequest }: CredentialObservation): boolean {
  const isNew = (request: string | undefined, recorded: string | undefined) => request !== undefined && request !== recorded;
  return isNew(renewRequest, record?.renewRequest) || isNew(revokeRequest, record?.revokeRequest);
}
