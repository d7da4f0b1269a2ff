// What people are told by events: first issuance, issuance out of turn, failures as they begin and end. Not the routine.

import type { ManagedToken, ManagedTokenStatus } from '../api/managed-token.gen.ts';
import { Annotation, TokenConditionType } from '../api/names.ts';
import { AlertReason, IssueReason, ReadyReason } from '../api/reasons.ts';
import type { Note } from '../kube/event-series.ts';
import { cleanedMessage } from '../std/clean-message.ts';
import { sentence } from '../std/sentence.ts';
import { requestedSeconds, type TokenLimits } from '../targets/policy/token-request.ts';
import { recordedAnchor } from './policy/anchors.ts';
import type { IssuePlan, TokenFailure } from './policy/plan.ts';
import { parseRecord, requestOf } from './policy/record.ts';
import { isCutShort } from './policy/rotation.ts';
import { shortenedMessage } from './policy/tenant-messages.ts';
import type { Step } from './step.ts';

/** What is to be told of a run. `before` is the failure that was told last. */
export function notesOf(
  step: Step,
  { previous, next }: { readonly previous: ManagedTokenStatus; readonly next: ManagedTokenStatus },
  before: TokenFailure | undefined,
): readonly Note[] {
  const { revoked, failure, notes = [] } = step;
  return [
    ...(revoked === undefined ? [] : [normal('RevocationRequested', `The token was revoked: ${IssueReason.RevocationRequested}.`)]),
    ...futileNotes(step, previous, next),
    ...issuanceNotes(step, previous, next),
    ...failureNotes(failure, previous, before),
    ...expiryNotes(previous, next),
    ...notes,
  ];
}

/**
 * Returns the event for a lifetime that the ceiling shortens: with a token for a new spec, not with each rotation. `before` is the
 * message that was recorded last.
 */
export function shortenedNotes(
  { observation: { token }, issued, failure }: Step,
  { previous, next }: { readonly previous: ManagedTokenStatus; readonly next: ManagedTokenStatus },
  { limits, before }: { readonly limits: TokenLimits; readonly before: string | undefined },
): readonly Note[] {
  const { expirationSeconds } = token.spec;
  const granted = requestedSeconds(expirationSeconds, limits);
  const isNews = (issued !== undefined && issued !== 'RotationDue') || previous.observedGeneration !== next.observedGeneration;
  const message = shortenedMessage(expirationSeconds, granted);
  if (granted === expirationSeconds || !isNews || failure !== undefined || message === before) return [];
  return [{ type: 'Warning', reason: 'LifetimeShortened', message }];
}

/** What is to be told when a token follows that people wanted revoked, and that was bound to nothing. */
export function unrevokedNotes({ freshAnchor, previous }: IssuePlan, token: ManagedToken): readonly Note[] {
  const isNews = requestOf(token, Annotation.revoke) !== token.status?.lastRevokeRequest;
  const isFutile = freshAnchor && previous !== undefined && recordedAnchor(token, previous) === undefined;
  return isFutile && isNews ? [REVOCATION_UNAVAILABLE] : [];
}

/** Whoever wants a token dead must know that it is not. */
export const REVOCATION_UNAVAILABLE: Note = {
  type: 'Warning',
  reason: 'RevocationUnavailable',
  message: sentence(AlertReason.RevocationUnavailable),
};

function futileNotes({ observation, revoked }: Step, previous: ManagedTokenStatus, next: ManagedTokenStatus): readonly Note[] {
  const isBound = observation.token.spec.revocation === 'BoundSecret' || revoked !== undefined;
  const isFutile = !isBound && next.lastRevokeRequest !== previous.lastRevokeRequest;
  return isFutile ? [REVOCATION_UNAVAILABLE] : [];
}

function issuanceNotes(
  { observation, issued }: Step,
  previous: ManagedTokenStatus,
  { expirationTimestamp, nextRotationTime }: ManagedTokenStatus,
): readonly Note[] {
  if (issued === undefined) return [];
  const validity = `it is valid until ${expirationTimestamp} and will be renewed at ${nextRotationTime}`;
  const isFirst = previous.issuedAt === undefined && issued === 'SecretMissing';
  if (isFirst) return [normal('Issued', `A token was issued; ${validity}.`), ...clampedNotes(observation)];
  const wasFailing = isTrue(previous, TokenConditionType.rotationFailing);
  if (issued === 'RotationDue') return wasFailing ? [normal('Issued', `The token was renewed after all; ${validity}.`)] : [];
  return [normal(issued, `A new token was issued, because ${IssueReason[issued]}; ${validity}.`), ...clampedNotes(observation)];
}

function clampedNotes(observation: Step['observation']): readonly Note[] {
  const record = parseRecord(observation.secret?.metadata.annotations);
  const { renewBefore } = observation.token.spec.rotation;
  if (record === undefined || !isCutShort(record, renewBefore)) return [];
  const message = `The ${AlertReason.RenewBeforeClamped}: ${renewBefore}. Ask for a longer lifetime, or a shorter renewBefore.`;
  return [{ type: 'Warning', reason: 'RenewBeforeClamped', message }];
}

function failureNotes(failure: TokenFailure | undefined, previous: ManagedTokenStatus, before: TokenFailure | undefined): readonly Note[] {
  if (failure === undefined || failure.reason === before?.reason) return [];
  if (previous.conditions?.some(({ type, status, reason }) => isFailing(type, status) && reason === failure.reason)) return [];
  return [{ type: 'Warning', reason: failure.reason, message: sentence(cleanedMessage(failure.message)) }];
}

function expiryNotes(previous: ManagedTokenStatus, next: ManagedTokenStatus): readonly Note[] {
  const hasExpired = (status: ManagedTokenStatus) =>
    status.conditions?.some(({ type, reason }) => type === TokenConditionType.ready && reason === 'Expired') === true;
  const isNews = hasExpired(next) && !hasExpired(previous);
  return isNews ? [{ type: 'Warning', reason: 'Expired', message: sentence(ReadyReason.Expired) }] : [];
}

function isFailing(type: string, status: string): boolean {
  return type === TokenConditionType.ready ? status === 'False' : status === 'True';
}

function isTrue({ conditions = [] }: ManagedTokenStatus, wanted: string): boolean {
  return conditions.some(({ type, status }) => type === wanted && status === 'True');
}

function normal(reason: string, message: string): Note {
  return { type: 'Normal', reason, message };
}
