// One reconcile of a ManagedToken: observe, plan, execute, until nothing is left to do now; then write the status.

import { ManagedTokens } from '../api/resources.ts';
import { startDeadline } from '../kube/deadline.ts';
import type { Result } from '../runtime/controller.ts';
import { IssueError, toIssueError } from '../targets/issue-error.ts';
import { SLOT_WAIT_MS } from './anchor-deletions.ts';
import { auditStep, countIssuance, eventsOf, shortenedEvents } from './events.ts';
import { execute } from './execute.ts';
import { observe } from './observe.ts';
import { planToken, type TokenPlan } from './policy/plan.ts';
import { type Situation, situationOf, type TokenObservation } from './policy/state.ts';
import { desiredStatus } from './policy/status.ts';
import { laneOfCluster, SHARED_LANE } from './priority.ts';
import { RUN_MS, type Step, type TokenDeps, type TokenRun, toFailure } from './run.ts';
import { refetchSecret } from './secrets.ts';
import { confirmPermission } from './withdrawal.ts';

/** Reconciles a ManagedToken. Throws, after it has reported the cause, if the reconcile must be retried. */
export async function reconcileToken(deps: TokenDeps, key: string, signal: AbortSignal): Promise<Result> {
  const token = deps.view.tokens.get(key);
  if (token === undefined) return {};
  const uid = token.metadata.uid;
  const run: TokenRun = { ...deps, key, uid, tracked: deps.memory.keep(uid), signal };
  run.tracked.requeueAt = undefined;
  run.tracked.isDialing = false;
  run.tracked.limitVerifiedAt(deps.startedAt, deps.clock.now());
  const step = await runUntilDeadline(run, observe(run, token));
  // Withdrawal must not wait for the retry of a failed status write.
  run.tracked.requeueAt = step.requeueAt;
  await writeStatus(run, step);
  if (step.error !== undefined) throw step.error;
  return { requeueAt: step.requeueAt };
}

/** Maximum number of plans in a run; more than any sequence of events needs. */
const MAX_STEPS = 12;
/** Interval between reads of a conflicting Secret that the informer does not deliver, in milliseconds. */
const UNLABELED_MS = 60_000;
const UNFINISHED_MS = 1_000;

/** Runs plans until none is left or the deadline has passed, so that no object holds a slot indefinitely. */
async function runUntilDeadline(run: TokenRun, observed: TokenObservation): Promise<Step> {
  const deadline = startDeadline(run.timers, RUN_MS, run.signal);
  let isInterrupted = false;
  if (mayBeInterrupted(run, observed)) {
    run.tracked.interrupt = () => {
      isInterrupted = true;
      deadline.reset(0);
    };
  }
  try {
    const bounded = { ...run, signal: deadline.signal };
    return await runPlans(bounded, await firstStep(bounded, observed));
  } catch (error) {
    if (!deadline.hasPassed || run.signal.aborted) throw error;
    // Own writes are tracked; the rest of the run is lost.
    const informed = run.view.tokens.get(run.key);
    const latest = informed?.metadata.uid === run.uid ? observe(run, informed) : observed;
    const observation = run.authority.needsReview(latest.token) ? { ...latest, cluster: undefined, issuer: undefined } : latest;
    if (isInterrupted) return { observation, isDone: true, failure: run.tracked.failure, requeueAt: run.clock.now() };
    const timeout = new IssueError('ClusterTimeout', `the run took more than ${RUN_MS / 1_000} s`);
    return requeueEarlier(run, withFailure({ observation, isDone: true, error: timeout }));
  } finally {
    run.tracked.interrupt = undefined;
    deadline.clear();
  }
}

/** Returns whether a run may wait for a cluster before it reviews the permission. A review itself is never interrupted. */
function mayBeInterrupted({ slot, authority }: TokenRun, { token }: TokenObservation): boolean {
  return slot !== undefined && slot.lane !== SHARED_LANE && !authority.needsReview(token);
}

/** Ends a run in progress if its permission is uncertain now, so that the review does not wait for a cluster. */
export function interruptInDoubt(key: string, { view, memory, authority }: TokenDeps): void {
  const token = view.tokens.get(key);
  const { interrupt } = memory.of(token?.metadata.uid ?? '');
  if (token !== undefined && interrupt !== undefined && authority.needsReview(token)) interrupt();
}

/** Reads a conflicting Secret that the informer does not deliver. If that fails, the run proceeds and is retried. */
async function firstStep(run: TokenRun, observation: TokenObservation): Promise<Step> {
  const { unlabeled } = run.tracked;
  const isStale = unlabeled !== undefined && Math.abs(run.clock.now() - unlabeled.seenAt) >= UNLABELED_MS;
  try {
    return { observation: isStale ? await refetchSecret(run, observation) : observation, isDone: false };
  } catch (error) {
    return { observation, isDone: false, error: toIssueError(error, run.signal) };
  }
}

async function runPlans(run: TokenRun, first: Step): Promise<Step> {
  let step = first;
  for (let steps = 0; steps < MAX_STEPS && !step.isDone; steps++) {
    const situation = situationOf(step.observation, run.clock.now());
    const plan = planToken(situation, run.settings.limits);
    const next = await runPlan(run, plan, situation, step.isReviewed === true);
    step = { ...step, isReviewed: false, ...next, events: [...(step.events ?? []), ...(next.events ?? [])] };
    // After a crash, only the status shows which request was handled; without it, the next run would revoke the new token.
    if (plan.type === 'revoke' && next.error === undefined) step = await writeStatus(run, step);
  }
  return requeueEarlier(run, withFailure(step));
}

/** Executes a plan, or requests a review first where the permission is uncertain. */
async function runPlan(run: TokenRun, plan: TokenPlan, situation: Situation, isReviewed: boolean): Promise<Step> {
  const { clock, authority } = run;
  const startedAt = clock.monotonic();
  const isInDoubt = needsPermission(plan) && !isReviewed && authority.needsReview(situation.observation.token);
  if (!isInDoubt && needsOtherSlot(run, plan, situation)) return dialingStep(run, situation);
  const next = isInDoubt ? await confirmPermission(run, situation.observation) : await execute(run, plan, situation, isReviewed);
  if (!isInDoubt && !next.isPending) auditStep(run, plan, situation, next);
  const isAttempt = plan.type === 'issue' && (next.isDone || !isInDoubt) && !next.isPending;
  if (isAttempt) countIssuance(run, plan, next, clock.monotonic() - startedAt);
  return next;
}

/** Returns whether a plan dials the cluster in the spec, and the run holds no slot of that cluster. */
function needsOtherSlot({ slot, view }: TokenRun, { type }: TokenPlan, { observation }: Situation): boolean {
  if (slot === undefined || (type !== 'issue' && type !== 'rewrite' && type !== 'verify')) return false;
  const lane = laneOfCluster(view.registered(observation.token.spec.clusterName));
  return lane !== undefined && lane !== slot.lane;
}

/** Ends the run; the next one continues with a slot of the cluster in the spec. A failure lasts until then. */
function dialingStep({ tracked, clock }: TokenRun, { observation }: Situation): Step {
  tracked.isDialing = true;
  return { observation, isDone: true, failure: tracked.failure, requeueAt: clock.now() };
}

/** Returns whether a plan needs permission: revocation and the deletion of anchors do not, and reveal nothing about a cluster. */
function needsPermission({ type }: TokenPlan): boolean {
  return type !== 'revoke' && type !== 'release' && type !== 'none';
}

/** Returns the step with the failure that its error represents, unless rotation is suspended. */
function withFailure(step: Step): Step {
  const { error, failure, observation } = step;
  if (error === undefined || failure !== undefined || observation.token.spec.rotation.suspend) return step;
  return { ...step, failure: toFailure(error, observation.token) };
}

/** Requests an early reconcile for changes that no watch delivers, for a review to repeat, and for runs that took too many steps. */
function requeueEarlier({ tracked, clock }: TokenRun, step: Step): Step {
  const isUnfinished = tracked.isOvertaken || !step.isDone;
  tracked.clearOvertaken();
  const reviewMs = tracked.reviewAt - clock.monotonic();
  const delayMs = Math.min(
    isUnfinished ? UNFINISHED_MS : Infinity,
    tracked.unlabeled === undefined ? Infinity : UNLABELED_MS,
    tracked.isWaitingForSlot ? SLOT_WAIT_MS : Infinity,
    // A run that needs no permission leaves a due review to the next run that needs one.
    reviewMs > 0 ? reviewMs : Infinity,
  );
  return delayMs === Infinity ? step : { ...step, requeueAt: Math.min(step.requeueAt ?? Infinity, clock.now() + delayMs) };
}

/** Writes the status if it changes, and records events. Returns the step with the ManagedToken as written. */
async function writeStatus(run: TokenRun, step: Step): Promise<Step> {
  const { tracked, clock, hub, recorder, settings, signal } = run;
  const { issued: _, events: __, revoked, ...rest } = step;
  const { token } = step.observation;
  const next = desiredStatus(situationOf(step.observation, clock.now()), { failure: step.failure, revoked });
  const change = { previous: token.status ?? {}, next };
  for (const event of eventsOf(step, change, tracked.failure)) recorder.record(token, event);
  for (const event of shortenedEvents(step, change, { limits: settings.limits, before: tracked.shortened })) {
    recorder.record(token, event);
    tracked.shortened = event.message;
  }
  tracked.failure = step.failure;
  const isGoing = token.metadata.deletionTimestamp !== undefined && !token.metadata.finalizers?.length;
  if (next === token.status || isGoing) return rest;
  tracked.status = next;
  const response = await hub.updateStatus(ManagedTokens, { ...token, status: next }, { signal });
  return { ...rest, observation: { ...step.observation, token: tracked.recordTokenWrite(response, token, clock.now()) } };
}
