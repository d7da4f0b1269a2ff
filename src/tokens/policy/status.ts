// The status of a ManagedToken: a report on its Secret, except for status.anchors and the digests, which are records.

import type { ManagedTokenStatus } from '../../api/managed-token.gen.ts';
import { Annotation } from '../../api/names.ts';
import { defined } from '../../std/defined.ts';
import { formatTimestamp } from '../../std/timestamp.ts';
import { isRevocable } from './anchors.ts';
import { conditionsFor, type TokenFacts } from './conditions.ts';
import type { TokenFailure } from './messages.ts';
import { requestOf } from './record.ts';
import { renewAt } from './rotation.ts';
import type { StoredToken } from './spec.ts';
import { isHeld, type Situation, type TokenObservation, type TokenState } from './state.ts';

/** Result of a run. */
export interface Outcome {
  readonly failure?: TokenFailure | undefined;
  /** Value of the annotation `revoke` that the run acted on. */
  readonly revoked?: string | undefined;
}

/** Returns the status to write; the current object if nothing changes. */
export function desiredStatus({ observation, state, now }: Situation, outcome: Outcome): ManagedTokenStatus {
  const { token } = observation;
  const { status: previous = {}, metadata } = token;
  const next = defined<ManagedTokenStatus>({
    observedGeneration: metadata.generation,
    conditions: conditionsFor(tokenFacts(token, state, outcome), previous.conditions ?? [], now),
    ...reported(token, state),
    rotations: state.record?.rotations ?? previous.rotations,
    lastRotateRequest: state.record?.rotateRequest ?? previous.lastRotateRequest,
    lastRevokeRequest: handledRevocation(observation, outcome) ?? previous.lastRevokeRequest,
    tokenDigest: observation.issuedDigest,
    secretDigest: observation.writtenDigest,
    secretRef: isSameReference(previous.secretRef, observation.writtenSecret) ? previous.secretRef : observation.writtenSecret,
    anchors: previous.anchors,
  });
  return isSame(previous, next) ? previous : next;
}

/** Without an anchor a revocation is not possible, so the request is handled once it is reported. */
function handledRevocation({ token, revoked }: TokenObservation, outcome: Outcome): string | undefined {
  return isRevocable(token) ? (outcome.revoked ?? revoked) : requestOf(token, Annotation.revoke);
}

function tokenFacts({ metadata, spec }: StoredToken, state: TokenState, { failure }: Outcome): TokenFacts {
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

/** Returns the fields about a token for this spec; empty without one. */
function reported(token: StoredToken, { secret, record, superseded, hasToken, expired }: TokenState): ManagedTokenStatus {
  if (record === undefined || superseded !== undefined || !(hasToken || expired)) return {};
  const { renewBefore, suspend } = token.spec.rotation;
  return defined({
    secretName: secret?.metadata.name,
    serviceAccountUID: record.issuedFor.accountUID || undefined,
    issuedAt: formatTimestamp(record.issuedAt),
    expirationTimestamp: formatTimestamp(record.expiresAt),
    nextRotationTime: suspend ? undefined : formatTimestamp(renewAt(record, renewBefore, token.metadata.uid)),
    credentialID: record.credentialId,
  });
}

function isSameReference(previous: ManagedTokenStatus['secretRef'], next: ManagedTokenStatus['secretRef']): boolean {
  return previous?.name === next?.name && previous?.uid === next?.uid;
}

function isSame(previous: ManagedTokenStatus, next: ManagedTokenStatus): boolean {
  const names = Object.keys({ ...previous, ...next }) as (keyof ManagedTokenStatus)[];
  return names.every((name) => previous[name] === next[name]);
}
