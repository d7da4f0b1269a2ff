// The withdrawal of a permission: another review after the first refusal, and the removal of the Secret after the second, unless a
// removal limit delays or pauses it.

import { dropAnchors, unlistedNotes, writeLeftAnchors } from './anchors.ts';
import { auditWithdrawal } from './audit.ts';
import type { Refusal } from './authority.ts';
import type { TokenDeps } from './deps.ts';
import { deleteSecrets, stripSecret } from './hub-secrets.ts';
import { anchorsOf } from './policy/anchors.ts';
import type { TokenObservation } from './policy/observation.ts';
import type { TokenFailure } from './policy/plan.ts';
import { isToBeStripped } from './policy/plan-token.ts';
import { isIssued, ownedNames, tokenState } from './policy/state.ts';
import { heldRemovalFailure } from './policy/tenant-messages.ts';
import { withdrawalAfter } from './policy/withdrawal.ts';
import type { Removal } from './removal-limits.ts';
import type { Step } from './step.ts';

/**
 * Acts on a review that refused. What the requester can see afterwards does not depend on the Cluster: without permission a
 * missing, a hidden and an unhealthy cluster look the same.
 */
export async function refuse(deps: TokenDeps, observation: TokenObservation, refusal: Refusal, signal: AbortSignal): Promise<Step> {
  return await withdraw(deps, await withoutKnowledge(deps, observation, signal), refusal, signal);
}

/** Returns the observation without the Cluster, after the token has left the Secret if it had to anyway. */
export async function withoutKnowledge(deps: TokenDeps, observation: TokenObservation, signal: AbortSignal): Promise<TokenObservation> {
  const hidden = { ...observation, cluster: undefined };
  return isToBeStripped(hidden, deps.clock.now()) ? await stripSecret(deps, hidden, signal) : hidden;
}

/** Acts on a review that refused. */
async function withdraw(deps: TokenDeps, observation: TokenObservation, refusal: Refusal, signal: AbortSignal): Promise<Step> {
  const { memory, removals, clock } = deps;
  const { message } = refusal;
  const now = clock.now();
  const { token } = observation;
  const recollection = memory.of(token.metadata.uid ?? '');
  const forbidden: TokenFailure = { reason: 'Forbidden', message };
  if (ownedNames(observation).length === 0 && anchorsOf(token).length === 0) {
    recollection.forgetRefusals();
    const released = await writeLeftAnchors(deps, token, [], signal);
    return { observation: { ...observation, token: released }, isDone: true, failure: forbidden, requeueAt: now + FORBIDDEN_MS };
  }
  const state = tokenState(observation, now);
  // Tenants can forge the record in the Secret, but neither status nor memory.
  const isKnown = [recollection.issuedDigest, token.status?.tokenDigest].some((digest) => digest && digest === state.secret?.tokenDigest);
  // A change of the spec, such as of the requester, is no mistake in RBAC.
  const isOwnDoing = refusal.isRequesterMissing || token.metadata.generation !== token.status?.observedGeneration;
  recollection.refused(now, { countedIn: isKnown && isIssued(state) ? token.metadata.namespace : undefined, isOwnDoing });
  const next = withdrawalAfter(recollection.refusedAt, now);
  if (next.type !== 'remove') return { observation, isDone: true, requeueAt: next.type === 'keep' ? undefined : next.at };
  const removal = await removals.check(token, recollection);
  if (removal.type !== 'allowed') return held(deps, observation, removal, message);
  return { ...(await remove(deps, observation, signal)), isDone: true, failure: forbidden, requeueAt: now + FORBIDDEN_MS };
}

/** Interval between reviews of a refused token; RBAC is watched, other authorizers are not. */
const FORBIDDEN_MS = 300_000;
const HELD_MS = 60_000;

function held(deps: TokenDeps, observation: TokenObservation, removal: Exclude<Removal, { type: 'allowed' }>, message: string): Step {
  const now = deps.clock.now();
  const reason = removal.type === 'paused' ? 'MassWithdrawal' : 'RemovalDelayed';
  deps.removals.logHeld(observation.token, reason);
  deps.metrics?.removalHeld(removal.type === 'paused' ? 'global' : 'namespace');
  const failure = heldRemovalFailure(reason, message);
  const requeueAt = Math.min(now + HELD_MS, removal.type === 'delayed' ? removal.until : Infinity);
  return { observation, isDone: true, failure, requeueAt };
}

async function remove(deps: TokenDeps, observation: TokenObservation, signal: AbortSignal): Promise<Pick<Step, 'observation' | 'notes'>> {
  const { token } = observation;
  const recollection = deps.memory.of(token.metadata.uid ?? '');
  const names = ownedNames(observation);
  const places = anchorsOf(token);
  // Anchors go first; a target that does not respond must not keep the Secret.
  const { left, notes } = await dropAnchors(deps, token, places, signal);
  const unlisted = unlistedNotes(deps, token, tokenState(observation, deps.clock.now()).record);
  const removed = await deleteSecrets(deps, observation, names, signal);
  // An anchor that could not be deleted twice is reported once.
  if (names.length > 0 || left.length < places.length) auditWithdrawal(deps, observation);
  if (names.length > 0) deps.removals.removed(recollection);
  // The next reconcile tries again to delete the anchors that are left.
  const written = places.length > 0 ? await writeLeftAnchors(deps, removed.token, left, signal) : removed.token;
  // A conflict above must not restart the two reviews.
  recollection.forgetRefusals();
  return { observation: { ...removed, token: written }, notes: [...notes, ...unlisted] };
}
