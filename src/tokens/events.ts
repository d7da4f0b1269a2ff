// Reports on ManagedTokens: events for users, audit lines in the log, and metrics of issuances. Routine renewals record no event.

import type { ManagedTokenStatus } from '../api/managed-token.gen.ts';
import { Annotation, TokenConditionType } from '../api/names.ts';
import { AlertReason, IssueReason, ReadyReason } from '../api/reasons.ts';
import type { EventContent } from '../kube/recorder.ts';
import { toSentence } from '../std/sentence.ts';
import { formatTimestamp } from '../std/timestamp.ts';
import { isLastingReason } from '../targets/issue-error.ts';
import { limitLifetimeSeconds, type TokenLimits } from '../targets/policy/grant.ts';
import { parseRecordedAnchor } from './policy/anchors.ts';
import { formatFailure, formatShortenedMessage, type TokenFailure } from './policy/messages.ts';
import type { IssuePlan, TokenPlan } from './policy/plan.ts';
import { parseRecord, requestOf, type TokenRecord } from './policy/record.ts';
import { computeRenewAt, isClamped } from './policy/rotation.ts';
import type { StoredToken } from './policy/spec.ts';
import { type EvaluatedToken, findCurrentSecret } from './policy/state.ts';
import type { Step, TokenRun } from './run.ts';

/** Returns the events of a run. `before` is the failure of the previous run; undefined if that run succeeded or is unknown. */
export function deriveEvents(
  step: Step,
  { previous, next }: { readonly previous: ManagedTokenStatus; readonly next: ManagedTokenStatus },
  before: TokenFailure | undefined,
): readonly EventContent[] {
  const { revoked, failure, events = [] } = step;
  return [
    ...(revoked === undefined
      ? []
      : [createNormalEvent('RevocationRequested', `Purser revoked the token because ${IssueReason.RevocationRequested}.`)]),
    ...futileRevocationEvents(step, previous, next),
    ...issuanceEvents(step, previous, next),
    ...failureEvents(failure, previous, before),
    ...expiryEvents(previous, next),
    ...events,
  ];
}

/**
 * Returns the event for a lifetime that the maximum shortens: once for each spec, not for each rotation. `before` is the message of the
 * last such event; undefined if there was none.
 */
export function shortenedEvents(
  { observation: { token }, issued, failure }: Step,
  { previous, next }: { readonly previous: ManagedTokenStatus; readonly next: ManagedTokenStatus },
  { limits, before }: { readonly limits: TokenLimits; readonly before: string | undefined },
): readonly EventContent[] {
  const { expirationSeconds } = token.spec;
  const granted = limitLifetimeSeconds(expirationSeconds, limits);
  const isNews = (issued !== undefined && issued !== 'RotationDue') || previous.observedGeneration !== next.observedGeneration;
  const message = formatShortenedMessage(expirationSeconds, granted);
  if (granted === expirationSeconds || !isNews || failure !== undefined || message === before) return [];
  return [{ type: 'Warning', reason: 'LifetimeShortened', message }];
}

/** Returns the event for a replaced token that could not be revoked because it had no anchor; empty otherwise. */
export function unrevokedEvents({ needsNewAnchor, previous }: IssuePlan, token: StoredToken): readonly EventContent[] {
  const isNews = requestOf(token, Annotation.revoke) !== token.status?.lastRevokeRequest;
  const isFutile = needsNewAnchor && previous !== undefined && parseRecordedAnchor(token, previous) === undefined;
  return isFutile && isNews ? [REVOCATION_UNAVAILABLE] : [];
}

/** Event for a request to revoke a token that has no anchor. The token stays valid. */
export const REVOCATION_UNAVAILABLE: EventContent = {
  type: 'Warning',
  reason: 'RevocationUnavailable',
  message: toSentence(AlertReason.RevocationUnavailable),
};

function futileRevocationEvents(
  { observation, revoked }: Step,
  previous: ManagedTokenStatus,
  next: ManagedTokenStatus,
): readonly EventContent[] {
  const isBound = observation.token.spec.revocation === 'BoundSecret' || revoked !== undefined;
  const isFutile = !isBound && next.lastRevokeRequest !== previous.lastRevokeRequest;
  return isFutile ? [REVOCATION_UNAVAILABLE] : [];
}

function issuanceEvents(
  { observation, issued }: Step,
  previous: ManagedTokenStatus,
  { expirationTimestamp, nextRotationTime }: ManagedTokenStatus,
): readonly EventContent[] {
  if (issued === undefined) return [];
  const validity = `is valid until ${expirationTimestamp}; Purser renews it at ${nextRotationTime}`;
  const isFirst = previous.rotations === undefined && issued === 'SecretMissing';
  if (isFirst) return [createNormalEvent('Issued', `Purser issued the first token. The token ${validity}.`), ...clampedEvents(observation)];
  const wasFailing = isTrue(previous, TokenConditionType.rotationFailing);
  if (issued === 'RotationDue')
    return wasFailing ? [createNormalEvent('Issued', `Purser renewed the token after failures. The token ${validity}.`)] : [];
  return [
    createNormalEvent(issued, `Purser issued a new token because ${IssueReason[issued]}. The new token ${validity}.`),
    ...clampedEvents(observation),
  ];
}

function clampedEvents(observation: Step['observation']): readonly EventContent[] {
  const record = parseRecord(observation.secret?.metadata.annotations);
  const { renewBefore } = observation.token.spec.rotation;
  if (record === undefined || !isClamped(record, renewBefore)) return [];
  const cause = `The value of spec.rotation.renewBefore (${renewBefore}) is too long for the granted lifetime, so Purser shortens it.`;
  const message = `${cause} Increase spec.expirationSeconds, or shorten spec.rotation.renewBefore.`;
  return [{ type: 'Warning', reason: 'RenewBeforeClamped', message }];
}

function failureEvents(
  failure: TokenFailure | undefined,
  previous: ManagedTokenStatus,
  before: TokenFailure | undefined,
): readonly EventContent[] {
  if (failure === undefined || failure.reason === before?.reason) return [];
  if (previous.conditions?.some(({ type, status, reason }) => isFailing(type, status) && reason === failure.reason)) return [];
  return [{ type: 'Warning', reason: failure.reason, message: toSentence(formatFailure(failure)) }];
}

function expiryEvents(previous: ManagedTokenStatus, next: ManagedTokenStatus): readonly EventContent[] {
  const hasExpired = (status: ManagedTokenStatus) =>
    status.conditions?.some(({ type, reason }) => type === TokenConditionType.ready && reason === 'Expired') === true;
  const isNews = hasExpired(next) && !hasExpired(previous);
  return isNews ? [{ type: 'Warning', reason: 'Expired', message: toSentence(ReadyReason.Expired) }] : [];
}

function isFailing(type: string, status: string): boolean {
  return type === TokenConditionType.ready ? status === 'False' : status === 'True';
}

function isTrue({ conditions = [] }: ManagedTokenStatus, wanted: string): boolean {
  return conditions.some(({ type, status }) => type === wanted && status === 'True');
}

function createNormalEvent(reason: string, message: string): EventContent {
  return { type: 'Normal', reason, message };
}

type AuditContext = Pick<TokenRun, 'auditLog' | 'key'>;

/** Logs the effect of a plan on a token, unless the plan had none or failed. The line contains the ID of the token, not the token. */
export function auditStep(run: AuditContext, plan: TokenPlan, before: EvaluatedToken, { observation, issued, error }: Step): void {
  if (plan.type === 'issue' && issued !== undefined) {
    const record = parseRecord(findCurrentSecret(observation)?.metadata.annotations);
    audit(run, plan.previous === undefined ? 'issued' : 'rotated', issued, { token: observation.token, record });
  }
  if (error !== undefined) return;
  const subject = { token: before.observation.token, record: before.state.record };
  if (plan.type === 'revoke') audit(run, 'revoked', 'RevocationRequested', subject);
  const isDeleted = subject.token.metadata.deletionTimestamp !== undefined;
  if (plan.type === 'release' && plan.anchor === 'delete' && isDeleted) audit(run, 'revoked', 'Deleted', subject);
}

/** Logs the removal of a token whose requester lost permission. */
export function auditWithdrawal(run: AuditContext, { observation, state }: EvaluatedToken): void {
  audit(run, 'withdrawn', 'Forbidden', { token: observation.token, record: state.record });
}

interface AuditSubject {
  readonly token: StoredToken;
  /** Record of the token; undefined if the record is missing or damaged. */
  readonly record: TokenRecord | undefined;
}

function audit(
  { auditLog, key }: AuditContext,
  decision: 'issued' | 'rotated' | 'revoked' | 'withdrawn',
  reason: IssueReason | 'Deleted' | 'Forbidden',
  { token, record }: AuditSubject,
): void {
  const fields = record === undefined ? toStatusFields(token) : toRecordFields(record);
  auditLog.info({ audit: 'ManagedToken', decision, key, reason, ...fields }, `token ${decision}`);
}

function toRecordFields({ issuedFor, credentialId, expiresAt }: TokenRecord) {
  const [, , namespace, name] = issuedFor.subject.split(':');
  const { cluster, audiences } = issuedFor;
  return { cluster, serviceAccount: `${namespace}/${name}`, audiences, credentialID: credentialId, expiresAt: formatTimestamp(expiresAt) };
}

function toStatusFields({ spec, status }: StoredToken) {
  const { namespace, name } = spec.serviceAccount;
  const { credentialID, expirationTimestamp: expiresAt } = status ?? {};
  return { cluster: spec.clusterName, serviceAccount: `${namespace}/${name}`, audiences: spec.audiences, credentialID, expiresAt };
}

/** Counts an attempt to issue a token in the metrics. Does nothing for a postponed attempt. */
export function countIssuance(
  { metrics, clock, uid }: Pick<TokenRun, 'metrics' | 'clock' | 'uid'>,
  plan: IssuePlan,
  { observation, issued, error, failure }: Step,
  durationMs: number,
): void {
  const { clusterName: cluster, rotation } = observation.token.spec;
  const isFinal = failure !== undefined && (failure.reason === 'Forbidden' || isLastingReason(failure.reason));
  const reason = issued ?? error?.reason ?? (isFinal ? failure.reason : undefined);
  if (reason === undefined) return;
  // The lateness is relative to the scheduled time of the renewal, not to the last retry.
  const isRenewal = plan.reason === 'RotationDue' && plan.previous !== undefined;
  const latenessMs = isRenewal ? Math.max(0, clock.now() - computeRenewAt(plan.previous, rotation.renewBefore, uid)) : undefined;
  metrics?.recordIssuance({ cluster, result: issued === undefined ? 'failure' : 'success', reason, durationMs, latenessMs });
}
