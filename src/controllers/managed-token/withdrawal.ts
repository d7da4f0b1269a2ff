// What a refused review leads to: a look again, and after the second refusal the end of the Secret; unless so many would
// go at once that it must be a mistake.

import { AlertReason } from '../../api/reasons.ts';
import { anchorsOf } from '../../domain/anchors.ts';
import { sentence } from '../../domain/sentence.ts';
import type { TokenObservation } from '../../domain/token-observation.ts';
import type { TokenFailure } from '../../domain/token-plan.ts';
import { ownedNames, tokenState } from '../../domain/token-state.ts';
import { withdrawalAfter } from '../../domain/withdrawal.ts';
import { dropAnchors, unlistedNotes, writeLeftAnchors } from './anchors.ts';
import { auditWithdrawal } from './audit.ts';
import type { TokenDeps } from './deps.ts';
import { deleteSecrets } from './hub-secrets.ts';
import type { Step } from './step.ts';

/** Acts on a review that said no. */
export async function withdraw(deps: TokenDeps, observation: TokenObservation, message: string, signal: AbortSignal): Promise<Step> {
  const { memory, withdrawals, view, log, clock } = deps;
  const now = clock.now();
  const recollection = memory.of(observation.token.metadata.uid ?? '');
  const forbidden: TokenFailure = { reason: 'Forbidden', message };
  const names = ownedNames(observation);
  const places = anchorsOf(observation.token);
  if (names.length === 0 && places.length === 0) {
    recollection.forgetRefusals();
    const token = await writeLeftAnchors(deps, observation.token, [], signal);
    return { observation: { ...observation, token }, isDone: true, failure: forbidden, requeueAt: now + FORBIDDEN_MS };
  }
  recollection.refused(now);
  const next = withdrawalAfter(recollection.refusedAt, now);
  if (next.type !== 'remove') return { observation, isDone: true, requeueAt: next.type === 'keep' ? undefined : next.at };
  if (withdrawals.isMass(view.tokens.size, now)) {
    log.error({ key: keyOf(observation), reason: 'MassWithdrawal' }, AlertReason.MassWithdrawal);
    deps.metrics?.withdrawalStopped();
    const failure: TokenFailure = { reason: 'MassWithdrawal', message: `${sentence(AlertReason.MassWithdrawal)} ${message}` };
    return { observation, isDone: true, failure, requeueAt: now + BRAKED_MS };
  }
  // Anchors go first, while it is known where they are; a target that does not answer must not keep the Secret.
  const { left, notes } = await dropAnchors(deps, observation.token, places, signal);
  const unlisted = unlistedNotes(deps, observation.token, tokenState(observation, now).record);
  const removed = await deleteSecrets(deps, observation, names, signal);
  // What could not be deleted the last time, and cannot be now, is no news.
  if (names.length > 0 || left.length < places.length) auditWithdrawal(deps, observation);
  withdrawals.removed(now);
  // The next reconcile tries again to delete the anchors that are left.
  const token = places.length > 0 ? await writeLeftAnchors(deps, removed.token, left, signal) : removed.token;
  // A conflict above must not restart the two reviews.
  recollection.forgetRefusals();
  const result = { observation: { ...removed, token }, isDone: true, failure: forbidden, notes: [...notes, ...unlisted] };
  return { ...result, requeueAt: now + FORBIDDEN_MS };
}

/** RBAC is watched; other authorisers are asked again now and then. */
const FORBIDDEN_MS = 300_000;
const BRAKED_MS = 60_000;

function keyOf({ token }: TokenObservation): string {
  return `${token.metadata.namespace}/${token.metadata.name}`;
}
