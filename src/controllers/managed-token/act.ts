// Carries out one plan. Only here, and where people are answered, is the text of a token seen.

import { planToken } from '../../domain/plan-token.ts';
import { nextVerifyAt } from '../../domain/rotation.ts';
import type { TokenObservation } from '../../domain/token-observation.ts';
import type { HoldPlan, IssuePlan, RewritePlan, TokenPlan } from '../../domain/token-plan.ts';
import { parseRecord, recordOf, type TokenRecord } from '../../domain/token-record.ts';
import { desiredSecret } from '../../domain/token-secret.ts';
import { tokenState } from '../../domain/token-state.ts';
import { IssueError } from '../../issuers/issue-error.ts';
import { reviewToken } from '../../issuers/token-review.ts';
import { Sensitive } from '../../std/sensitive.ts';
import { leaveAnchor, release, revoke, withFinalizer } from './anchors.ts';
import type { TokenDeps } from './deps.ts';
import { deleteSecrets, lookAgain, readSecret, stripSecret, writeSecret } from './hub-secrets.ts';
import { targetOf } from './observe.ts';
import { digestOf, reduceSecret, tokenOf } from './reduce-secret.ts';
import { isRepair, pausedStep, repaired, repairPauseMs } from './repairs.ts';
import { rejectIfOpen, requestToken } from './request-token.ts';
import { failureOf, type Step } from './step.ts';
import { withdraw } from './withdrawal.ts';

/** Carries out a plan. What the world refuses is part of the step; conflicts and defects are thrown. */
export async function act(deps: TokenDeps, plan: TokenPlan, observation: TokenObservation, signal: AbortSignal): Promise<Step> {
  try {
    return await carryOut(deps, plan, observation, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof IssueError)) throw error;
    return { observation, isDone: true, failure: failureOf(error), error };
  }
}

const MAX_WRITES = 4;

async function carryOut(deps: TokenDeps, plan: TokenPlan, observation: TokenObservation, signal: AbortSignal): Promise<Step> {
  switch (plan.type) {
    case 'none':
      return { observation, isDone: true };
    case 'wait':
      return { observation, isDone: true, requeueAt: plan.until };
    case 'hold':
      return await hold(deps, plan, observation, signal);
    case 'issue':
      return await issue(deps, plan, observation, signal);
    case 'rewrite':
      return await rewrite(deps, plan, observation, signal);
    case 'remove':
      return { observation: await deleteSecrets(deps, observation, plan.secrets, signal), isDone: false };
    case 'revoke':
      return await revoke(deps, observation, plan, signal);
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
  return { observation: held, isDone: true, failure, requeueAt: pausedMs > 0 ? deps.clock.now() + pausedMs : until };
}

async function issue(deps: TokenDeps, plan: IssuePlan, observation: TokenObservation, signal: AbortSignal): Promise<Step> {
  const { token } = observation;
  const paused = pausedStep(deps, plan, observation);
  if (paused !== undefined) return paused;
  // A Secret that was there may have lost our label instead of its life.
  if (plan.write === 'create' && token.status?.issuedAt !== undefined) {
    const seen = await lookAgain(deps, observation, signal);
    if (seen.secret !== undefined) return { observation: seen, isDone: false };
  }
  try {
    return await issueIfAllowed(deps, plan, observation, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof IssueError) || !plan.dropOld) throw error;
    return { observation: await stripSecret(deps, observation, signal), isDone: true, failure: failureOf(error), error };
  }
}

async function issueIfAllowed(deps: TokenDeps, plan: IssuePlan, observation: TokenObservation, signal: AbortSignal): Promise<Step> {
  const { token } = observation;
  // Whoever may not have the token is not told how the cluster is; for all others, one that is left alone costs no review.
  if (!deps.authority.isDoubtful(token)) await rejectIfOpen(deps, token);
  const review = await deps.authority.review(token, signal);
  if (review.allowed) return await issueAllowed(deps, plan, observation, signal);
  const rest = plan.dropOld ? await stripSecret(deps, observation, signal) : observation;
  const failed = { reason: 'Forbidden', message: review.message } as const;
  return { failure: failed, ...(await withdraw(deps, rest, review.message, signal)) };
}

async function issueAllowed(deps: TokenDeps, plan: IssuePlan, observation: TokenObservation, signal: AbortSignal): Promise<Step> {
  const token = await withFinalizer(deps, observation.token, signal);
  const { grant, isAccountNew } = await requestToken(deps, plan, { ...observation, token }, signal);
  deps.memory.of(token.metadata.uid ?? '').issued(deps.clock);
  const cluster = observation.cluster;
  if (cluster === undefined) throw new IssueError('ClusterNotFound');
  const record = recordOf({ token, cluster, grant, tokenDigest: digestOf(grant.token.reveal()), previous: plan.previous });
  const holder = { record, token: grant.token };
  const isUndone = isRepair(deps, plan, observation);
  const { observation: written, isWritten } = await write(deps, plan, { observation: { ...observation, token }, holder }, signal);
  if (!isWritten) return { observation: written, isDone: false };
  if (isUndone) repaired(deps, token);
  const notes = await leaveAnchor(deps, written, plan.previous, signal);
  const issued = isAccountNew ? 'AccountRecreated' : plan.reason;
  // Whatever could not be found out before no longer matters.
  return { observation: written, isDone: false, issued, notes, failure: undefined, error: undefined };
}

interface Holder {
  readonly record: TokenRecord;
  readonly token: Sensitive<string>;
}

/** Writes a token. When the Secret is not what it was, decides again: a token that is no longer needed is dropped. */
async function write(
  deps: TokenDeps,
  plan: Pick<IssuePlan, 'write'>,
  { observation, holder }: { readonly observation: TokenObservation; readonly holder: Holder },
  signal: AbortSignal,
): Promise<{ readonly observation: TokenObservation; readonly isWritten: boolean }> {
  const { lastIssuedAt: _, ...seen } = observation;
  let current: TokenObservation = seen;
  let how = plan.write;
  for (let writes = 1; writes <= MAX_WRITES; writes++) {
    const secret = await writeSecret(deps, current, { wanted: wantedSecret(deps, current, holder), write: how }, signal);
    if (secret !== undefined) return { observation: { ...current, secret }, isWritten: true };
    current = await lookAgain(deps, current, signal);
    const again = planToken(current, deps.clock.now(), deps.settings.limits);
    if (again.type !== 'issue') return { observation: current, isWritten: false };
    how = again.write;
  }
  throw new IssueError('SecretWriteFailed', 'somebody else changes it all the time');
}

function wantedSecret(deps: TokenDeps, { token, cluster, secret }: TokenObservation, holder: Holder) {
  if (cluster === undefined) throw new IssueError('ClusterNotFound');
  const target = targetOf(token, cluster, deps.settings.ownAddress);
  return desiredSecret({ token, record: holder.record, target, ...(secret && { existing: secret.metadata }) })(holder.token.reveal());
}

/** The token that is there, in the forms that are wanted now. */
async function rewrite(deps: TokenDeps, plan: RewritePlan, observation: TokenObservation, signal: AbortSignal): Promise<Step> {
  const { token } = observation;
  const paused = pausedStep(deps, plan, observation);
  if (paused !== undefined) return paused;
  const found = await readSecret(deps, token, plan.from, signal);
  const text = found === undefined ? '' : tokenOf(found);
  const { secret, former } = observation;
  const isFormer = plan.from !== secret?.metadata.name;
  const fresh = found && reduceSecret(found);
  const rest = former.filter(({ metadata }) => metadata.name !== plan.from);
  const seen: TokenObservation = isFormer ? { ...observation, former: fresh ? [fresh, ...rest] : rest } : { ...observation, secret: fresh };
  const isSame = plan.record.tokenDigest === digestOf(text) && parseRecord(fresh?.metadata.annotations) !== undefined;
  if (!isSame) return { observation: seen, isDone: false };
  const wanted = wantedSecret(deps, seen, { record: plan.record, token: new Sensitive(text) });
  const written = await writeSecret(deps, seen, { wanted, write: plan.write }, signal);
  if (written === undefined) return { observation: await lookAgain(deps, seen, signal), isDone: false };
  repaired(deps, token);
  return { observation: { ...seen, secret: written }, isDone: false };
}

/** Puts the token to the target. Where that cannot be had, nothing is known, and nothing follows. */
async function verify(deps: TokenDeps, observation: TokenObservation, signal: AbortSignal): Promise<Step> {
  const { token } = observation;
  const recollection = deps.memory.of(token.metadata.uid ?? '');
  const now = deps.clock.now();
  const verifyAt = nextVerifyAt(token.metadata.uid ?? '', now, deps.settings.verifyIntervalMs);
  const { verifyAt: _, ...rest } = observation;
  const next = { ...rest, ...(verifyAt !== undefined && { verifyAt }) };
  recollection.verifiedAt = now;
  try {
    const accepted = await isAccepted(deps, observation, signal);
    const { tokenDigest } = tokenState(observation, now).secret ?? {};
    if (accepted === undefined || tokenDigest === undefined) return { observation: next, isDone: false };
    recollection.verdict = { tokenDigest, accepted };
    return { observation: { ...next, verdict: recollection.verdict }, isDone: false };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof IssueError)) throw error;
    deps.log.debug({ error, reason: error.reason }, 'a token could not be verified');
    return { observation: next, isDone: false };
  }
}

/** Undefined when the Secret is no longer the one that was observed. */
async function isAccepted(deps: TokenDeps, observation: TokenObservation, signal: AbortSignal): Promise<boolean | undefined> {
  const { token } = observation;
  const { secret, record } = tokenState(observation, deps.clock.now());
  const registered = deps.view.registered(token.spec.clusterName);
  const found = await readSecret(deps, token, secret?.metadata.name ?? '', signal);
  if (registered === undefined || record === undefined || found === undefined) return undefined;
  const text = tokenOf(found);
  if (digestOf(text) !== secret?.tokenDigest) return undefined;
  const request = { token: new Sensitive(text), subject: record.issuedFor.subject, audiences: token.spec.audiences };
  return await deps.clients.use(registered, (target) => reviewToken(target, request, signal));
}
