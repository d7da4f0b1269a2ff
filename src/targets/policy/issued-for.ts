// The request that a token was issued for, as an annotation of its Secret records it, and its comparison with the current spec.

import type { Cluster } from '../../api/cluster.gen.ts';
import type { ManagedToken } from '../../api/managed-token.gen.ts';
import type { IssueReason } from '../../api/reasons.ts';
import { type BoundObject, boundObjectOf, sameAudiences, subjectOf } from './token-request.ts';

/** The Cluster and the credential that a token is issued with. */
export interface Issuer {
  readonly clusterUID: string;
  /** Digest of the credential Secret, whose name consumers must not learn; empty for Purser's own service account on the hub. */
  readonly credential: string;
}

/** The parts of spec and registration that a new token depends on. */
export interface IssuedFor extends Issuer {
  readonly cluster: string;
  /** Name of the service account on the hub that requested the token. */
  readonly requester: string;
  /** User name of the service account. */
  readonly subject: string;
  /** UID of the service account; empty if the token does not contain it. */
  readonly accountUID: string;
  readonly audiences: readonly string[];
  /** True if the spec named no audiences, so they are those of the target's API server. */
  readonly isForAPI?: true;
  /** `kind/name/uid`; empty for a token that is not bound. */
  readonly boundTo: string;
}

/** Parts that only the granted token contains. */
export interface Granted {
  readonly audiences: readonly string[];
  readonly accountUID?: string | undefined;
  readonly boundUID?: string | undefined;
}

/** Returns the record for a token that is issued now. */
export function issuedForOf(token: ManagedToken, { clusterUID, credential }: Issuer, granted: Granted): IssuedFor {
  const { audiences, accountUID = '', boundUID } = granted;
  const { clusterName, requesterServiceAccountName: requester, serviceAccount } = token.spec;
  const bound = boundObjectOf(token.spec, token.metadata.uid, boundUID);
  return {
    cluster: clusterName,
    clusterUID,
    credential,
    requester,
    subject: subjectOf(serviceAccount),
    accountUID,
    audiences,
    ...markFor(token.spec.audiences === undefined),
    boundTo: bound === undefined ? '' : encodeBound(boundUID ? { ...bound, uid: boundUID } : bound),
  };
}

/** Encodes the record as compact JSON. */
export function encodeIssuedFor(issued: IssuedFor): string {
  const { cluster, clusterUID, credential, requester, subject, accountUID, audiences, isForAPI, boundTo } = issued;
  return JSON.stringify({ cluster, clusterUID, credential, requester, subject, accountUID, audiences, isForAPI, boundTo });
}

/** Parses the result of `encodeIssuedFor`; returns undefined for any other string. */
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

/** Returns the reason for which the current spec needs a new token; undefined if it needs none. Without `cluster`, the UID of the Cluster is not compared. */
export function supersededBy(issued: IssuedFor, token: ManagedToken, cluster: Cluster | undefined): IssueReason | undefined {
  const { clusterName, serviceAccount, audiences } = token.spec;
  const same =
    issued.cluster === clusterName &&
    issued.subject === subjectOf(serviceAccount) &&
    (audiences === undefined ? issued.isForAPI === true : sameAudiences(issued.audiences, audiences)) &&
    isBoundTo(issued.boundTo, boundObjectOf(token.spec, token.metadata.uid));
  if (!same) return 'SpecChanged';
  return cluster !== undefined && cluster.metadata.uid !== issued.clusterUID ? 'ClusterReplaced' : undefined;
}

/** Returns whether a token without audiences in its spec is for different audiences than the target's API server accepts now. */
export function isForFormerAPI({ audiences, isForAPI }: IssuedFor, { spec }: ManagedToken, cluster: Cluster | undefined): boolean {
  const accepted = cluster?.status?.apiAudiences ?? [];
  return spec.audiences === undefined && isForAPI === true && accepted.length > 0 && !sameAudiences(audiences, accepted);
}

/** Returns whether a token or its anchor was created with this credential, whose pins then apply to the token. */
export function isIssuedWith(issued: Issuer, { clusterUID, credential }: Issuer): boolean {
  return issued.clusterUID === clusterUID && issued.credential === credential;
}

function markFor(isForAPI: boolean): Pick<IssuedFor, 'isForAPI'> {
  return isForAPI ? { isForAPI } : {};
}

function encodeBound({ kind, name, uid = '' }: BoundObject): string {
  return `${kind}/${name}/${uid}`;
}

/** Returns whether the recorded object is the object of the spec; without a UID, any object of that name matches. */
function isBoundTo(boundTo: string, wanted: BoundObject | undefined): boolean {
  if (wanted === undefined) return boundTo === '';
  return wanted.uid === undefined ? boundTo.startsWith(encodeBound(wanted)) : boundTo === encodeBound(wanted);
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
