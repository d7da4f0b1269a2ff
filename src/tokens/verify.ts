// Whether the target still takes a token: asked now and then, since a token can be revoked there without a word.

import { Sensitive } from '../std/sensitive.ts';
import { IssueError } from '../targets/issue-error.ts';
import { isIssuedWith } from '../targets/policy/issued-for.ts';
import { reviewToken } from '../targets/reviews.ts';
import type { TokenDeps } from './deps.ts';
import { readSecret } from './hub-secrets.ts';
import type { TokenObservation } from './policy/observation.ts';
import { nextVerifyAt } from './policy/rotation.ts';
import { tokenState } from './policy/state.ts';
import { digestOf, tokenOf } from './reduce-secret.ts';
import type { Step } from './step.ts';

/** Puts the token to the target. Where that cannot be had, nothing is known, and nothing follows. */
export async function verify(deps: TokenDeps, observation: TokenObservation, signal: AbortSignal): Promise<Step> {
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
  const found = await readSecret(deps, token, secret?.metadata.name ?? '', signal);
  const registered = deps.view.registered(token.spec.clusterName);
  if (registered === undefined || record === undefined || found === undefined) return undefined;
  // The Cluster may have changed meanwhile: the token is sent to no address but those of its own credential.
  if (!isIssuedWith(record.issuedFor, registered.cluster)) return undefined;
  const text = tokenOf(found);
  if (digestOf(text) !== secret?.tokenDigest) return undefined;
  const request = { token: new Sensitive(text), subject: record.issuedFor.subject, audiences: token.spec.audiences };
  return await deps.clients.use(registered, (target) => reviewToken(target, request, signal));
}
