// The status of a ManagedToken: a report of what its Secret says, except for status.anchors and status.tokenDigest, which are records.

import type { ManagedToken, ManagedTokenStatus } from '../../api/managed-token.gen.ts';
import { Annotation } from '../../api/names.ts';
import { defined } from '../../std/defined.ts';
import { instantText } from '../../std/instant.ts';
import { anchorsOf, isRevocable } from './anchors.ts';
import { conditionsFor, type TokenFacts } from './conditions.ts';
import type { TokenObservation } from './observation.ts';
import type { TokenFailure } from './plan.ts';
import { requestOf } from './record.ts';
import { renewAt } from './rotation.ts';
import { isHeld, type TokenState, tokenState } from './state.ts';

/** What only whoever acted knows. */
export interface Outcome {
  readonly failure?: TokenFailure | undefined;
  /** The request to revoke that was acted on just now. */
  readonly revoked?: string | undefined;
  /** Digest of the token that was issued last in this term; undefined if none was. */
  readonly issuedDigest?: string | undefined;
}

/** The status that the ManagedToken is to have; the very one that it has, when nothing changes. */
export function desiredStatus(observation: TokenObservation, outcome: Outcome, now: number): ManagedTokenStatus {
  const { token } = observation;
  const { status: previous = {}, metadata } = token;
  const state = tokenState(observation, now);
  const next = defined<ManagedTokenStatus>({
    observedGeneration: metadata.generation,
    conditions: conditionsFor(tokenFacts(token, state, outcome), previous.conditions ?? [], now),
    ...reported(token, state),
    rotations: state.record?.rotations ?? previous.rotations,
    lastRotateRequest: state.record?.rotateRequest ?? previous.lastRotateRequest,
    lastRevokeRequest: handledRevocation(observation, state, outcome) ?? previous.lastRevokeRequest,
    tokenDigest: outcome.issuedDigest ?? previous.tokenDigest,
    anchors: previous.anchors,
  });
  return isSame(previous, next) ? previous : next;
}

/** A request that cannot be granted is over as soon as it has been seen. The record in the Secret counts only without anchors. */
function handledRevocation({ token, revoked }: TokenObservation, { record }: TokenState, outcome: Outcome): string | undefined {
  if (!isRevocable(token)) return requestOf(token, Annotation.revoke);
  return outcome.revoked ?? revoked ?? (anchorsOf(token).length > 0 ? undefined : record?.revokeRequest);
}

function tokenFacts({ metadata, spec }: ManagedToken, state: TokenState, { failure }: Outcome): TokenFacts {
  return {
    generation: metadata.generation ?? 0,
    token: tokenFact(state),
    superseded: state.superseded,
    suspended: spec.rotation.suspend,
    failure,
  };
}

function tokenFact(state: TokenState): TokenFacts['token'] {
  if (state.superseded === undefined && state.expired) return 'expired';
  return isHeld(state) ? 'valid' : 'none';
}

/** Only of a token that this spec wants; of any other there is nothing to tell. */
function reported(token: ManagedToken, { secret, record, superseded, hasToken, expired }: TokenState): ManagedTokenStatus {
  if (record === undefined || superseded !== undefined || !(hasToken || expired)) return {};
  const { renewBefore, suspend } = token.spec.rotation;
  return defined({
    secretName: secret?.metadata.name,
    serviceAccountUID: record.issuedFor.accountUID || undefined,
    issuedAt: instantText(record.issuedAt),
    expirationTimestamp: instantText(record.expiresAt),
    nextRotationTime: suspend ? undefined : instantText(renewAt(record, renewBefore, token.metadata.uid ?? '')),
    credentialID: record.credentialId,
  });
}

function isSame(previous: ManagedTokenStatus, next: ManagedTokenStatus): boolean {
  const names = Object.keys({ ...previous, ...next }) as (keyof ManagedTokenStatus)[];
  return names.every((name) => previous[name] === next[name]);
}
