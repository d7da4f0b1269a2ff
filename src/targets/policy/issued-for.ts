// What a token was issued for, as it is written on its Secret, and whether that is still what is wanted.

import type { Cluster } from '../../api/cluster.gen.ts';
import type { ManagedToken } from '../../api/managed-token.gen.ts';
import type { IssueReason } from '../../api/reasons.ts';
import { credentialDigest } from './credential-key.ts';
import { type BoundObject, boundObjectOf, subjectOf } from './token-request.ts';

/** Everything that makes one token another one. */
export interface IssuedFor {
  readonly cluster: string;
  readonly clusterUID: string;
  /** Digest of the name of the credential that the token was issued with; empty for Purser's own account on the hub. */
  readonly credential: string;
  /** The user name of the account. */
  readonly subject: string;
  /** Empty where an opaque token does not tell. */
  readonly accountUID: string;
  readonly audiences: readonly string[];
  /** `kind/name/uid`; empty when the token is bound to nothing. */
  readonly boundTo: string;
}

/** What only the grant tells. */
export interface Granted {
  readonly accountUID?: string | undefined;
  readonly boundUID?: string | undefined;
}

/** What a token that is issued now is for. */
export function issuedForOf(token: ManagedToken, cluster: Cluster, { accountUID = '', boundUID }: Granted): IssuedFor {
  const { clusterName, serviceAccount, audiences } = token.spec;
  const bound = boundObjectOf(token.spec, token.metadata.uid, boundUID);
  return {
    cluster: clusterName,
    clusterUID: cluster.metadata.uid ?? '',
    credential: credentialDigest(cluster),
    subject: subjectOf(serviceAccount),
    accountUID,
    audiences,
    boundTo: bound === undefined ? '' : boundText({ ...bound, ...(boundUID && { uid: boundUID }) }),
  };
}

/** Compact JSON, for people and for `parseIssuedFor`. */
export function issuedForText({ cluster, clusterUID, credential, subject, accountUID, audiences, boundTo }: IssuedFor): string {
  return JSON.stringify({ cluster, clusterUID, credential, subject, accountUID, audiences, boundTo });
}

/** The inverse of `issuedForText`; undefined for anything else. */
export function parseIssuedFor(text: string | undefined): IssuedFor | undefined {
  const value = parsed(text);
  if (typeof value !== 'object' || value === null) return undefined;
  const { audiences, ...texts } = value as Partial<Record<keyof IssuedFor, unknown>>;
  const { cluster, clusterUID, credential, subject, accountUID, boundTo } = texts;
  if (!isText(cluster) || !isText(clusterUID) || !isText(credential)) return undefined;
  if (!isText(subject) || !isText(accountUID) || !isText(boundTo)) return undefined;
  if (!Array.isArray(audiences) || !audiences.every(isText)) return undefined;
  return { cluster, clusterUID, credential, subject, accountUID, audiences, boundTo };
}

/** Why a token that was issued for this is no longer the one that is wanted; without the Cluster, its UID is not compared. */
export function supersededBy(issued: IssuedFor, token: ManagedToken, cluster: Cluster | undefined): IssueReason | undefined {
  const { clusterName, serviceAccount, audiences } = token.spec;
  const same =
    issued.cluster === clusterName &&
    issued.subject === subjectOf(serviceAccount) &&
    sameAudiences(issued.audiences, audiences) &&
    isBoundTo(issued.boundTo, boundObjectOf(token.spec, token.metadata.uid));
  if (!same) return 'SpecChanged';
  return cluster !== undefined && cluster.metadata.uid !== issued.clusterUID ? 'ClusterReplaced' : undefined;
}

/** Whether a token or its anchor was created with the credential that the Cluster refers to: only that one's pins are for the token. */
export function isIssuedWith(issued: Pick<IssuedFor, 'clusterUID' | 'credential'>, cluster: Cluster): boolean {
  return issued.clusterUID === cluster.metadata.uid && issued.credential === credentialDigest(cluster);
}

/** Whether two lists name the same audiences; their order means nothing. */
export function sameAudiences(a: readonly string[], b: readonly string[]): boolean {
  const [inA, inB] = [new Set(a), new Set(b)];
  return inA.size === inB.size && a.every((audience) => inB.has(audience));
}

function boundText({ kind, name, uid = '' }: BoundObject): string {
  return `${kind}/${name}/${uid}`;
}

/** Without a UID, any object of that name will do. */
function isBoundTo(boundTo: string, wanted: BoundObject | undefined): boolean {
  if (wanted === undefined) return boundTo === '';
  return wanted.uid === undefined ? boundTo.startsWith(boundText(wanted)) : boundTo === boundText(wanted);
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
