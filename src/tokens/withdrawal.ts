// Withdrawal of permission, after a review that denied it: further reviews for at least 15 s, then the removal of the Secret, unless a
// removal limit delays or pauses the removal.

import type { EventContent } from '../kube/recorder.ts';
import { computeExponentialMs } from '../std/backoff.ts';
import { AnchorsPendingError } from './anchor-deletions.ts';
import { dropAnchors, reportUnlistedAnchor, writeRemainingAnchors } from './anchors.ts';
import type { Refusal } from './authorizer.ts';
import { auditWithdrawal } from './events.ts';
import { anchorsOf } from './policy/anchors.ts';
import { formatWithdrawnMessage, heldRemovalFailure, pendingWithdrawalFailure, type TokenFailure } from './policy/messages.ts';
import { mustStripToken } from './policy/plan.ts';
import type { StoredToken } from './policy/spec.ts';
import {
  type EvaluatedToken,
  evaluateToken,
  hasCurrentToken,
  hasIssuedToken,
  ownedSecretNames,
  type TokenObservation,
  type TokenState,
} from './policy/state.ts';
import { decideWithdrawal, type WithdrawalAction } from './policy/withdrawal.ts';
import type { SecretRemovalDecision } from './removal-limits.ts';
import type { Step, TokenRun } from './run.ts';
import { findStray, stripSecret, withdrawSecrets } from './secrets.ts';

/**
 * Acts on a review that denied permission. The result does not depend on the Cluster: to a requester without permission, missing and
 * unhealthy clusters look the same.
 */
export async function handleRefusal(run: TokenRun, observation: TokenObservation, refusal: Refusal): Promise<Step> {
  const { hidden, isStripped } = await hideCluster(run, observation).then(
    (stripped) => ({ hidden: stripped, isStripped: true }),
    (error: unknown) => {
      run.signal.throwIfAborted();
      // A tenant cannot prevent the refusal with changes to the Secret: the withdrawal deletes the Secret in any version.
      run.log.debug({ error }, 'token of a refused requester not removed from the Secret');
      return { hidden: withoutCluster(observation), isStripped: false };
    },
  );
  const step = await withdraw(run, hidden, refusal);
  return isStripped ? step : { ...step, requeueAt: Math.min(step.requeueAt ?? Infinity, run.clock.now() + STRIP_MS) };
}

/** Delay before the next attempt to remove a token from a Secret, in milliseconds. */
const STRIP_MS = 5_000;

/** Removes a token that must leave the Secret regardless of the review, and returns the observation without the Cluster. */
export async function hideCluster(run: TokenRun, observation: TokenObservation): Promise<TokenObservation> {
  const hidden = withoutCluster(observation);
  return mustStripToken(hidden, run.clock.now()) ? await stripSecret(run, hidden) : hidden;
}

/** Returns the observation without the Cluster, about which a requester without permission must learn nothing. */
export function withoutCluster(observation: TokenObservation): TokenObservation {
  return { ...observation, cluster: undefined, issuingCredential: undefined };
}

async function withdraw(run: TokenRun, observed: TokenObservation, refusal: Refusal): Promise<Step> {
  const observation = await findStray(run, observed);
  const { tracked, removals, clock } = run;
  const { message } = refusal;
  const { state, now } = evaluateToken(observation, clock.now());
  const { token } = observation;
  const forbidden: TokenFailure = { reason: 'Forbidden', message };
  if (ownedSecretNames(observation).length === 0 && anchorsOf(token).length === 0) {
    tracked.forgetRefusals();
    const released = await writeRemainingAnchors(run, token, []);
    tracked.writtenSecret = undefined;
    return {
      observation: { ...observation, token: released, writtenSecret: undefined },
      isDone: true,
      failure: forbidden,
      requeueAt: now + nextReviewMs(run, refusal),
    };
  }
  const countedIn = state.isLast && hasIssuedToken(state) ? token.metadata.namespace : undefined;
  tracked.recordRefusal(now, { countedIn, isSelfCaused: refusal.isRequesterMissing || isForAnotherRequest(token, state) });
  const next = decideWithdrawal(tracked.refusedAt, now);
  if (next.type !== 'remove') return { observation, isDone: true, ...toPendingFields(next, state, message) };
  const removal = await removals.check(token, tracked);
  if (removal.type !== 'allowed') return toHeldStep(run, observation, removal, message);
  return { ...(await remove(run, observation, message)), isDone: true, failure: forbidden, requeueAt: now + nextReviewMs(run, refusal) };
}

/**
 * Returns whether the spec, for example its requester, has changed since the token was issued. Such a change means that a mistake in RBAC
 * is not the cause of the refusal.
 */
function isForAnotherRequest({ spec }: StoredToken, { record, superseded }: TokenState): boolean {
  return superseded === 'SpecChanged' || (record !== undefined && record.issuedFor.requester !== spec.requesterServiceAccountName);
}

/** Returns the failure to report and the time of the next review, while the withdrawal is undecided. */
function toPendingFields(
  next: Exclude<WithdrawalAction, { type: 'remove' }>,
  state: TokenState,
  message: string,
): Pick<Step, 'failure' | 'requeueAt'> {
  if (next.type === 'keep') return { requeueAt: undefined };
  const isReported = next.isReported && hasCurrentToken(state) && !state.expired;
  return { ...(isReported && { failure: pendingWithdrawalFailure(message) }), requeueAt: next.at };
}

/** Interval between reviews of a refused token, in milliseconds; RBAC is watched, other authorizers are not. */
const FORBIDDEN_MS = 300_000;
/** First interval between reviews after an unexpected refusal, in milliseconds. */
const FIRST_INTERVAL_MS = 1_000;

/**
 * Returns the delay before the next review, in milliseconds: short after an unexpected refusal, because a new binding can reach Purser
 * before it reaches the hub's authorizer.
 */
function nextReviewMs({ tracked }: TokenRun, { isUnexpected }: Refusal): number {
  if (!isUnexpected) return FORBIDDEN_MS;
  return computeExponentialMs(tracked.countUnexpectedRefusal(), { initialMs: FIRST_INTERVAL_MS, maxMs: FORBIDDEN_MS });
}

const HELD_MS = 60_000;

function toHeldStep(
  run: TokenRun,
  observation: TokenObservation,
  removal: Exclude<SecretRemovalDecision, { type: 'allowed' }>,
  message: string,
): Step {
  const reason = removal.type === 'paused' ? 'MassWithdrawal' : 'RemovalDelayed';
  run.removals.logHeld(observation.token, reason);
  run.metrics?.recordHeldRemoval(removal.type === 'paused' ? 'global' : 'namespace');
  const failure = heldRemovalFailure(reason, message);
  const requeueAt = Math.min(run.clock.now() + HELD_MS, removal.type === 'delayed' ? removal.until : Infinity);
  return { observation, isDone: true, failure, requeueAt };
}

async function remove(run: TokenRun, observation: TokenObservation, forbidden: string): Promise<Pick<Step, 'observation' | 'events'>> {
  const { token } = observation;
  const { tracked } = run;
  const entries = anchorsOf(token);
  const evaluated = evaluateToken(observation, run.clock.now());
  const isContinued = tracked.isRemoved;
  const isReported = ownedSecretNames(observation).length > 0 && !isContinued;
  // Concurrently: a target that does not respond must not delay the removal of the Secret, nor must the hub delay the deletion of anchors.
  const [secrets, anchors] = await Promise.allSettled([removeSecrets(run, evaluated), dropAnchors(run, token, entries)]);
  if (secrets.status === 'rejected') throw secrets.reason;
  const removed = secrets.value;
  const withdrawn: readonly EventContent[] = isReported
    ? [{ type: 'Warning', reason: 'Withdrawn', message: formatWithdrawnMessage(forbidden) }]
    : [];
  const unlisted = reportUnlistedAnchor(run, token, evaluated.state);
  if (anchors.status === 'rejected') {
    if (!(anchors.reason instanceof AnchorsPendingError)) throw anchors.reason;
    // The run after the deletions resumes the removal: the refusals stay recorded until then.
    return { observation: removed, events: [...withdrawn, ...unlisted] };
  }
  const { left, events } = anchors.value;
  // Without a Secret, only the deletion of an anchor is audited: retries of a failing deletion must not repeat the audit entry.
  if (!isReported && !isContinued && left.length < entries.length) auditWithdrawal(run, evaluated);
  // The next reconcile retries the deletion of the anchors that are left.
  const written = entries.length > 0 ? await writeRemainingAnchors(run, removed.token, left) : removed.token;
  // Last, because a conflict above must not restart the reviews.
  tracked.forgetRefusals();
  return { observation: { ...removed, token: written }, events: [...withdrawn, ...events, ...unlisted] };
}

/** Removes the Secrets, and audits and counts the removal once. */
async function removeSecrets(run: TokenRun, evaluated: EvaluatedToken): Promise<TokenObservation> {
  const names = ownedSecretNames(evaluated.observation);
  const removed = await withdrawSecrets(run, evaluated.observation, names);
  if (names.length === 0 || run.tracked.isRemoved) return removed;
  auditWithdrawal(run, evaluated);
  run.removals.recordRemoval(run.tracked);
  run.tracked.recordRemoval();
  return removed;
}
