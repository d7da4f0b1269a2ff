// Reasons to issue a token. REASONS at the end lists the rules in order.

import { Annotation } from '../../api/names.ts';
import type { IssueReason } from '../../api/reasons.ts';
import { unlistedAnchor } from './anchors.ts';
import { requestOf } from './record.ts';
import { earliestRenewAt } from './rotation.ts';
import type { TokenObservation, TokenState } from './state.ts';

/** One rule; returns undefined if it does not apply. */
type Check = (state: TokenState, observation: TokenObservation, now: number) => IssueReason | undefined;

/** Returns the reason to issue a token; undefined while the current token is valid. */
export function reasonToIssue(state: TokenState, observation: TokenObservation, now: number): IssueReason | undefined {
  for (const check of REASONS) {
    const reason = check(state, observation, now);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/**
 * Returns the earliest time for an issuance with this reason: ten seconds after the last one and, for a renewal, not before
 * `earliestRenewAt`. Drift and explicit requests wait for two seconds only.
 */
export function mayIssueAt(reason: IssueReason, { record, lastIssuedAt }: TokenState, now: number): number {
  if (PROMPT.has(reason)) return lastIssuedAt + PROMPT_SPACING_MS;
  const spacedAt = lastIssuedAt + SPACING_MS;
  return reason === 'RotationDue' && record !== undefined && record.issuedAt <= now
    ? Math.max(spacedAt, earliestRenewAt(record))
    : spacedAt;
}

const SPACING_MS = 10_000;
/** Time for the watch to deliver Purser's own write before the Secret is considered missing. */
const PROMPT_SPACING_MS = 2_000;
const PROMPT: ReadonlySet<IssueReason> = new Set([
  'SecretMissing',
  'TokenMissing',
  'TokenAltered',
  'RotationRequested',
  'RevocationRequested',
]);

/** A bound token whose anchor is not listed is revoked by its successor, which replaces the anchor. */
const revocationPending: Check = ({ secret, record, revokeRequest }, { token }) => {
  if (revokeRequest === undefined) return undefined;
  return secret === undefined || unlistedAnchor(token, record) !== undefined ? 'RevocationRequested' : undefined;
};

const secretMissing: Check = ({ secret }) => (secret === undefined ? 'SecretMissing' : undefined);

const recordDamaged: Check = ({ record, hasToken }) => {
  if (record !== undefined) return undefined;
  return hasToken ? 'TokenAltered' : 'TokenMissing';
};

const issuedForAnother: Check = ({ superseded }) => superseded;

const issuedWithAnother: Check = ({ otherCredential }) => (otherCredential ? 'CredentialReplaced' : undefined);

const issuedForFormerAPI: Check = ({ otherAudiences }) => (otherAudiences ? 'APIAudiencesChanged' : undefined);

const tokenExpired: Check = ({ expired }) => (expired ? 'RotationDue' : undefined);

const tokenMissing: Check = ({ hasToken }) => (hasToken ? undefined : 'TokenMissing');

const tokenAltered: Check = ({ forged }) => (forged ? 'TokenAltered' : undefined);

const tokenRefused: Check = ({ refused }) => (refused ? 'TokenRejected' : undefined);

const rotationRequested: Check = ({ record }, { token }) => {
  const request = requestOf(token, Annotation.rotate);
  return request !== undefined && request !== record?.rotateRequest ? 'RotationRequested' : undefined;
};

const renewalDue: Check = ({ renewAt }, _, now) => (renewAt !== undefined && renewAt <= now ? 'RotationDue' : undefined);

/** The rules; the first that applies names the reason. */
const REASONS: readonly Check[] = [
  revocationPending,
  secretMissing,
  recordDamaged,
  issuedForAnother,
  issuedWithAnother,
  issuedForFormerAPI,
  tokenExpired,
  tokenMissing,
  tokenAltered,
  tokenRefused,
  rotationRequested,
  renewalDue,
];
