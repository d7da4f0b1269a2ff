// One look at a ManagedToken: observe, decide, act, until nothing is left to be done now; then tell what came of it.

import { ManagedTokens } from '../api/resources.ts';
import { startDeadline } from '../kube/deadline.ts';
import type { Result } from '../runtime/controller.ts';
import { IssueError } from '../targets/issue-error.ts';
import { act } from './act.ts';
import { auditStep } from './audit.ts';
import { countIssuance } from './count-issuance.ts';
import type { TokenDeps } from './deps.ts';
import { lookAgain } from './hub-secrets.ts';
import { notesOf, shortenedNotes } from './notes.ts';
import { observe } from './observe.ts';
import type { TokenObservation } from './policy/observation.ts';
import type { TokenPlan } from './policy/plan.ts';
import { planToken } from './policy/plan-token.ts';
import { isHeld, tokenState } from './policy/state.ts';
import { desiredStatus } from './policy/status.ts';
import { failureOf, type Step } from './step.ts';
import { refuse, withoutKnowledge } from './withdrawal.ts';

/** Makes the reconcile of ManagedTokens. A run that has to be tried again throws, after it has told why. */
export function createReconcile(deps: TokenDeps): (key: string, signal: AbortSignal) => Promise<Result> {
  return async (key, signal) => {
    const observed = observe(deps, key);
    if (observed === undefined) return {};
    const step = await runBounded(deps, key, observed, signal);
    await told(deps, step, signal);
    if (step.error !== undefined) throw step.error;
    return { requeueAt: step.requeueAt };
  };
}

/** More than any order of events needs. */
const MAX_STEPS = 12;
/** How often a Secret in our way is looked at that no watch tells of. */
const UNLABELLED_MS = 60_000;
const UNFINISHED_MS = 1_000;

/** Longest time for all requests of one run; the status follows. */
const RUN_MS = 60_000;

/** Runs plans until none is left or the time is up: one object must not hold a slot without end. */
async function runBounded(deps: TokenDeps, key: string, observed: TokenObservation, signal: AbortSignal): Promise<Step> {
  const deadline = startDeadline(deps.timers, RUN_MS, signal);
  try {
    return await pursue(deps, await begin(deps, observed, deadline.signal), deadline.signal);
  } catch (error) {
    if (!deadline.hasPassed || signal.aborted) throw error;
    // Our own writes are known; the rest of the run is lost.
    const latest = observe(deps, key) ?? observed;
    const observation = deps.authority.isDoubtful(latest.token) ? { ...latest, cluster: undefined } : latest;
    return withReason({ observation, isDone: true, error: new IssueError('ClusterTimeout', `the run took more than ${RUN_MS / 1_000} s`) });
  } finally {
    deadline.clear();
  }
}

async function pursue(deps: TokenDeps, begun: Step, signal: AbortSignal): Promise<Step> {
  let step = begun;
  for (let steps = 0; steps < MAX_STEPS && !step.isDone; steps++) {
    const plan = planToken(step.observation, deps.clock.now(), deps.settings.limits);
    const next = await runPlan(deps, plan, step, signal);
    step = { ...step, isReviewed: false, ...next, notes: [...(step.notes ?? []), ...(next.notes ?? [])] };
    // A run that follows a crash must know what was revoked: it would revoke the next token, too.
    if (plan.type === 'revoke' && next.error === undefined) step = await told(deps, step, signal);
  }
  return earlier(withReason(step), deps);
}

/** Carries out a plan, or requests a review first where the permission is in doubt. */
async function runPlan(deps: TokenDeps, plan: TokenPlan, step: Step, signal: AbortSignal): Promise<Step> {
  const startedAt = deps.clock.monotonic();
  const isUnconfirmed = needsPermission(plan) && step.isReviewed !== true && deps.authority.isDoubtful(step.observation.token);
  const next = isUnconfirmed ? await confirm(deps, step, signal) : await act(deps, plan, step, signal);
  if (!isUnconfirmed) auditStep(deps, plan, step.observation, next);
  const isAttempt = plan.type === 'issue' && (next.isDone || !isUnconfirmed);
  if (isAttempt) countIssuance(deps, plan, next, deps.clock.monotonic() - startedAt);
  return next;
}

/** Revocation and the end of anchors need no permission, and say nothing of a cluster. */
function needsPermission({ type }: TokenPlan): boolean {
  return type !== 'revoke' && type !== 'release' && type !== 'none';
}

/**
 * Requests a review where the permission is in doubt, before anything is done or reported that depends on the Cluster. A review
 * that fails removes nothing and is tried again; a token that expired leaves the Secret all the same.
 */
async function confirm(deps: TokenDeps, { observation }: Step, signal: AbortSignal): Promise<Step> {
  const { token } = observation;
  try {
    const review = await deps.authority.review(token, signal);
    if (review.allowed) return { observation, isDone: false, isReviewed: true };
    // While the Secret holds a valid token, a binding that is replaced within seconds is not reported.
    const state = tokenState({ ...observation, cluster: undefined }, deps.clock.now());
    const forbidden = { reason: 'Forbidden', message: review.message } as const;
    const failure = isHeld(state) && !state.expired ? deps.memory.of(token.metadata.uid ?? '').failure : forbidden;
    // The second review must not wait for the retry of something else that failed.
    return { failure, error: undefined, ...(await refuse(deps, observation, review, signal)) };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof IssueError)) throw error;
    return { observation: await withoutKnowledge(deps, observation, signal), isDone: true, error };
  }
}

/** A run that is tried again says why; one whose rotation is suspended has nothing to complain about. */
function withReason(step: Step): Step {
  const { error, failure, observation } = step;
  if (error === undefined || failure !== undefined || observation.token.spec.rotation.suspend) return step;
  return { ...step, failure: failureOf(error, observation.token) };
}

/** Reads a conflicting Secret again that no informer sees; where that fails, the run goes on and is tried again. */
async function begin(deps: TokenDeps, observation: TokenObservation, signal: AbortSignal): Promise<Step> {
  const { unlabelled } = deps.memory.of(observation.token.metadata.uid ?? '');
  const isStale = unlabelled !== undefined && Math.abs(deps.clock.now() - unlabelled.seenAt) >= UNLABELLED_MS;
  try {
    return { observation: isStale ? await lookAgain(deps, observation, signal) : observation, isDone: false };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof IssueError)) throw error;
    return { observation, isDone: false, error };
  }
}

/** What no watch tells of is looked at again after a while, and what took too many steps soon. */
function earlier(step: Step, { memory, clock }: TokenDeps): Step {
  const recollection = memory.of(step.observation.token.metadata.uid ?? '');
  const isUnfinished = recollection.wasOvertaken() || !step.isDone;
  if (!isUnfinished && recollection.unlabelled === undefined) return step;
  const againMs = isUnfinished ? UNFINISHED_MS : UNLABELLED_MS;
  return { ...step, requeueAt: Math.min(step.requeueAt ?? Infinity, clock.now() + againMs) };
}

/** Writes the status if it changes, and records events. The step goes on with the ManagedToken as it then is. */
async function told(deps: TokenDeps, step: Step, signal: AbortSignal): Promise<Step> {
  const { token } = step.observation;
  const recollection = deps.memory.of(token.metadata.uid ?? '');
  const { issued: _, notes: __, revoked, ...rest } = step;
  const previous = token.status ?? {};
  const next = desiredStatus(
    step.observation,
    { failure: step.failure, revoked, issuedDigest: recollection.issuedDigest },
    deps.clock.now(),
  );
  for (const note of notesOf(step, { previous, next }, recollection.failure)) deps.recorder.record(token, note);
  const { limits } = deps.settings;
  for (const note of shortenedNotes(step, { previous, next }, { limits, before: recollection.shortened })) {
    deps.recorder.record(token, note);
    recollection.shortened = note.message;
  }
  recollection.failure = step.failure;
  const isGoing = token.metadata.deletionTimestamp !== undefined && !token.metadata.finalizers?.length;
  if (next === token.status || isGoing) return rest;
  recollection.status = next;
  const answer = await deps.hub.updateStatus(ManagedTokens, { ...token, status: next }, { signal });
  return { ...rest, observation: { ...step.observation, token: recollection.wroteToken(answer, token, deps.clock.now()) } };
}
