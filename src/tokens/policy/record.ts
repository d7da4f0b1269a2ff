// The record of a token: annotations on its Secret, written in the same request as the token. Status is only a report.

import type { Cluster } from '../../api/cluster.gen.ts';
import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { Annotation } from '../../api/names.ts';
import { instantOf, instantText, wholeSecond } from '../../std/instant.ts';
import { fnv1a } from '../../std/spread.ts';
import type { Grant } from '../../targets/policy/grant.ts';
import { encodeIssuedFor, type IssuedFor, issuedForOf, parseIssuedFor } from '../../targets/policy/issued-for.ts';
import type { TokenClaims } from '../../targets/policy/token-claims.ts';
import { type Lifetime, renewAt } from './rotation.ts';

export interface TokenRecord extends Lifetime {
  readonly issuedFor: IssuedFor;
  /** Absent once the token has been taken out of the Secret. */
  readonly tokenDigest?: string;
  readonly credentialId?: string;
  readonly rotations: number;
  /** The values of the annotations that were acted on. */
  readonly rotateRequest?: string;
  readonly revokeRequest?: string;
}

/** What becomes of the observation and a grant. */
export interface Issuance {
  readonly token: ManagedToken;
  readonly cluster: Cluster;
  readonly grant: Omit<Grant, 'token'>;
  readonly tokenDigest: string;
  /** The record that this one follows. */
  readonly previous: TokenRecord | undefined;
}

/** The record of a token that was granted just now. */
export function recordOf({ token, cluster, grant, tokenDigest, previous }: Issuance): TokenRecord {
  const { claims } = grant;
  const boundUID = claims?.boundSecretUID ?? claims?.boundPodUID;
  const rotate = requestOf(token, Annotation.rotate);
  const revoke = requestOf(token, Annotation.revoke);
  return {
    ...lifetimeOf(grant, claims),
    issuedFor: issuedForOf(token, cluster, { accountUID: claims?.accountUID, boundUID }),
    tokenDigest,
    ...(claims?.id && { credentialId: claims.id }),
    rotations: rotationsAfter(token, previous),
    ...(rotate && { rotateRequest: rotate }),
    ...(revoke && { revokeRequest: revoke }),
  };
}

/** In whole seconds, as it is written; no longer than the claims allow. */
export function lifetimeOf({ issuedAt, expiresAt }: Lifetime, claims: TokenClaims | undefined): Lifetime {
  const claimedMs = claims?.expiresAt !== undefined && claims.issuedAt !== undefined ? claims.expiresAt - claims.issuedAt : Infinity;
  const from = wholeSecond(issuedAt);
  return { issuedAt: from, expiresAt: wholeSecond(from + Math.min(expiresAt - issuedAt, claimedMs)) };
}

/** The annotations that `parseRecord` reads, and those for people. */
export function recordAnnotations(record: TokenRecord, { metadata, spec }: ManagedToken): Readonly<Record<string, string>> {
  const { tokenDigest, credentialId, rotateRequest, revokeRequest } = record;
  return {
    [Annotation.issuedAt]: instantText(record.issuedAt),
    [Annotation.expiresAt]: instantText(record.expiresAt),
    [Annotation.renewAt]: instantText(renewAt(record, spec.rotation.renewBefore, metadata.uid ?? '')),
    [Annotation.issuedFor]: encodeIssuedFor(record.issuedFor),
    [Annotation.rotations]: String(record.rotations),
    ...(tokenDigest !== undefined && { [Annotation.tokenDigest]: tokenDigest }),
    ...(credentialId !== undefined && { [Annotation.credentialId]: credentialId }),
    ...(rotateRequest !== undefined && { [Annotation.rotateRequest]: rotateRequest }),
    ...(revokeRequest !== undefined && { [Annotation.revokeRequest]: revokeRequest }),
  };
}

/** The record that the annotations of a Secret hold; undefined when it is missing or damaged. Never throws. Parses each object once. */
export function parseRecord(annotations: Readonly<Record<string, string>> = {}): TokenRecord | undefined {
  if (!records.has(annotations)) records.set(annotations, readRecord(annotations));
  return records.get(annotations);
}

/** Records by the annotations that hold them: reconciles read them several times, and tenants can make them long. */
const records = new WeakMap<Readonly<Record<string, string>>, TokenRecord | undefined>();

function readRecord(annotations: Readonly<Record<string, string>>): TokenRecord | undefined {
  const issuedAt = instantOf(annotations[Annotation.issuedAt]);
  const expiresAt = instantOf(annotations[Annotation.expiresAt]);
  const issuedFor = parseIssuedFor(annotations[Annotation.issuedFor]);
  if (issuedAt === undefined || expiresAt === undefined || issuedFor === undefined) return undefined;
  const { [Annotation.tokenDigest]: tokenDigest, [Annotation.credentialId]: credentialId } = annotations;
  const { [Annotation.rotateRequest]: rotateRequest, [Annotation.revokeRequest]: revokeRequest } = annotations;
  return {
    issuedAt,
    expiresAt,
    issuedFor,
    rotations: countOf(annotations[Annotation.rotations]),
    ...(tokenDigest && { tokenDigest }),
    ...(credentialId && { credentialId }),
    ...(rotateRequest && { rotateRequest }),
    ...(revokeRequest && { revokeRequest }),
  };
}

/** What people ask for by an annotation, short enough to be kept; undefined when they ask for nothing. */
export function requestOf({ metadata }: ManagedToken, annotation: string): string | undefined {
  const value = metadata.annotations?.[annotation] ?? '';
  if (value.length <= MAX_REQUEST) return value === '' ? undefined : value;
  return `${value.slice(0, MAX_REQUEST)} ${fnv1a(value).toString(16)}`.toWellFormed();
}

const MAX_REQUEST = 256;

function rotationsAfter({ status }: ManagedToken, previous: TokenRecord | undefined): number {
  const before = previous?.rotations ?? status?.rotations;
  return before === undefined ? 0 : countOf(String(before + 1));
}

function countOf(text = ''): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}
