// One reconcile of a ManagedToken: observe, plan, execute, until nothing is left to do now; then write the status. Issuance, anchors and
// withdrawal have their own files.

import { ManagedTokens } from '../api/resources.ts';
import { startDeadline } from '../kube/deadline.ts';
import type { Result } from '../runtime/controller.ts';
import { computeDigest } from '../std/digest.ts';
import { Sensitive } from '../std/sensitive.ts';
import { IssueError, toIssueError } from '../targets/issue-error.ts';
import { isIssuedWith } from '../targets/policy/registration.ts';
import { toIssuingCredential } from '../targets/registry.ts';
import { reviewToken } from '../targets/reviews.ts';
import { AnchorsPendingError, SLOT_WAIT_MS } from './anchor-deletions.ts';
import { ANCHOR_RETRY_MS, pruneAnchors, release, revoke } from './anchors.ts';
import { auditStep, countIssuance, deriveEvents, shortenedEvents } from './events.ts';
import { checkOutputs, issue, writeIssued } from './issue.ts';
import { observe, resolveOutputs, withRegistration } from './observe.ts';
import type { OutputContent } from './outputs/outputs.ts';
import { formerAnchors } from './policy/anchors.ts';
import { type HoldPlan, planToken, type RewritePlan, type TokenPlan } from './policy/plan.ts';
import { parseRecord, type TokenRecord } from './policy/record.ts';
import { deriveTokenState, type EvaluatedToken, evaluateToken, hasCurrentToken, type TokenObservation } from './policy/state.ts';
import { desiredStatus } from './policy/status.ts';
import { laneOfCluster, SHARED_LANE } from './priority.ts';
import { decodeToken, reduceSecret } from './reduce.ts';
import { latestToken, RUN_MS, type Step, type TokenDeps, type TokenRun, toFailedStep, toFailure } from './run.ts';
import { deleteSecrets, readSecret, recordRepair, refetchSecret, repairPauseMs, stripSecret, toPausedStep } from './secrets.ts';
import type { VerificationResult } from './verification.ts';
import { handleRefusal, hideCluster, withoutCluster } from './withdrawal.ts';

/**
 * Reconciles a ManagedToken. If a step fails with an error that requires a retry, reports the failure in the status and throws the error.
 * Throws other errors, such as conflicts, without a report.
 */
export async function reconcileToken(deps: TokenDeps, key: string, signal: AbortSignal): Promise<Result> {
  const token = deps.view.tokens.get(key);
  if (token === undefined) return {};
  const uid = token.metadata.uid;
  const run: TokenRun = { ...deps, key, uid, tracked: deps.memory.keep(uid), signal };
  run.tracked.requeueAt = undefined;
  run.tracked.isDialing = false;
  run.tracked.limitVerifiedAt(deps.startedAt, deps.clock.now());
  const step = await runUntilDeadline(run, observe(run, token));
  // If the status write fails, its retry must not delay a withdrawal.
  run.tracked.requeueAt = step.requeueAt;
  await writeStatus(run, step);
  if (step.error !== undefined) throw step.error;
  deps.memory.endRun(uid);
  return { requeueAt: step.requeueAt };
}

/** Maximum number of plans in a run; more than any run needs. */
const MAX_STEPS = 12;
/** Interval between reads of a Secret that the informer does not deliver, because the Secret lacks Purser's label, in milliseconds. */
const UNLABELED_MS = 60_000;
const UNFINISHED_MS = 1_000;

/** Runs plans until none is left, the deadline has passed or the run is interrupted, so that no object holds a slot indefinitely. */
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
    return await runPlans(bounded, await prepareFirstStep(bounded, observed));
  } catch (error) {
    if (!deadline.hasPassed || run.signal.aborted) throw error;
    // Purser's own writes are tracked; the rest of the run is lost.
    const informed = run.view.tokens.get(run.key);
    const latest = informed?.metadata.uid === run.uid ? observe(run, informed) : observed;
    const observation = run.authorizer.needsReview(latest.token) ? { ...latest, cluster: undefined, issuingCredential: undefined } : latest;
    if (isInterrupted) return { observation, isDone: true, failure: run.tracked.failure, requeueAt: run.clock.now() };
    const timeout = new IssueError('ClusterTimeout', `the run took more than ${RUN_MS / 1_000} s`);
    return requeueEarlier(run, withFailure({ observation, isDone: true, error: timeout }));
  } finally {
    run.tracked.interrupt = undefined;
    deadline.clear();
  }
}

/** Returns whether a run can be interrupted: it may wait for a cluster, and it does not start with a review. */
function mayBeInterrupted({ slot, authorizer }: TokenRun, { token }: TokenObservation): boolean {
  return slot !== undefined && slot.lane !== SHARED_LANE && !authorizer.needsReview(token);
}

/** Interrupts a ManagedToken's run if its permission must be reviewed again, so that the review does not wait for a target cluster. */
export function interruptForReview(key: string, { view, memory, authorizer }: TokenDeps): void {
  const token = view.tokens.get(key);
  const { interrupt } = memory.of(token?.metadata.uid ?? '');
  if (token !== undefined && interrupt !== undefined && authorizer.needsReview(token)) interrupt();
}

/**
 * Returns the first step of a run. At most once a minute, reads a Secret again that the informer does not deliver, because the Secret lacks
 * Purser's label. If the read fails, the run continues, and is retried later.
 */
async function prepareFirstStep(run: TokenRun, observation: TokenObservation): Promise<Step> {
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
    const evaluated = evaluateToken(step.observation, run.clock.now());
    const plan = planToken(evaluated, run.settings.limits);
    const next = await runPlan(run, plan, evaluated, step.isReviewed === true);
    step = { ...step, isReviewed: false, ...next, events: [...(step.events ?? []), ...(next.events ?? [])] };
    // After a crash, only the status shows which request was handled. Without this write, the next run would revoke the new token.
    if (plan.type === 'revoke' && next.error === undefined) step = await writeStatus(run, step);
  }
  return requeueEarlier(run, withFailure(step));
}

/**
 * Executes a plan. If the plan needs permission, and the permission is uncertain, requests a review instead; if the review allows the
 * token, the next step plans again. If the plan needs a slot that the run does not hold, ends the run.
 */
async function runPlan(run: TokenRun, plan: TokenPlan, evaluated: EvaluatedToken, isReviewed: boolean): Promise<Step> {
  const { clock, authorizer } = run;
  const startedAt = clock.monotonic();
  const isInDoubt = needsPermission(plan) && !isReviewed && authorizer.needsReview(evaluated.observation.token);
  if (!isInDoubt && needsOtherSlot(run, plan, evaluated)) return toDialingStep(run, evaluated);
  const next = isInDoubt ? await confirmPermission(run, evaluated.observation) : await execute(run, plan, evaluated, isReviewed);
  if (!isInDoubt && !next.isPending) auditStep(run, plan, evaluated, next);
  const isAttempt = plan.type === 'issue' && (next.isDone || !isInDoubt) && !next.isPending;
  if (isAttempt) countIssuance(run, plan, next, clock.monotonic() - startedAt);
  return next;
}

/**
 * Requests a review of an uncertain permission, before any action or report that depends on the Cluster. A review that fails is
 * retried and removes no token, except one that must leave the Secret anyway, such as an expired token.
 */
async function confirmPermission(run: TokenRun, observation: TokenObservation): Promise<Step> {
  try {
    const review = await run.authorizer.review(observation.token, run.signal);
    if (review.allowed) {
      run.tracked.reviewedClusterSet = review.clusterSet;
      return { observation, isDone: false, isReviewed: true };
    }
    // While the Secret holds a valid token, the refusal is not reported yet: a deployment tool may replace the binding within seconds.
    const state = deriveTokenState(withoutCluster(observation), run.clock.now());
    const forbidden = { reason: 'Forbidden', message: review.message } as const;
    const failure = hasCurrentToken(state) && !state.expired ? run.tracked.failure : forbidden;
    // Drops the error of an earlier step: the next review must not wait for the retry after that error.
    return { failure, error: undefined, ...(await handleRefusal(run, observation, review)) };
  } catch (error) {
    const failure = toIssueError(error, run.signal);
    return { observation: await hideCluster(run, observation), isDone: true, error: failure };
  }
}

/** Returns whether a plan dials the cluster in the spec, and the run holds no slot of that cluster. */
function needsOtherSlot({ slot, view }: TokenRun, { type }: TokenPlan, { observation }: EvaluatedToken): boolean {
  if (slot === undefined || (type !== 'issue' && type !== 'rewrite' && type !== 'verify')) return false;
  const lane = laneOfCluster(view.registry.registered(observation.token.spec.clusterName));
  return lane !== undefined && lane !== slot.lane;
}

/** Ends a run that needs a slot of the cluster in the spec. The next run has that slot; the reported failure stays until then. */
function toDialingStep({ tracked, clock }: TokenRun, { observation }: EvaluatedToken): Step {
  tracked.isDialing = true;
  return { observation, isDone: true, failure: tracked.failure, requeueAt: clock.now() };
}

/** Returns whether a plan needs permission. Plans to revoke or to release do not: they reveal nothing about a cluster. */
function needsPermission({ type }: TokenPlan): boolean {
  return type !== 'revoke' && type !== 'release' && type !== 'none';
}

/** Adds the failure for the error of a step, unless the step already has a failure or rotation is suspended. */
function withFailure(step: Step): Step {
  const { error, failure, observation } = step;
  if (error === undefined || failure !== undefined || observation.token.spec.rotation.suspend) return step;
  return { ...step, failure: toFailure(error, observation.token) };
}

/**
 * Requests an earlier reconcile for changes to the Secret that trigger none, for anchor deletions that wait for a slot, for a review to
 * repeat, and for a run that was not finished.
 */
function requeueEarlier({ tracked, clock }: TokenRun, step: Step): Step {
  const isUnfinished = tracked.isOvertaken || !step.isDone;
  tracked.clearOvertaken();
  const reviewMs = tracked.reviewAt - clock.monotonic();
  const delayMs = Math.min(
    isUnfinished ? UNFINISHED_MS : Infinity,
    tracked.unlabeled === undefined ? Infinity : UNLABELED_MS,
    tracked.isWaitingForSlot ? SLOT_WAIT_MS : Infinity,
    // A review that is already due waits for the next run that needs permission.
    reviewMs > 0 ? reviewMs : Infinity,
  );
  return delayMs === Infinity ? step : { ...step, requeueAt: Math.min(step.requeueAt ?? Infinity, clock.now() + delayMs) };
}

/** Writes the status if it changes, and records events. Returns the step with the ManagedToken as written. */
async function writeStatus(run: TokenRun, step: Step): Promise<Step> {
  const { tracked, clock, hub, recorder, settings, signal } = run;
  const { issued: _, events: __, revoked, ...rest } = step;
  const { token } = step.observation;
  const next = desiredStatus(evaluateToken(step.observation, clock.now()), { failure: step.failure, revoked });
  const change = { previous: token.status ?? {}, next };
  for (const event of deriveEvents(step, change, tracked.failure)) recorder.record(token, event);
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

/**
 * Executes a plan. `isReviewed` is true if a review in this run allowed an issuance. An IssueError becomes part of the step; other errors,
 * such as conflicts, are thrown.
 */
async function execute(run: TokenRun, plan: TokenPlan, evaluated: EvaluatedToken, isReviewed: boolean): Promise<Step> {
  try {
    return await executePlan(run, plan, evaluated, isReviewed);
  } catch (error) {
    if (error instanceof AnchorsPendingError) return toPendingStep(run, plan, evaluated);
    return proceed(run, plan, evaluated, toIssueError(error, run.signal));
  }
}

/**
 * Returns the step of a failed plan. The run proceeds after a revocation or release, because the permission must still be confirmed, and
 * after an issuance if the old token must leave the Secret or former anchors must be deleted. Other failures end the run.
 */
function proceed(run: TokenRun, plan: TokenPlan, { observation, ...evaluated }: EvaluatedToken, error: IssueError): Step {
  // The failed plan may have written the finalizer and status.anchors.
  const current = { ...observation, token: latestToken(run, observation.token) };
  const failed = toFailedStep(run, { ...evaluated, observation: current }, error);
  const next = { ...current, ...(failed.failure && { failed: failed.failure }) };
  // These plans have just tried to delete all anchors.
  if (plan.type === 'revoke' || plan.type === 'release') {
    return { observation: { ...next, anchorsAt: run.clock.now() + ANCHOR_RETRY_MS }, isDone: false, error };
  }
  const isSuperseded = plan.type === 'issue' && (plan.mustDropOld || formerAnchors(current.token).length > 0);
  return isSuperseded ? { ...failed, observation: next, isDone: false, isReviewed: true } : failed;
}

/**
 * Returns the step of a plan that waits for the deletion of anchors on other clusters. The run proceeds, unless the plan issues a token:
 * the permission must be confirmed, and a renewal may be due.
 */
function toPendingStep(run: TokenRun, { type }: TokenPlan, { observation }: EvaluatedToken): Step {
  const token = latestToken(run, observation.token);
  return {
    observation: { ...observation, token, isDeletingAnchors: true },
    isDone: type === 'issue',
    isPending: true,
    failure: run.tracked.failure,
  };
}

async function executePlan(run: TokenRun, plan: TokenPlan, evaluated: EvaluatedToken, isReviewed: boolean): Promise<Step> {
  const { observation } = evaluated;
  switch (plan.type) {
    case 'none':
      return { observation, isDone: true, failure: run.tracked.failure };
    case 'wait':
      return { observation, isDone: true, requeueAt: plan.until };
    case 'hold':
      return await hold(run, plan, observation);
    case 'issue':
      return await issue(run, plan, evaluated, isReviewed);
    case 'rewrite':
      return await rewrite(run, plan, evaluated);
    case 'remove':
      return { observation: await deleteSecrets(run, observation, plan.secrets), isDone: false };
    case 'revoke':
      return await revoke(run, evaluated, plan);
    case 'prune':
      return await pruneAnchors(run, observation, plan.entries);
    case 'release':
      return await release(run, evaluated, plan.anchor);
    case 'verify':
      return await verify(run, evaluated);
  }
}

async function hold(run: TokenRun, { failure, mustStrip, until }: HoldPlan, observation: TokenObservation): Promise<Step> {
  const { token } = observation;
  const held = mustStrip ? await stripSecret(run, observation) : observation;
  const pausedMs = mustStrip ? repairPauseMs(run, token) : 0;
  return {
    observation: held,
    // Later plans delete the anchors of the removed token, and other Secrets.
    isDone: held === observation || (formerAnchors(token).length === 0 && held.former.length === 0),
    // The reported failure stays until the next attempt.
    failure: failure ?? (token.spec.rotation.suspend ? undefined : run.tracked.failure),
    requeueAt: pausedMs > 0 ? run.clock.now() + pausedMs : until,
  };
}

/** Rewrites the current token in the outputs that the spec and the Cluster now require. */
async function rewrite(run: TokenRun, plan: RewritePlan, evaluated: EvaluatedToken): Promise<Step> {
  const { observation } = evaluated;
  const { token } = observation;
  const paused = toPausedStep(run, plan, evaluated);
  if (paused !== undefined) return paused;
  const found = await readSecret(run, token, plan.from);
  const text = found === undefined ? '' : decodeToken(found);
  const { secret, former } = observation;
  const isFormer = plan.from !== secret?.metadata.name;
  const fresh = found && reduceSecret(found);
  const rest = former.filter(({ metadata }) => metadata.name !== plan.from);
  const latest = withRegistration(run, observation);
  const current: TokenObservation = isFormer ? { ...latest, former: fresh ? [fresh, ...rest] : rest } : { ...latest, secret: fresh };
  const isSame = plan.record.tokenDigest === computeDigest(text) && parseRecord(fresh?.metadata.annotations) !== undefined;
  const outputs = isSame ? await resolveAcceptedOutputs(run, current, plan.record, new Sensitive(text)) : undefined;
  if (outputs === undefined) return { observation: current, isDone: false };
  const written = await writeIssued(run, current, { record: plan.record, token: new Sensitive(text), outputs }, plan.write);
  if (written === undefined) return { observation: await refetchSecret(run, current), isDone: false };
  recordRepair(run, token);
  return { observation: written, isDone: false };
}

/**
 * Returns the outputs for an existing token; undefined if the Cluster was not found, if the token was issued with another Cluster object or
 * credential, or if outputs cannot be written. Throws an IssueError if the API server of the cluster does not accept the audiences of the
 * token.
 */
async function resolveAcceptedOutputs(
  run: TokenRun,
  { token, unwritable }: TokenObservation,
  { issuedFor }: TokenRecord,
  text: Sensitive<string>,
): Promise<OutputContent | undefined> {
  const { view, clients } = run;
  const registered = view.registry.registered(token.spec.clusterName);
  if (registered === undefined || unwritable !== undefined || !isIssuedWith(issuedFor, toIssuingCredential(registered))) return undefined;
  const outputs = resolveOutputs(token, clients.endpointsOf(registered));
  try {
    await clients.use(registered, (target) => checkOutputs(run, target, token, { token: text, audiences: issuedFor.audiences }));
  } catch (error) {
    // A Secret is repaired even while its cluster does not respond.
    if (toIssueError(error, run.signal).reason === 'AudienceNotAccepted') throw error;
  }
  return outputs;
}

/** Verifies the token with a TokenReview on its cluster. If the review itself fails, the earlier verdict stays. */
async function verify(run: TokenRun, evaluated: EvaluatedToken): Promise<Step> {
  const { clock, tracked, verification, log } = run;
  const { token } = evaluated.observation;
  const { tokenDigest } = evaluated.state.secret ?? {};
  tracked.verifiedAt = clock.now();
  const verified = await reviewStoredToken(run, evaluated).catch((error: unknown): VerificationResult => {
    const { reason } = toIssueError(error, run.signal);
    log.debug({ error, reason }, 'token verification failed');
    return reason === 'TargetForbidden' ? 'forbidden' : 'skipped';
  });
  verification.record(token, verified);
  const isReviewed = verified === 'accepted' || verified === 'rejected';
  if (isReviewed && tokenDigest !== undefined) tracked.verdict = { tokenDigest, accepted: verified === 'accepted' };
  const { verdict, verifiedAt } = tracked;
  return { observation: { ...evaluated.observation, verdict, verifyAt: verification.nextAt(token, verifiedAt) }, isDone: false };
}

/** Verifies the token in the Secret with a TokenReview on its cluster; returns `skipped` if the Secret or the registration has changed. */
async function reviewStoredToken(run: TokenRun, { observation, state: { secret, record } }: EvaluatedToken): Promise<VerificationResult> {
  const { token } = observation;
  if (record === undefined || secret === undefined) return 'skipped';
  const found = await readSecret(run, token, secret.metadata.name);
  const registered = run.view.registry.registered(token.spec.clusterName);
  if (registered === undefined || found === undefined) return 'skipped';
  // The Cluster may have changed: the token is sent only to addresses pinned by the credential that it was issued with.
  if (!isIssuedWith(record.issuedFor, toIssuingCredential(registered))) return 'skipped';
  const text = decodeToken(found);
  if (computeDigest(text) !== secret.tokenDigest) return 'skipped';
  const { subject, audiences } = record.issuedFor;
  const request = { token: new Sensitive(text), subject, audiences };
  const isAccepted = await run.clients.use(registered, (target) => reviewToken(target, request, run.signal));
  return isAccepted ? 'accepted' : 'rejected';
}
