// Executes one plan. Issuance, revocation and withdrawal have their own files.

import { digestOf } from '../std/digest.ts';
import { Sensitive } from '../std/sensitive.ts';
import { type IssueError, toIssueError } from '../targets/issue-error.ts';
import { isIssuedWith } from '../targets/policy/issued-for.ts';
import { issuerOf } from '../targets/registered-cluster.ts';
import { reviewToken } from '../targets/reviews.ts';
import { AnchorsPending } from './anchor-deletions.ts';
import { pruneAnchors, RETRY_MS, release, revoke } from './anchors.ts';
import { checkOutputs, issue, writeIssued } from './issue.ts';
import { latestToken, outputsOf, withRegistration } from './observe.ts';
import type { OutputTarget } from './outputs/forms.ts';
import { formerAnchors } from './policy/anchors.ts';
import type { HoldPlan, RewritePlan, TokenPlan } from './policy/plan.ts';
import { parseRecord, type TokenRecord } from './policy/record.ts';
import type { Situation, TokenObservation } from './policy/state.ts';
import { reduceSecret, tokenOf } from './reduce.ts';
import { failedStep, type Step, type TokenRun } from './run.ts';
import { deleteSecrets, pausedStep, readSecret, recordRepair, refetchSecret, repairPauseMs, stripSecret } from './secrets.ts';
import type { Verified } from './verification.ts';

/**
 * Executes a plan. `isReviewed` is true if a review of this run allowed an issuance. Failures of hub and target are part of the step;
 * conflicts and defects are thrown.
 */
export async function execute(run: TokenRun, plan: TokenPlan, situation: Situation, isReviewed: boolean): Promise<Step> {
  try {
    return await executePlan(run, plan, situation, isReviewed);
  } catch (error) {
    if (error instanceof AnchorsPending) return pendingStep(run, plan, situation);
    return proceed(run, plan, situation, toIssueError(error, run.signal));
  }
}

/**
 * Lets the run proceed after a failed revocation, release or issuance: the permission must still be confirmed, a token may have to leave
 * the Secret, and former anchors may have to be deleted. Other failures end the run.
 */
function proceed(run: TokenRun, plan: TokenPlan, { observation, ...situation }: Situation, error: IssueError): Step {
  // The finalizer and the location of an anchor may have been written.
  const current = { ...observation, token: latestToken(run, observation.token) };
  const failed = failedStep(run, { ...situation, observation: current }, error);
  const next = { ...current, ...(failed.failure && { failed: failed.failure }) };
  // These plans have just tried to delete all anchors.
  if (plan.type === 'revoke' || plan.type === 'release') {
    return { observation: { ...next, anchorsAt: run.clock.now() + RETRY_MS }, isDone: false, error };
  }
  const isSuperseded = plan.type === 'issue' && (plan.dropOld || formerAnchors(current.token).length > 0);
  return isSuperseded ? { ...failed, observation: next, isDone: false, isReviewed: true } : failed;
}

/** Lets the run proceed while anchors are deleted on other clusters: the permission must be confirmed, and a renewal may be due. */
function pendingStep(run: TokenRun, { type }: TokenPlan, { observation }: Situation): Step {
  const token = latestToken(run, observation.token);
  return {
    observation: { ...observation, token, isDeletingAnchors: true },
    isDone: type === 'issue',
    isPending: true,
    failure: run.tracked.failure,
  };
}

async function executePlan(run: TokenRun, plan: TokenPlan, situation: Situation, isReviewed: boolean): Promise<Step> {
  const { observation } = situation;
  switch (plan.type) {
    case 'none':
      return { observation, isDone: true, failure: run.tracked.failure };
    case 'wait':
      return { observation, isDone: true, requeueAt: plan.until };
    case 'hold':
      return await hold(run, plan, observation);
    case 'issue':
      return await issue(run, plan, situation, isReviewed);
    case 'rewrite':
      return await rewrite(run, plan, situation);
    case 'remove':
      return { observation: await deleteSecrets(run, observation, plan.secrets), isDone: false };
    case 'revoke':
      return await revoke(run, situation, plan);
    case 'prune':
      return await pruneAnchors(run, observation, plan.places);
    case 'release':
      return await release(run, situation, plan.anchor);
    case 'verify':
      return await verify(run, situation);
  }
}

async function hold(run: TokenRun, { failure, strip, until }: HoldPlan, observation: TokenObservation): Promise<Step> {
  const { token } = observation;
  const held = strip ? await stripSecret(run, observation) : observation;
  const pausedMs = strip ? repairPauseMs(run, token) : 0;
  return {
    observation: held,
    // Later plans delete the anchors of the removed token, and other Secrets.
    isDone: held === observation || (formerAnchors(token).length === 0 && held.former.length === 0),
    // A failure lasts until the next attempt.
    failure: failure ?? (token.spec.rotation.suspend ? undefined : run.tracked.failure),
    requeueAt: pausedMs > 0 ? run.clock.now() + pausedMs : until,
  };
}

/** Rewrites the current token in the outputs that the spec and the Cluster now require. */
async function rewrite(run: TokenRun, plan: RewritePlan, situation: Situation): Promise<Step> {
  const { observation } = situation;
  const { token } = observation;
  const paused = pausedStep(run, plan, situation);
  if (paused !== undefined) return paused;
  const found = await readSecret(run, token, plan.from);
  const text = found === undefined ? '' : tokenOf(found);
  const { secret, former } = observation;
  const isFormer = plan.from !== secret?.metadata.name;
  const fresh = found && reduceSecret(found);
  const rest = former.filter(({ metadata }) => metadata.name !== plan.from);
  const registered = withRegistration(run, observation);
  const current: TokenObservation = isFormer
    ? { ...registered, former: fresh ? [fresh, ...rest] : rest }
    : { ...registered, secret: fresh };
  const isSame = plan.record.tokenDigest === digestOf(text) && parseRecord(fresh?.metadata.annotations) !== undefined;
  const outputs = isSame ? await outputsFor(run, current, plan.record, new Sensitive(text)) : undefined;
  if (outputs === undefined) return { observation: current, isDone: false };
  const written = await writeIssued(run, current, { record: plan.record, token: new Sensitive(text), outputs }, plan.write);
  if (written === undefined) return { observation: await refetchSecret(run, current), isDone: false };
  recordRepair(run, token);
  return { observation: written, isDone: false };
}

/** Returns the outputs for an existing token; undefined if its credential no longer covers the Cluster. */
async function outputsFor(
  run: TokenRun,
  { token, unwritable }: TokenObservation,
  { issuedFor }: TokenRecord,
  text: Sensitive<string>,
): Promise<OutputTarget | undefined> {
  const { view, clients } = run;
  const registered = view.registered(token.spec.clusterName);
  if (registered === undefined || unwritable !== undefined || !isIssuedWith(issuedFor, issuerOf(registered))) return undefined;
  const outputs = outputsOf(token, clients.endpointsOf(registered));
  try {
    await clients.use(registered, (target) => checkOutputs(run, target, token, { token: text, audiences: issuedFor.audiences }));
  } catch (error) {
    // A Secret is repaired even while its cluster does not respond.
    if (toIssueError(error, run.signal).reason === 'AudienceNotAccepted') throw error;
  }
  return outputs;
}

/** Verifies the token with a TokenReview on its cluster. A failed review has no effect. */
async function verify(run: TokenRun, situation: Situation): Promise<Step> {
  const { clock, tracked, verification, log } = run;
  const { token } = situation.observation;
  const { tokenDigest } = situation.state.secret ?? {};
  tracked.verifiedAt = clock.now();
  const verified = await reviewSecret(run, situation).catch((error: unknown): Verified => {
    const { reason } = toIssueError(error, run.signal);
    log.debug({ error, reason }, 'token verification failed');
    return reason === 'TargetForbidden' ? 'forbidden' : 'skipped';
  });
  verification.record(token, verified);
  const isReviewed = verified === 'accepted' || verified === 'rejected';
  if (isReviewed && tokenDigest !== undefined) tracked.verdict = { tokenDigest, accepted: verified === 'accepted' };
  const { verdict, verifiedAt } = tracked;
  return { observation: { ...situation.observation, verdict, verifyAt: verification.nextAt(token, verifiedAt) }, isDone: false };
}

/** Returns whether the target accepts the token; `skipped` if the Secret or the registration has changed. */
async function reviewSecret(run: TokenRun, { observation, state: { secret, record } }: Situation): Promise<Verified> {
  const { token } = observation;
  if (record === undefined || secret === undefined) return 'skipped';
  const found = await readSecret(run, token, secret.metadata.name);
  const registered = run.view.registered(token.spec.clusterName);
  if (registered === undefined || found === undefined) return 'skipped';
  // The Cluster may have changed: the token is sent only to addresses that its own credential pins.
  if (!isIssuedWith(record.issuedFor, issuerOf(registered))) return 'skipped';
  const text = tokenOf(found);
  if (digestOf(text) !== secret.tokenDigest) return 'skipped';
  const { subject, audiences } = record.issuedFor;
  const request = { token: new Sensitive(text), subject, audiences };
  const isAccepted = await run.clients.use(registered, (target) => reviewToken(target, request, run.signal));
  return isAccepted ? 'accepted' : 'rejected';
}
