// Carries out one plan. Only here, where tokens are written and verified, and where people are answered, is the text of one seen.

import { Annotation } from '../api/names.ts';
import { IssueError } from '../targets/issue-error.ts';
import { leave, RETRY_MS, recordAnchor, release, revoke, unlistedNotes } from './anchors.ts';
import type { TokenDeps } from './deps.ts';
import { deleteSecrets, lookAgain, stripSecret } from './hub-secrets.ts';
import { unrevokedNotes } from './notes.ts';
import { latestToken, withRegistration } from './observe.ts';
import { formerAnchors } from './policy/anchors.ts';
import type { TokenObservation } from './policy/observation.ts';
import type { HoldPlan, IssuePlan, TokenPlan } from './policy/plan.ts';
import { nextLookAt } from './policy/plan-token.ts';
import { recordOf, requestOf } from './policy/record.ts';
import { tokenState } from './policy/state.ts';
import { digestOf } from './reduce-secret.ts';
import { isRepair, pausedStep, repaired, repairPauseMs } from './repairs.ts';
import { rejectIfOpen, rejectUnusable, requestToken } from './request-token.ts';
import { failureOf, type Step } from './step.ts';
import { verify } from './verify.ts';
import { refuse } from './withdrawal.ts';
import { rewrite, writeToken } from './write-token.ts';

/** Carries out a plan. What the world refuses is part of the step; conflicts and defects are thrown. */
export async function act(deps: TokenDeps, plan: TokenPlan, begun: Step, signal: AbortSignal): Promise<Step> {
  try {
    return await carryOut(deps, plan, begun, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof IssueError)) throw error;
    return continuedStep(deps, plan, failedStep(deps, begun.observation, error), error);
  }
}

/** The end of a run that failed. It is tried again, unless only a change can help: that wakes the ManagedToken anyway. */
function failedStep(deps: TokenDeps, before: TokenObservation, error: IssueError): Step {
  const now = deps.clock.now();
  // The finalizer and the place of an anchor may have been written.
  const observation = { ...before, token: latestToken(deps, before.token) };
  const failed = { observation, isDone: true, failure: failureOf(error, before.token) };
  if (!error.isLasting) return { ...failed, error };
  return { ...failed, requeueAt: nextLookAt(now, [tokenState(observation, now).record?.expiresAt]) };
}

/**
 * Lets the run go on without a revocation, release or issuance that failed: the permission still has to be checked, a token may have
 * to leave the Secret, and anchors may have to be deleted.
 */
function continuedStep(deps: TokenDeps, plan: TokenPlan, failed: Step, error: IssueError): Step {
  const observation = { ...failed.observation, ...(failed.failure && { failed: failed.failure }) };
  // All anchors have just been tried.
  if (plan.type === 'revoke' || plan.type === 'release') {
    return { observation: { ...observation, anchorsAt: deps.clock.now() + RETRY_MS }, isDone: false, error };
  }
  const isSuperseded = plan.type === 'issue' && (plan.dropOld || formerAnchors(observation.token).length > 0);
  return isSuperseded ? { ...failed, observation, isDone: false, isReviewed: true } : failed;
}

async function carryOut(deps: TokenDeps, plan: TokenPlan, { observation, isReviewed }: Step, signal: AbortSignal): Promise<Step> {
  switch (plan.type) {
    case 'none':
      return { observation, isDone: true, failure: deps.memory.of(observation.token.metadata.uid ?? '').failure };
    case 'wait':
      return { observation, isDone: true, requeueAt: plan.until };
    case 'hold':
      return await hold(deps, plan, observation, signal);
    case 'issue':
      return await issue(deps, plan, { observation, isReviewed: isReviewed === true }, signal);
    case 'rewrite':
      return await rewrite(deps, plan, observation, signal);
    case 'remove':
      return { observation: await deleteSecrets(deps, observation, plan.secrets, signal), isDone: false };
    case 'revoke':
      return await revoke(deps, observation, plan, signal);
    case 'leave':
      return await leave(deps, observation, plan.places, signal);
    case 'release':
      return await release(deps, observation, plan.anchor, signal);
    case 'verify':
      return await verify(deps, observation, signal);
  }
}

async function hold(deps: TokenDeps, plan: HoldPlan, observation: TokenObservation, signal: AbortSignal): Promise<Step> {
  const { strip, until } = plan;
  const { metadata, spec } = observation.token;
  // What is too soon to be tried again still fails.
  const failure = plan.failure ?? (spec.rotation.suspend ? undefined : deps.memory.of(metadata.uid ?? '').failure);
  const held = strip ? await stripSecret(deps, observation, signal) : observation;
  const pausedMs = strip ? repairPauseMs(deps, observation.token) : 0;
  // The anchors of a token that has left the Secret follow.
  const isDone = held === observation || formerAnchors(observation.token).length === 0;
  return { observation: held, isDone, failure, requeueAt: pausedMs > 0 ? deps.clock.now() + pausedMs : until };
}

interface Reviewed {
  readonly observation: TokenObservation;
  readonly isReviewed: boolean;
}

async function issue(deps: TokenDeps, plan: IssuePlan, { observation, isReviewed }: Reviewed, signal: AbortSignal): Promise<Step> {
  const { token } = observation;
  const paused = pausedStep(deps, plan, observation);
  if (paused !== undefined) return plan.dropOld ? { ...paused, observation: await stripSecret(deps, observation, signal) } : paused;
  // A Secret that was there may have lost our label instead of its life.
  if (plan.write === 'create' && token.status?.issuedAt !== undefined) {
    const seen = await lookAgain(deps, observation, signal);
    if (seen.secret !== undefined) return { observation: seen, isDone: false };
  }
  if (isReviewed) return await issueAllowed(deps, plan, observation, signal);
  return await issueIfAllowed(deps, plan, observation, signal);
}

/** Requests the review of this issuance. The last known permission stands, so an open circuit may be reported before. */
async function issueIfAllowed(deps: TokenDeps, plan: IssuePlan, observation: TokenObservation, signal: AbortSignal): Promise<Step> {
  const { token } = observation;
  await rejectIfOpen(deps, token);
  const review = await deps.authority.review(token, signal);
  if (review.allowed) return await issueAllowed(deps, plan, observation, signal);
  const failed = { reason: 'Forbidden', message: review.message } as const;
  return { failure: failed, ...(await refuse(deps, observation, review, signal)) };
}

async function issueAllowed(deps: TokenDeps, plan: IssuePlan, observation: TokenObservation, signal: AbortSignal): Promise<Step> {
  rejectUnusable(deps, observation.token);
  const { token, notes: orphaned } = await recordAnchor(deps, observation.token, signal);
  const { grant, isAccountNew, cluster, outputs } = await requestToken(deps, plan, { ...observation, token }, signal);
  deps.memory.of(token.metadata.uid ?? '').issued(deps.clock);
  const record = recordOf({ token, cluster, grant, tokenDigest: digestOf(grant.token.reveal()), previous: plan.previous });
  const holder = { record, token: grant.token, outputs };
  const isUndone = isRepair(deps, plan, observation);
  const current = withRegistration(deps, { ...observation, token });
  const { observation: written, isWritten } = await writeToken(deps, plan, { observation: current, holder }, signal);
  if (!isWritten) return { observation: written, isDone: false };
  deps.memory.of(token.metadata.uid ?? '').issuedDigest = record.tokenDigest;
  if (isUndone) repaired(deps, token);
  const issued = isAccountNew ? 'AccountRecreated' : plan.reason;
  // Whatever could not be found out before no longer matters.
  const notes = [...orphaned, ...unrevokedNotes(plan, token), ...unlistedNotes(deps, token, plan.previous)];
  // A token that follows a revocation is not the one to be revoked.
  const revoked = plan.freshAnchor ? requestOf(token, Annotation.revoke) : undefined;
  return {
    observation: { ...written, ...(revoked && { revoked }) },
    isDone: false,
    issued,
    notes,
    failure: undefined,
    error: undefined,
  };
}
