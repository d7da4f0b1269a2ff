// The conditions of a ManagedToken: one truth table. The first row that applies decides.

import type { ManagedTokenCondition } from '../../api/managed-token.gen.ts';
import { TokenConditionType as Type } from '../../api/names.ts';
import { IssueReason, ReadyReason, type Reason } from '../../api/reasons.ts';
import { withCondition } from '../../kubernetes/conditions.ts';
import { cleanMessage } from '../../std/clean-message.ts';
import { sentence } from '../../std/sentence.ts';
import type { TokenFailure } from './messages.ts';

/** Input of the truth table. */
export interface TokenFacts {
  readonly generation: number;
  /** Token for this spec: valid and in the Secret, expired, or none. */
  readonly token: 'valid' | 'expired' | 'none';
  /** Difference between the issued token and the spec; undefined if there is none. */
  readonly superseded?: IssueReason | undefined;
  readonly suspended: boolean;
  /** Failure of the last attempt; undefined if it succeeded. */
  readonly failure?: TokenFailure | undefined;
}

/** Returns the conditions; the same list if nothing changes. `lastTransitionTime` changes only with the status. */
export function conditionsFor(
  facts: TokenFacts,
  previous: readonly ManagedTokenCondition[],
  now: number,
): readonly ManagedTokenCondition[] {
  const { ready, rotationFailing } = verdicts(facts);
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
  /** Aspect of the condition RotationFailing; undefined if there is no token to rotate. */
  readonly rotationFailing?: Aspect;
}

/** One row of the table; returns undefined if it does not apply. */
type Row = (facts: TokenFacts) => Verdicts | undefined;

/** Row for a failure that makes the Secret unusable, even if it holds a valid token. */
const secretUnusable: Row = ({ failure }) =>
  failure?.reason === 'SecretConflict' || failure?.reason === 'AudienceNotAccepted' ? { ready: because('False', failure) } : undefined;

const permissionDenied: Row = ({ token, failure }) =>
  failure?.reason === 'Forbidden' && token !== 'valid' ? { ready: because('False', failure) } : undefined;

const suspended: Row = ({ token, ...facts }) => {
  if (!facts.suspended) return undefined;
  const resume = 'set spec.rotation.suspend to false to resume it';
  return {
    ready: token === 'valid' ? is('True', 'Issued', 'it is not renewed while rotation is suspended') : is('False', 'Suspended', resume),
    rotationFailing: is('False', 'Suspended', resume),
  };
};

const tokenValid: Row = ({ token, failure }) => {
  if (token !== 'valid') return undefined;
  return { ready: is('True', 'Issued'), rotationFailing: failure ? because('True', failure) : is('False', 'Issued') };
};

const specChanged: Row = ({ superseded, failure }) => {
  if (superseded === undefined) return undefined;
  return { ready: is('False', 'Pending', failure ? named(failure) : IssueReason[superseded]) };
};

const tokenExpired: Row = ({ token, failure }) => {
  if (token !== 'expired') return undefined;
  return {
    ready: is('False', 'Expired', failure && named(failure)),
    rotationFailing: failure ? because('True', failure) : is('True', 'Expired'),
  };
};

const neverIssued = ({ failure }: TokenFacts): Verdicts => ({ ready: failure ? because('False', failure) : is('False', 'Pending') });

const TABLE: readonly Row[] = [secretUnusable, permissionDenied, suspended, tokenValid, specChanged, tokenExpired];

function verdicts(facts: TokenFacts): Verdicts {
  for (const row of TABLE) {
    const verdict = row(facts);
    if (verdict !== undefined) return verdict;
  }
  return neverIssued(facts);
}

function is(status: 'True' | 'False', reason: ReadyReason, addition?: string): Aspect {
  const text = ReadyReason[reason];
  return { status, reason, message: sentence(addition === undefined ? text : `${text}: ${addition}`) };
}

function because(status: 'True' | 'False', { reason, message }: TokenFailure): Aspect {
  return { status, reason, message: sentence(cleanMessage(message)) };
}

function named({ reason, message }: TokenFailure): string {
  return `${cleanMessage(message)} (${reason})`;
}
