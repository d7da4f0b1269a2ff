// Who a service-account token speaks for, and whether it still does: it ends with its time, its account or the object it is bound to.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import { goQuote } from '../../src/std/go-text.ts';
import { isSignedBy, type ParsedToken, parseToken } from './json-web-token.ts';
import type { ObjectSource } from './object-source.ts';
import { type ClaimedObject, type KubernetesClaims, type TokenClaims, userOf } from './service-account-claims.ts';
import type { VerifyingKey } from './signing-key.ts';
import type { User } from './user.ts';

/** What service-account tokens are verified against. */
export interface ServiceAccountTrust {
  readonly issuers: readonly string[];
  readonly keys: readonly VerifyingKey[];
  /** The audiences of this API server. */
  readonly audiences: readonly string[];
  readonly objects: ObjectSource;
}

/** `unknown`: not a token of ours, so another authenticator may know it. The reason of a refusal never quotes the token. */
export type TokenVerdict =
  | { readonly type: 'accepted'; readonly user: User; readonly audiences: readonly string[] }
  | { readonly type: 'refused'; readonly reason: string }
  | { readonly type: 'unknown' };

/** Verifies a token for at least one of `audiences`. */
export function verifyServiceAccountToken(
  token: string,
  audiences: readonly string[],
  trust: ServiceAccountTrust,
  now: number,
): TokenVerdict {
  const parsed = parseToken(token);
  const issuer = parsed?.claims['iss'];
  if (parsed === undefined || typeof issuer !== 'string' || !trust.issuers.includes(issuer)) return { type: 'unknown' };
  const reason = signatureProblem(parsed, trust.keys);
  if (reason !== undefined) return refused(reason);
  return acceptedClaims(parsed.claims, audiences, trust, now);
}

function signatureProblem(token: ParsedToken, known: readonly VerifyingKey[]): string | undefined {
  const { kid = '' } = token.header;
  const keys = kid === '' ? known : known.filter((key) => key.id === kid);
  if (keys.length === 0) return 'invalid signature, no keys found';
  return keys.some((key) => isSignedBy(token, key)) ? undefined : 'go-jose/go-jose: error in cryptographic primitive';
}

/** The verdict on claims whose signature is good. */
function acceptedClaims(claims: TokenClaims, audiences: readonly string[], trust: ServiceAccountTrust, now: number): TokenVerdict {
  const tokenAudiences = audiencesOf(claims) ?? trust.audiences;
  const matching = audiences.filter((audience) => tokenAudiences.includes(audience));
  if (matching.length === 0) {
    return refused(`token audiences ${quotedList(tokenAudiences)} is invalid for the target audiences ${quotedList(audiences)}`);
  }
  const reason = timeProblem(claims, now) ?? objectProblem(claims['kubernetes.io'] ?? {}, trust.objects, now);
  return reason === undefined ? { type: 'accepted', user: userOf(claims), audiences: matching } : refused(reason);
}

/** Clocks may differ by this much, and what was deleted is good for this much longer. */
const LEEWAY_MS = 60_000;

function refused(reason: string): TokenVerdict {
  return { type: 'refused', reason };
}

function audiencesOf({ aud = [] }: TokenClaims): readonly string[] | undefined {
  const audiences = typeof aud === 'string' ? [aud] : aud;
  return audiences.length > 0 ? audiences : undefined;
}

function timeProblem({ nbf, exp, iat }: TokenClaims, now: number): string | undefined {
  if (nbf !== undefined && now + LEEWAY_MS < nbf * 1000) return 'service account token is not valid yet';
  if (exp !== undefined && now - LEEWAY_MS > exp * 1000) return 'service account token has expired';
  if (iat !== undefined && now + LEEWAY_MS < iat * 1000) return 'service account token is issued in the future';
  return undefined;
}

function objectProblem(claims: KubernetesClaims, objects: ObjectSource, now: number): string | undefined {
  const { namespace = '', serviceaccount = {}, secret, pod, node } = claims;
  const gone = accountProblem(namespace, serviceaccount, objects, now);
  if (gone !== undefined) return gone;
  if (secret !== undefined) return boundProblem('secret', secret, objects.get('', 'secrets', namespace, secret.name ?? ''), now);
  // The node of a Pod is only told, not demanded.
  if (pod !== undefined) return boundProblem('pod', pod, objects.get('', 'pods', namespace, pod.name ?? ''), now);
  return node && boundProblem('node', node, objects.get('', 'nodes', '', node.name ?? ''), now);
}

function accountProblem(namespace: string, { name = '', uid = '' }: ClaimedObject, objects: ObjectSource, now: number): string | undefined {
  const account = objects.get('', 'serviceaccounts', namespace, name);
  if (account === undefined) return `serviceaccounts "${name}" not found`;
  if (account.metadata.uid !== uid) return `service account UID (${account.metadata.uid}) does not match claim (${uid})`;
  return isLongDeleted(account, now) ? `service account ${namespace}/${name} has been deleted` : undefined;
}

function boundProblem(kind: string, { uid = '' }: ClaimedObject, object: KubeObject | undefined, now: number): string | undefined {
  if (object === undefined) return 'service account token has been invalidated';
  if (object.metadata.uid !== uid) {
    return `${kind} UID (${object.metadata.uid}) does not match service account ${kind} ref claim (${uid})`;
  }
  return isLongDeleted(object, now) ? 'service account token has been invalidated' : undefined;
}

function isLongDeleted({ metadata: { deletionTimestamp } }: KubeObject, now: number): boolean {
  return deletionTimestamp !== undefined && Date.parse(deletionTimestamp) < now - LEEWAY_MS;
}

function quotedList(texts: readonly string[]): string {
  return `[${texts.map(goQuote).join(' ')}]`;
}
