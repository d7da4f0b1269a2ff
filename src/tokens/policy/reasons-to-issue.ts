// Why a token must be issued. The list below is the rules: the first that applies names the reason.

import { Annotation } from '../../api/names.ts';
import type { IssueReason } from '../../api/reasons.ts';
import { unlistedAnchor } from './anchors.ts';
import type { TokenObservation } from './observation.ts';
import { requestOf } from './record.ts';
import { earliestRenewAt } from './rotation.ts';
import type { TokenState } from './state.ts';

/** One rule. Undefined means that it has nothing against the token. */
type Check = (state: TokenState, observation: TokenObservation, now: number) => IssueReason | undefined;

/** Why a token must be issued now; undefined while the one that is there will do. */
export function whyIssue(state: TokenState, observation: TokenObservation, now: number): IssueReason | undefined {
  for (const check of tokenPolicy) {
    const reason = check(state, observation, now);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/**
 * The earliest instant for an issuance with this reason. Between two there are ten seconds, and a fair part of the
 * lifetime before a renewal; only what somebody did to the Secret, or asked for, is answered sooner.
 */
export function mayIssueAt(reason: IssueReason, { record, lastIssuedAt }: TokenState, now: number): number {
  if (PROMPT.has(reason)) return lastIssuedAt + PROMPT_SPACING_MS;
  const spacedAt = lastIssuedAt + SPACING_MS;
  return reason === 'RotationDue' && record !== undefined && record.issuedAt <= now
    ? Math.max(spacedAt, earliestRenewAt(record))
    : spacedAt;
}

const SPACING_MS = 10_000;
/** Enough for our own write to come back by the watch before it is taken for missing. */
const PROMPT_SPACING_MS = 2_000;
const PROMPT: ReadonlySet<IssueReason> = new Set([
  'SecretMissing',
  'TokenMissing',
  'TokenAltered',
  'RotationRequested',
  'RevocationRequested',
]);

/** A bound token whose anchor is not listed is revoked by its successor, which replaces the anchor. */
const revocationUnderWay: Check = ({ secret, record, revokeRequest }, { token }) => {
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

const tokenExpired: Check = ({ expired }) => (expired ? 'RotationDue' : undefined);

const tokenMissing: Check = ({ hasToken }) => (hasToken ? undefined : 'TokenMissing');

const tokenAltered: Check = ({ forged }) => (forged ? 'TokenAltered' : undefined);

const tokenRefused: Check = ({ refused }) => (refused ? 'TokenRefused' : undefined);

const rotationRequested: Check = ({ record }, { token }) => {
  const request = requestOf(token, Annotation.rotate);
  return request !== undefined && request !== record?.rotateRequest ? 'RotationRequested' : undefined;
};

const renewalDue: Check = ({ renewAt }, _, now) => (renewAt !== undefined && renewAt <= now ? 'RotationDue' : undefined);

const tokenPolicy: readonly Check[] = [
  revocationUnderWay,
  secretMissing,
  recordDamaged,
  issuedForAnother,
  issuedWithAnother,
  tokenExpired,
  tokenMissing,
  tokenAltered,
  tokenRefused,
  rotationRequested,
  renewalDue,
];
