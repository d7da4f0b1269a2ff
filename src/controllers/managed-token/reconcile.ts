// One look at a ManagedToken: observe, decide, act, until nothing is left to be done now; then tell what came of it.

import { ManagedTokens } from '../../api/resources.ts';
import { planToken } from '../../domain/plan-token.ts';
import { isOwnedBy } from '../../domain/token-metadata.ts';
import type { TokenObservation } from '../../domain/token-observation.ts';
import { judgedSecret } from '../../domain/token-state.ts';
import { desiredStatus } from '../../domain/token-status.ts';
import { IssueError } from '../../issuers/issue-error.ts';
import type { Result } from '../../runtime/controller.ts';
import { act } from './act.ts';
import { auditStep } from './audit.ts';
import { countIssuance } from './count-issuance.ts';
import type { TokenDeps } from './deps.ts';
import { lookAgain } from './hub-secrets.ts';
import { notesOf } from './notes.ts';
import { observe } from './observe.ts';
import { failureOf, type Step } from './step.ts';
import { withdraw } from './withdrawal.ts';

/** Makes the reconcile of ManagedTokens. A run that has to be tried again throws, after it has told why. */
export function createReconcile(deps: TokenDeps): (key: string, signal: AbortSignal) => Promise<Result> {
  return async (key, signal) => {
    const observed = observe(deps, key);
    if (observed === undefined) return {};
    const step = await pursue(deps, await prepared(deps, observed, signal), signal);
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

/** What cannot be found out is tried again later; meanwhile what is known is acted on, and told. */
async function prepared(deps: TokenDeps, observation: TokenObservation, signal: AbortSignal): Promise<Step> {
  try {
    return await confirmed(deps, await withUnlabelled(deps, observation, signal), signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof IssueError)) throw error;
    return { observation, isDone: false, error };
  }
}

async function pursue(deps: TokenDeps, begun: Step, signal: AbortSignal): Promise<Step> {
  let step = begun;
  for (let steps = 0; steps < MAX_STEPS && !step.isDone; steps++) {
    const plan = planToken(step.observation, deps.clock.now(), deps.settings.limits);
    const startedAt = deps.clock.monotonic();
    const next = await act(deps, plan, step.observation, signal);
    auditStep(deps, plan, step.observation, next);
    if (plan.type === 'issue') countIssuance(deps, plan, next, deps.clock.monotonic() - startedAt);
    step = { ...step, ...next, notes: [...(step.notes ?? []), ...(next.notes ?? [])] };
    // Whoever starts over after a crash must know what was revoked, once no Secret tells.
    if (plan.type === 'revoke' && plan.secrets.length > 0 && next.error === undefined) step = await told(deps, step, signal);
  }
  return earlier(withReason(step), deps);
}

/** A run that is tried again says why; one whose rotation is suspended has nothing to complain about. */
function withReason(step: Step): Step {
  const { error, failure, observation } = step;
  if (error === undefined || failure !== undefined || observation.token.spec.rotation.suspend) return step;
  return { ...step, failure: failureOf(error) };
}

/** Looks whether the permission still stands where there is cause for doubt. */
async function confirmed(deps: TokenDeps, observation: TokenObservation, signal: AbortSignal): Promise<Step> {
  const { token } = observation;
  const secret = judgedSecret(observation);
  const isOurs = secret !== undefined && isOwnedBy(secret.metadata, token) && token.metadata.deletionTimestamp === undefined;
  if (!isOurs || !deps.authority.isDoubtful(token)) return { observation, isDone: false };
  const review = await deps.authority.review(token, signal);
  if (review.allowed) return { observation, isDone: false };
  const { failure } = deps.memory.of(token.metadata.uid ?? '');
  return { failure, ...(await withdraw(deps, observation, review.message, signal)) };
}

async function withUnlabelled(deps: TokenDeps, observation: TokenObservation, signal: AbortSignal): Promise<TokenObservation> {
  const { unlabelled } = deps.memory.of(observation.token.metadata.uid ?? '');
  const isStale = unlabelled !== undefined && Math.abs(deps.clock.now() - unlabelled.seenAt) >= UNLABELLED_MS;
  return isStale ? await lookAgain(deps, observation, signal) : observation;
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
  const next = desiredStatus(step.observation, { failure: step.failure, revoked }, deps.clock.now());
  for (const note of notesOf(step, { previous, next }, recollection.failure)) deps.recorder.record(token, note);
  recollection.failure = step.failure;
  if (next === token.status || token.metadata.deletionTimestamp !== undefined) return rest;
  recollection.status = next;
  const answer = await deps.hub.updateStatus(ManagedTokens, { ...token, status: next }, { signal });
  return { ...rest, observation: { ...step.observation, token: recollection.wroteToken(answer, token, deps.clock.now()) } };
}
