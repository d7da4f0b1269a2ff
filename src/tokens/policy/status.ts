// The status of a ManagedToken. Most fields report on the Secret; secretRef, the digests and tokenSignature exist only because Purser
// reads them again. A truth table determines the conditions: the first row that applies decides.

import type { ManagedTokenCondition, ManagedTokenStatus } from '../../api/managed-token.gen.ts';
import { Annotation, TokenConditionType as Type } from '../../api/names.ts';
import { IssueReason, ReadyReason, type Reason } from '../../api/reasons.ts';
import { withCondition } from '../../kubernetes/conditions.ts';
import { omitUndefined } from '../../std/omit-undefined.ts';
import { toSentence } from '../../std/sentence.ts';
import { formatTimestamp } from '../../std/timestamp.ts';
import { isRevocable } from './anchors.ts';
import { formatFailure, type TokenFailure } from './messages.ts';
import { requestOf, type SignedDigest } from './record.ts';
import { computeRenewAt } from './rotation.ts';
import type { StoredToken } from './spec.ts';
import { type EvaluatedToken, hasCurrentToken, type TokenObservation, type TokenState } from './state.ts';

/** Outcome of one reconcile of a ManagedToken, for its status. `failure` is undefined if the reconcile did not fail. */
export interface RunOutcome {
  readonly failure?: TokenFailure | undefined;
  /** Value of the `revoke` annotation that the run acted on; undefined if it revoked nothing. */
  readonly revoked?: string | undefined;
}

/** Returns the status to write; the current object if nothing changes. */
export function desiredStatus({ observation, state, now }: EvaluatedToken, outcome: RunOutcome): ManagedTokenStatus {
  const { token, issuedDigest } = observation;
  const { status: previous = {}, metadata } = token;
  const next = omitUndefined<ManagedTokenStatus>({
    observedGeneration: metadata.generation,
    conditions: deriveConditions(collectFacts(token, state, outcome), previous.conditions ?? [], now),
    ...toTokenFields(token, state),
    rotations: state.record?.rotations ?? previous.rotations,
    lastRotateRequest: state.record?.rotateRequest ?? previous.lastRotateRequest,
    lastRevokeRequest: findHandledRevocation(observation, outcome) ?? previous.lastRevokeRequest,
    ...toIssuedFields(issuedDigest, previous),
    secretDigest: observation.writtenDigest,
    secretRef: isSameReference(previous.secretRef, observation.writtenSecret) ? previous.secretRef : observation.writtenSecret,
    anchors: previous.anchors,
  });
  return isSame(previous, next) ? previous : next;
}

/**
 * Returns the digest and signature of the last issued token. A digest that cannot be verified stays until the next token: the key may be
 * restored later.
 */
function toIssuedFields(
  issuedDigest: SignedDigest | undefined,
  { tokenDigest, tokenSignature }: ManagedTokenStatus,
): Pick<ManagedTokenStatus, 'tokenDigest' | 'tokenSignature'> {
  if (issuedDigest === undefined) return omitUndefined({ tokenDigest, tokenSignature });
  return { tokenDigest: issuedDigest.digest, tokenSignature: issuedDigest.signature };
}

/**
 * Returns the value of the `revoke` annotation to record as handled; undefined if no request was handled. A request that cannot revoke
 * anything is handled immediately: the change of status.lastRevokeRequest triggers the event RevocationUnavailable.
 */
function findHandledRevocation({ token, revoked }: TokenObservation, outcome: RunOutcome): string | undefined {
  return isRevocable(token) ? (outcome.revoked ?? revoked) : requestOf(token, Annotation.revoke);
}

function collectFacts({ metadata, spec }: StoredToken, state: TokenState, { failure }: RunOutcome): TokenFacts {
  return {
    generation: metadata.generation ?? 0,
    token: classifyToken(state),
    superseded: state.superseded,
    suspended: spec.rotation.suspend,
    failure,
  };
}

function classifyToken(state: TokenState): TokenFacts['token'] {
  if (state.superseded === undefined && state.expired) return 'expired';
  return hasCurrentToken(state) ? 'valid' : 'none';
}

/** Returns the fields about the token for this spec; empty if there is neither a token nor the record of an expired one. */
function toTokenFields(token: StoredToken, { secret, record, superseded, hasToken, expired }: TokenState): ManagedTokenStatus {
  if (record === undefined || superseded !== undefined || !(hasToken || expired)) return {};
  const { renewBefore, suspend } = token.spec.rotation;
  return omitUndefined({
    secretName: secret?.metadata.name,
    serviceAccountUID: record.issuedFor.accountUID || undefined,
    issuedAt: formatTimestamp(record.issuedAt),
    expirationTimestamp: formatTimestamp(record.expiresAt),
    nextRotationTime: suspend ? undefined : formatTimestamp(computeRenewAt(record, renewBefore, token.metadata.uid)),
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

/** Input of the truth table for the conditions. */
export interface TokenFacts {
  readonly generation: number;
  /** Token for this spec: valid and in the Secret, expired, or none. */
  readonly token: 'valid' | 'expired' | 'none';
  /** Reason why the issued token no longer matches the spec or the Cluster; undefined if it matches both. */
  readonly superseded?: IssueReason | undefined;
  readonly suspended: boolean;
  /** Failure of the last attempt; undefined if it succeeded. */
  readonly failure?: TokenFailure | undefined;
}

/** Returns the conditions; the same list if nothing changes. `lastTransitionTime` changes only with the status of a condition. */
export function deriveConditions(
  facts: TokenFacts,
  previous: readonly ManagedTokenCondition[],
  now: number,
): readonly ManagedTokenCondition[] {
  const { ready, rotationFailing } = decideVerdicts(facts);
  const observedGeneration = facts.generation;
  const withReady = withCondition(previous, { type: Type.ready, ...ready, observedGeneration }, now);
  if (rotationFailing !== undefined) {
    return withCondition(withReady, { type: Type.rotationFailing, ...rotationFailing, observedGeneration }, now);
  }
  const isStale = withReady.some(({ type }) => type === Type.rotationFailing);
  return isStale ? withReady.filter(({ type }) => type !== Type.rotationFailing) : withReady;
}

interface Aspect {
  readonly status: 'True' | 'False';
  readonly reason: Reason;
  readonly message: string;
}

interface Verdicts {
  readonly ready: Aspect;
  /** Aspect of the RotationFailing condition; undefined if the ManagedToken must not have this condition. */
  readonly rotationFailing?: Aspect;
}

/** One row of the truth table; returns undefined if the row does not apply. */
type Row = (facts: TokenFacts) => Verdicts | undefined;

/** Row for a failure that makes the Secret unusable, even if it holds a valid token. */
const secretUnusable: Row = ({ failure }) =>
  failure?.reason === 'SecretConflict' || failure?.reason === 'AudienceNotAccepted'
    ? { ready: toFailureAspect('False', failure) }
    : undefined;

const permissionDenied: Row = ({ token, failure }) =>
  failure?.reason === 'Forbidden' && token !== 'valid' ? { ready: toFailureAspect('False', failure) } : undefined;

const suspended: Row = ({ token, ...facts }) => {
  if (!facts.suspended) return undefined;
  const paused = toAspect('False', 'Suspended', '. Set spec.rotation.suspend to false to resume it');
  return {
    ready: token === 'valid' ? toAspect('True', 'Issued', '. Purser does not renew the token while rotation is suspended') : paused,
    rotationFailing: paused,
  };
};

const tokenValid: Row = ({ token, failure }) => {
  if (token !== 'valid') return undefined;
  return { ready: toAspect('True', 'Issued'), rotationFailing: failure ? toFailureAspect('True', failure) : toAspect('False', 'Issued') };
};

const specChanged: Row = ({ superseded, failure }) => {
  if (superseded === undefined) return undefined;
  return { ready: toAspect('False', 'Pending', failure ? formatCause(failure) : `: ${IssueReason[superseded]}`) };
};

const tokenExpired: Row = ({ token, failure }) => {
  if (token !== 'expired') return undefined;
  return {
    ready: toAspect('False', 'Expired', failure && formatCause(failure)),
    rotationFailing: failure ? toFailureAspect('True', failure) : toAspect('True', 'Expired'),
  };
};

const neverIssued = ({ failure }: TokenFacts): Verdicts => ({
  ready: failure ? toFailureAspect('False', failure) : toAspect('False', 'Pending'),
});

const TABLE: readonly Row[] = [secretUnusable, permissionDenied, suspended, tokenValid, specChanged, tokenExpired];

function decideVerdicts(facts: TokenFacts): Verdicts {
  for (const row of TABLE) {
    const verdict = row(facts);
    if (verdict !== undefined) return verdict;
  }
  return neverIssued(facts);
}

/** Returns the aspect for a reason; `addition` follows the sentence of the reason and begins with its punctuation. */
function toAspect(status: 'True' | 'False', reason: ReadyReason, addition = ''): Aspect {
  return { status, reason, message: toSentence(`${ReadyReason[reason]}${addition}`) };
}

function toFailureAspect(status: 'True' | 'False', failure: TokenFailure): Aspect {
  return { status, reason: failure.reason, message: toSentence(formatFailure(failure)) };
}

function formatCause(failure: TokenFailure): string {
  return ` (${failure.reason}): ${formatFailure(failure)}`;
}
