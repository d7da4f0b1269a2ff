// What the Secret of a ManagedToken amounts to: which token it holds, for what, until when.

import type { Cluster } from '../../api/cluster.gen.ts';
import { Annotation } from '../../api/names.ts';
import type { IssueReason } from '../../api/reasons.ts';
import { instantOf } from '../../std/instant.ts';
import { isIssuedWith, sameAudiences, supersededBy } from '../../targets/policy/issued-for.ts';
import type { TokenClaims } from '../../targets/policy/token-claims.ts';
import { anchorsOf, isRevocable } from './anchors.ts';
import type { StoredSecret, TokenObservation } from './observation.ts';
import { lifetimeOf, parseRecord, requestOf, type TokenRecord } from './record.ts';
import { type Lifetime, renewAt } from './rotation.ts';
import { isOwnedBy } from './secret-metadata.ts';

export interface TokenState {
  /** The one that is judged. */
  readonly secret: StoredSecret | undefined;
  readonly hasToken: boolean;
  /** What was issued; its times are no later than the token's own claims allow. Absent when missing or damaged. */
  readonly record: TokenRecord | undefined;
  /** Why what was issued is not what is wanted. */
  readonly superseded: IssueReason | undefined;
  /** True if the Cluster refers to another credential than the token was issued with. The token stays valid at its old address. */
  readonly otherCredential: boolean;
  /** Whether another token is in the place of the one that was issued. */
  readonly forged: boolean;
  /** Whether the target cluster said that it does not accept this token. */
  readonly refused: boolean;
  readonly expired: boolean;
  /** Absent without a record. */
  readonly renewAt: number | undefined;
  /** When a token was last issued, as far as anybody knows; never later than now. */
  readonly lastIssuedAt: number;
  /** A request to revoke that nobody has acted on. */
  readonly revokeRequest: string | undefined;
}

/** Reads the state from what is known. Total: whatever the Secret holds, there is a state. */
export function tokenState(observation: TokenObservation, now: number): TokenState {
  const { token, verdict } = observation;
  const cluster = coveredCluster(observation);
  const secret = judgedSecret(observation);
  const record = secret && currentRecord(secret, now);
  return {
    secret,
    hasToken: secret?.tokenDigest !== undefined,
    record,
    superseded: record && supersededBy(record.issuedFor, token, cluster),
    otherCredential: isFromOther(record, cluster),
    forged: secret !== undefined && record !== undefined && isForged(secret, record),
    refused: verdict?.accepted === false && verdict.tokenDigest === secret?.tokenDigest,
    expired: record !== undefined && record.expiresAt <= now,
    renewAt: record && renewalOf(record, observation, now),
    lastIssuedAt: lastIssuedAt(observation, record, now),
    revokeRequest: pendingRevocation(observation, record),
  };
}

/** Whether the token in the Secret is the one that this spec wants and the cluster accepts, as far as is known. */
export function isHeld({ hasToken, record, superseded, forged, refused }: TokenState): boolean {
  return hasToken && record !== undefined && superseded === undefined && !forged && !refused;
}

/** Returns whether the Secret holds a token that Purser issued and that has not expired, for this spec or a former one. */
export function isIssued({ hasToken, record, forged, expired }: TokenState): boolean {
  return hasToken && record !== undefined && !forged && !expired;
}

/** The names of all Secrets that are this ManagedToken's. */
export function ownedNames({ token, secret, former }: TokenObservation): readonly string[] {
  const secrets = secret === undefined ? former : [secret, ...former];
  return secrets.filter(({ metadata }) => isOwnedBy(metadata, token)).map(({ metadata }) => metadata.name ?? '');
}

/** Returns the Cluster if its credential covers it: otherwise a user who may write Clusters could have tokens removed. */
function coveredCluster({ cluster, unwritable }: TokenObservation): Cluster | undefined {
  return unwritable === undefined ? cluster : undefined;
}

function isFromOther(record: TokenRecord | undefined, cluster: Cluster | undefined): boolean {
  return record !== undefined && cluster !== undefined && !isIssuedWith(record.issuedFor, cluster);
}

/** Clocks are set by small steps all the time. */
const STEP_MS = 60_000;

/** The Secret that is judged: ours of the wanted name or, while there is none, ours of a former name. */
export function judgedSecret({ token, secret, former }: TokenObservation): StoredSecret | undefined {
  if (secret !== undefined && isOwnedBy(secret.metadata, token)) return secret;
  const ours = former.filter(({ metadata, tokenDigest }) => tokenDigest !== undefined && isOwnedBy(metadata, token));
  const expiresAt = ({ metadata }: StoredSecret) => parseRecord(metadata.annotations)?.expiresAt ?? 0;
  return ours.toSorted((a, b) => expiresAt(b) - expiresAt(a))[0];
}

function currentRecord({ metadata, claims }: StoredSecret, now: number): TokenRecord | undefined {
  const record = parseRecord(metadata.annotations);
  return record && { ...record, ...lifetimeOf(isFromTheFuture(record, now) ? claimedLifetime(record, claims) : record, claims) };
}

/** Our clock has been set back since the token was issued: what it said then counts for nothing. */
function isFromTheFuture({ issuedAt }: Lifetime, now: number): boolean {
  return issuedAt > now + STEP_MS;
}

function claimedLifetime(record: Lifetime, claims: TokenClaims | undefined): Lifetime {
  if (claims?.issuedAt === undefined || claims.expiresAt === undefined) return record;
  return { issuedAt: claims.issuedAt, expiresAt: Math.min(claims.expiresAt, record.expiresAt) };
}

function renewalOf(record: TokenRecord, { token }: TokenObservation, now: number): number {
  const uid = token.metadata.uid ?? '';
  return isFromTheFuture(record, now) ? now : renewAt(record, token.spec.rotation.renewBefore, uid);
}

/** Whether the token is another one than was issued, or says of itself what the record denies. */
function isForged({ tokenDigest, claims }: StoredSecret, { tokenDigest: issuedDigest, issuedFor }: TokenRecord): boolean {
  if (tokenDigest === undefined) return false;
  if (issuedDigest !== tokenDigest) return true;
  if (claims === undefined) return false;
  return (
    claims.subject !== issuedFor.subject ||
    !sameAudiences(claims.audiences, issuedFor.audiences) ||
    (claims.accountUID ?? '') !== issuedFor.accountUID
  );
}

function lastIssuedAt(observation: TokenObservation, record: TokenRecord | undefined, now: number): number {
  const known = [record?.issuedAt ?? 0, instantOf(observation.token.status?.issuedAt) ?? 0, observation.lastIssuedAt ?? 0];
  return Math.max(0, ...known.filter((at) => at <= now));
}

/** Tenants write the record in the Secret, so while anchors are listed the status alone says which revocations are done. */
function pendingRevocation({ token, revoked }: TokenObservation, record: TokenRecord | undefined): string | undefined {
  const request = isRevocable(token) ? requestOf(token, Annotation.revoke) : undefined;
  const { lastRevokeRequest } = token.status ?? {};
  const handled = record === undefined || anchorsOf(token).length > 0 ? lastRevokeRequest : record.revokeRequest;
  return request === handled || request === revoked ? undefined : request;
}
