// The observation of a ManagedToken, and the state of its token, which is derived from the observation.

import type { Cluster } from '../../api/cluster.gen.ts';
import type { ManagedTokenStatus } from '../../api/managed-token.gen.ts';
import { Annotation } from '../../api/names.ts';
import type { IssueReason } from '../../api/reasons.ts';
import type { Stored } from '../../api/resources.ts';
import { parseTimestamp } from '../../std/timestamp.ts';
import { hasSameAudiences } from '../../targets/policy/grant.ts';
import { type IssuingCredential, isIssuedWith } from '../../targets/policy/registration.ts';
import type { TokenClaims } from '../../targets/policy/token-claims.ts';
import { isRevocable } from './anchors.ts';
import type { TokenFailure } from './messages.ts';
import {
  findReissueReason,
  isForFormerAPI,
  parseRecord,
  requestOf,
  type SignedDigest,
  type TokenRecord,
  toIssuanceDigest,
  toLifetime,
} from './record.ts';
import { computeRenewAt, type Lifetime } from './rotation.ts';
import { isOwnedBy, type SecretClaim, type StoredSecret } from './secret.ts';
import type { StoredToken } from './spec.ts';

/** Result of the last TokenReview on the target cluster; it applies only to the token with this digest. */
export interface ReviewVerdict {
  readonly tokenDigest: string;
  readonly accepted: boolean;
}

/** Name and UID of a Secret. */
export type SecretReference = NonNullable<ManagedTokenStatus['secretRef']>;

/** A ManagedToken and the objects that its plan depends on, from informers and memory. */
export interface TokenObservation extends SecretClaim {
  readonly token: StoredToken;
  readonly cluster: Stored<Cluster> | undefined;
  /** The Cluster and the credential that a token is issued with now; undefined without the Cluster. */
  readonly issuingCredential?: IssuingCredential | undefined;
  /** The Secret with the desired name, whichever object owns it. */
  readonly secret: StoredSecret | undefined;
  /** Name of an older ManagedToken that names the same Secret, and thus may create it; undefined if there is none. */
  readonly claimant?: string | undefined;
  /** Secrets with former names that this ManagedToken owns. */
  readonly former: readonly StoredSecret[];
  /** Digest of the desired outputs, rendered with a placeholder token; undefined without the Cluster, and if `unwritable` is set. */
  readonly outputsDigest?: string;
  /** Digest of the Secret that was written last, see `toSecretDigest`; undefined before the first write. */
  readonly writtenDigest?: string | undefined;
  /** The Secret that was written last; undefined before the first write, and after the removal of the Secret. */
  readonly writtenSecret?: SecretReference | undefined;
  /**
   * The Secret that was written last, if tenants have removed its label or its owner reference; undefined otherwise, and before `findStray`
   * reads it.
   */
  readonly stray?: StoredSecret | undefined;
  /**
   * Digest of the token that was issued and written last; undefined before the first token, and if Purser did not sign the digest for this
   * ManagedToken.
   */
  readonly issuedDigest?: SignedDigest | undefined;
  /**
   * Failure that prevents writing outputs: the registration of the Cluster or the address in the spec is not usable. Undefined if outputs
   * can be written.
   */
  readonly unwritable?: TokenFailure;
  readonly verdict?: ReviewVerdict | undefined;
  /** Time of the next TokenReview; undefined if verification is disabled. */
  readonly verifyAt?: number | undefined;
  /** Earliest time of the next attempt to delete former anchors; undefined if nothing delays it. */
  readonly anchorsAt?: number | undefined;
  /** True if this run waits for the deletion of anchors on other clusters. */
  readonly isDeletingAnchors?: boolean;
  /** Value of the `revoke` annotation that this run acted on; undefined if it revoked nothing. */
  readonly revoked?: string;
  /** Failure of a revocation, release or issuance in this run, after which the run attempts no other; undefined if none failed. */
  readonly failed?: TokenFailure;
  /** Time of the last issuance in this term, even if the token was not written; undefined if there was none. */
  readonly lastIssuedAt?: number | undefined;
}

/** State of the token in the Secret. */
export interface TokenState {
  /** The Secret that the other fields describe. */
  readonly secret: StoredSecret | undefined;
  readonly hasToken: boolean;
  /** Record of the issued token, with times limited by the token's own claims; undefined if the record is missing or damaged. */
  readonly record: TokenRecord | undefined;
  /** Reason why the issued token no longer matches the spec or the Cluster; undefined if it matches both, and without a record. */
  readonly superseded: IssueReason | undefined;
  /** True if the token was issued for another Cluster object or with another credential. It stays valid at the address in the Secret. */
  readonly hasOtherCredential: boolean;
  /** True if the target's API server has different audiences than the token was issued for. The token stays until it is replaced. */
  readonly hasOtherAudiences: boolean;
  /** True if the Secret holds the last issued token. The digest in the status or memory decides, because tenants can write the Secret. */
  readonly isLast: boolean;
  /** True if the Secret holds a different token than the issued one, or if the token's claims contradict the record. */
  readonly forged: boolean;
  /** True if the target cluster rejected the token in a TokenReview. */
  readonly rejected: boolean;
  readonly expired: boolean;
  /** Time of renewal; undefined without a record. */
  readonly renewAt: number | undefined;
  /** Time of the last known issuance, never in the future; 0 if there is none. */
  readonly lastIssuedAt: number;
  /** Request to revoke that Purser has not acted on; undefined if there is none. */
  readonly revokeRequest: string | undefined;
}

/** An observation of a ManagedToken, and the state of its token at `now`. */
export interface EvaluatedToken {
  readonly observation: TokenObservation;
  readonly state: TokenState;
  readonly now: number;
}

/** Derives the state from an observation at `now`. */
export function evaluateToken(observation: TokenObservation, now: number): EvaluatedToken {
  return { observation, state: deriveTokenState(observation, now), now };
}

/** Derives the state of the token. Total: there is a state for any content of the Secret. */
export function deriveTokenState(observation: TokenObservation, now: number): TokenState {
  const { verdict } = observation;
  const secret = findCurrentSecret(observation);
  const held = deriveSecretState(secret, observation, now);
  const { record } = held;
  return {
    ...held,
    isLast: isLastToken(secret, observation.issuedDigest),
    hasOtherCredential: isFromOther(record, observation),
    hasOtherAudiences: record !== undefined && isForFormerAPI(record.issuedFor, observation.token, coveredCluster(observation)),
    rejected: verdict?.accepted === false && verdict.tokenDigest === secret?.tokenDigest,
    renewAt: record && deriveRenewAt(record, observation, now),
    lastIssuedAt: findLastIssuedAt(observation, record, now),
    revokeRequest: findPendingRevocation(observation),
  };
}

/** Derives the part of the state that follows from a Secret of the ManagedToken, current or not. */
export function deriveSecretState(
  secret: StoredSecret | undefined,
  observation: TokenObservation,
  now: number,
): Pick<TokenState, 'secret' | 'hasToken' | 'record' | 'superseded' | 'forged' | 'expired'> {
  const record = secret && parseCurrentRecord(secret, now);
  return {
    secret,
    hasToken: secret?.tokenDigest !== undefined,
    record,
    superseded: record && findReissueReason(record.issuedFor, observation.token, coveredCluster(observation)),
    forged: secret !== undefined && record !== undefined && isForged(secret, record),
    expired: record !== undefined && record.expiresAt <= now,
  };
}

/**
 * Returns whether the Secret holds an unaltered token for this spec and Cluster that the cluster has not rejected; the token may have
 * expired.
 */
export function hasCurrentToken({ hasToken, record, superseded, forged, rejected }: TokenState): boolean {
  return hasToken && record !== undefined && superseded === undefined && !forged && !rejected;
}

/** Returns whether the Secret holds a token that Purser issued and that has not expired, for this spec or a former one. */
export function hasIssuedToken({ hasToken, record, forged, expired }: TokenState): boolean {
  return hasToken && record !== undefined && !forged && !expired;
}

/**
 * Returns the names of all Secrets that the ManagedToken owns, and of the stray Secret, except Secrets that are being deleted and hold no
 * token.
 */
export function ownedSecretNames({ token, secret, former, stray }: TokenObservation): readonly string[] {
  const secrets = secret === undefined ? former : [secret, ...former];
  const owned = secrets.filter(({ metadata }) => isOwnedBy(metadata, token));
  const held = [...owned, ...(stray === undefined ? [] : [stray])].filter(({ isEmptied }) => isEmptied !== true);
  return held.map(({ metadata }) => metadata.name);
}

/**
 * Returns the Cluster; undefined while outputs are unwritable, for example because the credential does not cover the Cluster: a user who
 * may write Clusters must not be able to have tokens removed.
 */
function coveredCluster({ cluster, unwritable }: TokenObservation): Cluster | undefined {
  return unwritable === undefined ? cluster : undefined;
}

function isLastToken(secret: StoredSecret | undefined, issuedDigest: SignedDigest | undefined): boolean {
  const record = secret && parseRecord(secret.metadata.annotations);
  if (issuedDigest === undefined || secret?.tokenDigest === undefined || record === undefined) return false;
  return toIssuanceDigest(secret.tokenDigest, record) === issuedDigest.digest;
}

function isFromOther(record: TokenRecord | undefined, { issuingCredential, unwritable }: TokenObservation): boolean {
  return (
    record !== undefined &&
    issuingCredential !== undefined &&
    unwritable === undefined &&
    !isIssuedWith(record.issuedFor, issuingCredential)
  );
}

/** Tolerance for small corrections of the clock, in milliseconds. */
const CLOCK_TOLERANCE_MS = 60_000;

/**
 * Returns the Secret with the current token: the owned Secret with the desired name or, if there is none, the former Secret whose token
 * expires last.
 */
export function findCurrentSecret({ token, secret, former }: TokenObservation): StoredSecret | undefined {
  if (secret !== undefined && isOwnedBy(secret.metadata, token)) return secret;
  const ours = former.filter(({ metadata, tokenDigest }) => tokenDigest !== undefined && isOwnedBy(metadata, token));
  const expiresAt = ({ metadata }: StoredSecret) => parseRecord(metadata.annotations)?.expiresAt ?? 0;
  return ours.toSorted((a, b) => expiresAt(b) - expiresAt(a))[0];
}

function parseCurrentRecord({ metadata, claims }: StoredSecret, now: number): TokenRecord | undefined {
  const record = parseRecord(metadata.annotations);
  return record && { ...record, ...toLifetime(isFromTheFuture(record, now) ? toClaimedLifetime(record, claims) : record, claims) };
}

/** Returns whether the clock was set back since issuance, so the recorded times do not apply. */
function isFromTheFuture({ issuedAt }: Lifetime, now: number): boolean {
  return issuedAt > now + CLOCK_TOLERANCE_MS;
}

function toClaimedLifetime(record: Lifetime, claims: TokenClaims | undefined): Lifetime {
  if (claims?.issuedAt === undefined || claims.expiresAt === undefined) return record;
  return { issuedAt: claims.issuedAt, expiresAt: Math.min(claims.expiresAt, record.expiresAt) };
}

function deriveRenewAt(record: TokenRecord, { token }: TokenObservation, now: number): number {
  const uid = token.metadata.uid;
  return isFromTheFuture(record, now) ? now : computeRenewAt(record, token.spec.rotation.renewBefore, uid);
}

/** Returns whether the token in the Secret differs from the issued token, or has claims that contradict the record. */
function isForged({ tokenDigest, claims }: StoredSecret, { tokenDigest: issuedDigest, issuedFor }: TokenRecord): boolean {
  if (tokenDigest === undefined) return false;
  if (issuedDigest !== tokenDigest) return true;
  if (claims === undefined) return false;
  return (
    claims.subject !== issuedFor.subject ||
    !hasSameAudiences(claims.audiences, issuedFor.audiences) ||
    (claims.accountUID ?? '') !== issuedFor.accountUID
  );
}

function findLastIssuedAt(observation: TokenObservation, record: TokenRecord | undefined, now: number): number {
  const known = [record?.issuedAt ?? 0, parseTimestamp(observation.token.status?.issuedAt) ?? 0, observation.lastIssuedAt ?? 0];
  return Math.max(0, ...known.filter((at) => at <= now));
}

/**
 * Returns the request to revoke, unless the status reports it as handled. The record in the Secret is not trusted: tenants can write it.
 */
function findPendingRevocation({ token, revoked }: TokenObservation): string | undefined {
  const request = isRevocable(token) ? requestOf(token, Annotation.revoke) : undefined;
  return request === token.status?.lastRevokeRequest || request === revoked ? undefined : request;
}
