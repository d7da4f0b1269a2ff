// The record of a token: annotations on its Secret, written in the same request as the token. One of them is the request that the token was
// issued for, which Purser compares with the current spec. The status reports the record. Only status.tokenDigest, which Purser signs,
// identifies the last issued token reliably, because tenants can change the record.

import type { Cluster } from '../../api/cluster.gen.ts';
import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { Annotation } from '../../api/names.ts';
import type { IssueReason } from '../../api/reasons.ts';
import { toServiceAccountUsername } from '../../kubernetes/service-account.ts';
import { identifierOf } from '../../kubernetes/untrusted.ts';
import { BoundedCache } from '../../std/bounded-cache.ts';
import { computeDigest } from '../../std/digest.ts';
import { formatTimestamp, parseTimestamp, toWholeSecond } from '../../std/timestamp.ts';
import { type BoundObject, type Grant, hasSameAudiences, toBoundObject } from '../../targets/policy/grant.ts';
import type { IssuingCredential } from '../../targets/policy/registration.ts';
import type { TokenClaims } from '../../targets/policy/token-claims.ts';
import { computeRenewAt, type Lifetime } from './rotation.ts';
import type { StoredToken } from './spec.ts';

/** The request that a token was issued for: the parts of the spec and of the cluster's registration that determine the token. */
export interface IssuedFor extends IssuingCredential {
  readonly cluster: string;
  /** Name of the service account on the hub that requested the token. */
  readonly requester: string;
  /** User name of the service account on the target cluster. */
  readonly subject: string;
  /** UID of the service account on the target cluster; empty if the token does not contain it. */
  readonly accountUID: string;
  readonly audiences: readonly string[];
  /** True if the spec named no audiences, so the token is for those of the target's API server. */
  readonly isForAPI?: true;
  /** Object that the token is bound to, as `kind/name/uid`; empty for a token that is not bound. */
  readonly boundTo: string;
}

export interface TokenRecord extends Lifetime {
  readonly issuedFor: IssuedFor;
  /** Digest of the token; undefined once the token is removed from the Secret. */
  readonly tokenDigest?: string;
  /** The token's `jti` claim; undefined if the token has none. */
  readonly credentialId?: string;
  readonly rotations: number;
  /** Value of the `rotate` annotation that this token satisfies; undefined if there is none. */
  readonly rotateRequest?: string;
  /** Value of the `revoke` annotation when the token was issued; undefined if there is none. */
  readonly revokeRequest?: string;
}

/** A granted token, and the ManagedToken, Cluster and credential that it was granted for. */
export interface Issuance {
  readonly token: StoredToken;
  readonly issuingCredential: IssuingCredential;
  readonly grant: Omit<Grant, 'token'>;
  readonly tokenDigest: string;
  /** Record of the previous token; undefined for a first token, or if the record is damaged. */
  readonly previous: TokenRecord | undefined;
}

/** Creates the record of a token that was just granted. */
export function createRecord({ token, issuingCredential, grant, tokenDigest, previous }: Issuance): TokenRecord {
  const { claims } = grant;
  const boundUID = claims?.boundSecretUID ?? claims?.boundPodUID;
  const rotate = requestOf(token, Annotation.rotate);
  const revoke = requestOf(token, Annotation.revoke);
  return {
    ...toLifetime(grant, claims),
    issuedFor: toIssuedFor(token, issuingCredential, { audiences: grant.audiences, accountUID: claims?.accountUID, boundUID }),
    tokenDigest,
    ...(claims?.id && { credentialId: claims.id }),
    rotations: countRotations(token, previous),
    ...(rotate && { rotateRequest: rotate }),
    ...(revoke && { revokeRequest: revoke }),
  };
}

/** Values that are known only from the granted token. */
interface Granted {
  readonly audiences: readonly string[];
  readonly accountUID?: string | undefined;
  readonly boundUID?: string | undefined;
}

/** Returns the request that a token is issued for, from the current spec and registration. */
export function toIssuedFor(token: ManagedToken, { clusterUID, credential }: IssuingCredential, granted: Granted): IssuedFor {
  const { audiences, accountUID = '', boundUID } = granted;
  const { clusterName, requesterServiceAccountName: requester, serviceAccount } = token.spec;
  const bound = toBoundObject(token.spec, token.metadata.uid, boundUID);
  return {
    cluster: clusterName,
    clusterUID,
    credential,
    requester,
    subject: toServiceAccountUsername(serviceAccount),
    accountUID,
    audiences,
    ...markFor(token.spec.audiences === undefined),
    boundTo: bound === undefined ? '' : encodeBound(boundUID ? { ...bound, uid: boundUID } : bound),
  };
}

function markFor(isForAPI: boolean): Pick<IssuedFor, 'isForAPI'> {
  return isForAPI ? { isForAPI } : {};
}

/**
 * Returns the digest that ties a token to the request that it was issued for, and to its expiry. The status stores the digest, so that
 * Purser recognizes the last token although tenants can write the Secret and its record.
 */
export function toIssuanceDigest(tokenDigest: string, { issuedFor, expiresAt }: Pick<TokenRecord, 'issuedFor' | 'expiresAt'>): string {
  return computeDigest(`${tokenDigest} ${formatTimestamp(expiresAt)} ${encodeIssuedFor(issuedFor)}`);
}

/**
 * Digest of an issued token (see `toIssuanceDigest`) and Purser's signature, which is valid for one ManagedToken. Without the signature,
 * users who can write the status could forge the digest.
 */
export interface SignedDigest {
  readonly digest: string;
  readonly signature: string;
}

/** Returns the lifetime, truncated to whole seconds as in annotations, and no longer than the claims allow. */
export function toLifetime({ issuedAt, expiresAt }: Lifetime, claims: TokenClaims | undefined): Lifetime {
  const claimedMs = claims?.expiresAt !== undefined && claims.issuedAt !== undefined ? claims.expiresAt - claims.issuedAt : Infinity;
  const from = toWholeSecond(issuedAt);
  return { issuedAt: from, expiresAt: toWholeSecond(from + Math.min(expiresAt - issuedAt, claimedMs)) };
}

/**
 * Returns the reason to issue a new token for the current spec; undefined if there is none. Without `cluster`, the UID of the Cluster is
 * not compared.
 */
export function findReissueReason(issued: IssuedFor, token: ManagedToken, cluster: Cluster | undefined): IssueReason | undefined {
  const { clusterName, serviceAccount, audiences } = token.spec;
  const same =
    issued.cluster === clusterName &&
    issued.subject === toServiceAccountUsername(serviceAccount) &&
    (audiences === undefined ? issued.isForAPI === true : hasSameAudiences(issued.audiences, audiences)) &&
    isBoundTo(issued.boundTo, toBoundObject(token.spec, token.metadata.uid));
  if (!same) return 'SpecChanged';
  return cluster !== undefined && cluster.metadata.uid !== issued.clusterUID ? 'ClusterReplaced' : undefined;
}

/** Returns whether a token whose spec names no audiences was issued for different audiences than the target's API server accepts now. */
export function isForFormerAPI({ audiences, isForAPI }: IssuedFor, { spec }: ManagedToken, cluster: Cluster | undefined): boolean {
  const accepted = cluster?.status?.apiAudiences ?? [];
  return spec.audiences === undefined && isForAPI === true && accepted.length > 0 && !hasSameAudiences(audiences, accepted);
}

/** Returns whether the recorded object is the object of the spec; without a UID, any object of that name matches. */
function isBoundTo(boundTo: string, wanted: BoundObject | undefined): boolean {
  if (wanted === undefined) return boundTo === '';
  return wanted.uid === undefined ? boundTo.startsWith(encodeBound(wanted)) : boundTo === encodeBound(wanted);
}

function encodeBound({ kind, name, uid = '' }: BoundObject): string {
  return `${kind}/${name}/${uid}`;
}

/** Encodes a record as annotations: those that `parseRecord` reads, and the time of renewal. */
export function encodeRecord(record: TokenRecord, { metadata, spec }: StoredToken): Readonly<Record<string, string>> {
  const { tokenDigest, credentialId, rotateRequest, revokeRequest } = record;
  return {
    [Annotation.issuedAt]: formatTimestamp(record.issuedAt),
    [Annotation.expiresAt]: formatTimestamp(record.expiresAt),
    [Annotation.renewAt]: formatTimestamp(computeRenewAt(record, spec.rotation.renewBefore, metadata.uid)),
    [Annotation.issuedFor]: encodeIssuedFor(record.issuedFor),
    [Annotation.rotations]: String(record.rotations),
    ...(tokenDigest !== undefined && { [Annotation.tokenDigest]: tokenDigest }),
    ...(credentialId !== undefined && { [Annotation.credentialId]: credentialId }),
    ...(rotateRequest !== undefined && { [Annotation.rotateRequest]: rotateRequest }),
    ...(revokeRequest !== undefined && { [Annotation.revokeRequest]: revokeRequest }),
  };
}

/**
 * Parses the record in the annotations of a Secret; returns undefined if the record is missing or damaged. Ignores values that the status
 * could not hold: tenants can write the annotations. Never throws.
 */
export function parseRecord(annotations: Readonly<Record<string, string>> = {}): TokenRecord | undefined {
  const known = records.get(annotations);
  if (known !== undefined) return known.record;
  const record = readRecord(annotations);
  records.set(annotations, { record });
  return record;
}

const MAX_RECORDS = 256;
/** Parsed records by annotations, because a reconcile reads them several times and tenants can make them long. */
const records = new BoundedCache<{ readonly record: TokenRecord | undefined }, Readonly<Record<string, string>>>(MAX_RECORDS);

function readRecord(annotations: Readonly<Record<string, string>>): TokenRecord | undefined {
  const issuedAt = parseTimestamp(annotations[Annotation.issuedAt]);
  const expiresAt = parseTimestamp(annotations[Annotation.expiresAt]);
  const issuedFor = parseIssuedFor(annotations[Annotation.issuedFor]);
  if (issuedAt === undefined || expiresAt === undefined || issuedFor === undefined) return undefined;
  if (issuedFor.accountUID !== '' && identifierOf(issuedFor.accountUID) === undefined) return undefined;
  const { [Annotation.tokenDigest]: tokenDigest } = annotations;
  const credentialId = identifierOf(annotations[Annotation.credentialId]);
  const rotateRequest = omitLongRequest(annotations[Annotation.rotateRequest]);
  const revokeRequest = omitLongRequest(annotations[Annotation.revokeRequest]);
  return {
    issuedAt,
    expiresAt,
    issuedFor,
    rotations: parseCount(annotations[Annotation.rotations]),
    ...(tokenDigest && { tokenDigest }),
    ...(credentialId && { credentialId }),
    ...(rotateRequest && { rotateRequest }),
    ...(revokeRequest && { revokeRequest }),
  };
}

/** Encodes the request that a token was issued for as compact JSON. */
export function encodeIssuedFor(issued: IssuedFor): string {
  const { cluster, clusterUID, credential, requester, subject, accountUID, audiences, isForAPI, boundTo } = issued;
  return JSON.stringify({ cluster, clusterUID, credential, requester, subject, accountUID, audiences, isForAPI, boundTo });
}

/** Parses the result of `encodeIssuedFor`; returns undefined if the string is not JSON, or if a required field is missing or not valid. */
export function parseIssuedFor(text: string | undefined): IssuedFor | undefined {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null) return undefined;
  const { audiences, isForAPI, ...texts } = value as Partial<Record<keyof IssuedFor, unknown>>;
  const { cluster, clusterUID, credential, requester, subject, accountUID, boundTo } = texts;
  if (!isText(requester) || !isText(cluster) || !isText(clusterUID) || !isText(credential)) return undefined;
  if (!isText(subject) || !isText(accountUID) || !isText(boundTo)) return undefined;
  if (!Array.isArray(audiences) || !audiences.every(isText)) return undefined;
  return { cluster, clusterUID, credential, requester, subject, accountUID, audiences, ...markFor(isForAPI === true), boundTo };
}

function parseJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** Maximum length of a rotate or revoke request in the status, in characters, as in the CRD. */
const MAX_REQUEST_LENGTH = 1_024;

function omitLongRequest(text: string | undefined): string | undefined {
  return text !== undefined && text.length <= MAX_REQUEST_LENGTH ? text : undefined;
}

/** Returns the value of an annotation that requests a rotation or revocation; undefined without a request. */
export function requestOf({ metadata }: StoredToken, annotation: string): string | undefined {
  return metadata.annotations?.[annotation] || undefined;
}

function countRotations({ status }: StoredToken, previous: TokenRecord | undefined): number {
  const before = previous?.rotations ?? status?.rotations;
  return before === undefined ? 0 : parseCount(String(before + 1));
}

function parseCount(text = ''): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}
