// Service-account tokens: claims and verification. A token is valid until it expires, or until its service account or bound
// object is deleted.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import { quoteGoString } from '../../src/std/go-text.ts';
import type { ObjectSource } from './policy.ts';
import { isSignedBy, parseToken, type SigningKey } from './signing-key.ts';
import { toServiceAccountGroups, type User } from './user.ts';

/** A token's reference to an object. A reference to a missing node has no uid. */
export interface ClaimedObject {
  readonly name?: string;
  readonly uid?: string;
}

/** Objects that a token is bound to: a Secret, a Pod with its node, or a node. */
export interface BoundClaims {
  readonly pod?: ClaimedObject;
  readonly secret?: ClaimedObject;
  readonly node?: ClaimedObject;
}

/** The claim `kubernetes.io`. */
interface KubernetesClaims extends BoundClaims {
  readonly namespace?: string;
  readonly serviceaccount?: ClaimedObject;
}

/** Claims of a token; times are Unix times in seconds. */
export interface TokenClaims {
  readonly aud?: string | readonly string[];
  readonly exp?: number;
  readonly iat?: number;
  readonly iss?: string;
  readonly jti?: string;
  readonly 'kubernetes.io'?: KubernetesClaims;
  readonly nbf?: number;
  readonly sub?: string;
}

export interface TokenGrant {
  readonly issuer: string;
  readonly id: string;
  readonly serviceAccount: KubeObject;
  readonly audiences: readonly string[];
  readonly lifetimeSeconds: number;
  readonly bound?: BoundClaims;
}

/** Returns the claims of a token issued at `now`. */
export function createClaims(grant: TokenGrant, now: number): TokenClaims {
  const { namespace = '', name = '' } = grant.serviceAccount.metadata;
  const issuedAt = Math.floor(now / 1000);
  const { node, pod, secret } = grant.bound ?? {};
  return {
    aud: grant.audiences,
    exp: issuedAt + grant.lifetimeSeconds,
    iat: issuedAt,
    iss: grant.issuer,
    jti: grant.id,
    'kubernetes.io': {
      namespace,
      ...(node && { node }),
      ...(pod && { pod }),
      ...(secret && { secret }),
      serviceaccount: toClaimedObject(grant.serviceAccount),
    },
    nbf: issuedAt,
    sub: `system:serviceaccount:${namespace}:${name}`,
  };
}

export function toClaimedObject({ metadata: { name, uid } }: KubeObject): ClaimedObject {
  return { ...(name !== undefined && { name }), ...(uid !== undefined && { uid }) };
}

/** Settings for issuing and verifying service-account tokens. */
export interface TokenIssuer {
  readonly issuer: string;
  readonly key: SigningKey;
  /** Audiences of this API server: the default audiences of tokens. */
  readonly audiences: readonly string[];
  readonly objects: ObjectSource;
}

/** Result of a verification; `unknown` if the string is not a token of this issuer. The reason never contains the token. */
export type TokenVerdict =
  | { readonly type: 'accepted'; readonly user: User; readonly audiences: readonly string[] }
  | { readonly type: 'rejected'; readonly reason: string }
  | { readonly type: 'unknown' };

/** Verifies a token, which must be valid for one of `audiences`. */
export async function verifyServiceAccountToken(
  token: string,
  audiences: readonly string[],
  issuer: TokenIssuer,
  now: number,
): Promise<TokenVerdict> {
  const parsed = parseToken(token);
  if (parsed === undefined || parsed.claims['iss'] !== issuer.issuer) return { type: 'unknown' };
  if (parsed.kid !== '' && parsed.kid !== issuer.key.id) return toRejection('invalid signature, no keys found');
  if (!(await isSignedBy(token, issuer.key))) return toRejection('go-jose/go-jose: error in cryptographic primitive');
  return verifyClaims(parsed.claims, audiences, issuer, now);
}

function verifyClaims(claims: TokenClaims, audiences: readonly string[], issuer: TokenIssuer, now: number): TokenVerdict {
  const tokenAudiences = audiencesOf(claims) ?? issuer.audiences;
  const matching = audiences.filter((audience) => tokenAudiences.includes(audience));
  if (matching.length === 0) {
    return toRejection(`token audiences ${quoteList(tokenAudiences)} is invalid for the target audiences ${quoteList(audiences)}`);
  }
  const reason = findTimeProblem(claims, now) ?? findObjectProblem(claims['kubernetes.io'] ?? {}, issuer.objects, now);
  return reason === undefined ? { type: 'accepted', user: toUser(claims), audiences: matching } : toRejection(reason);
}

function toUser({ jti, 'kubernetes.io': kubernetes = {} }: TokenClaims): User {
  const { namespace = '', serviceaccount: { name = '', uid = '' } = {}, pod, node } = kubernetes;
  const values = {
    'credential-id': jti && `JTI=${jti}`,
    'node-name': node?.name,
    'node-uid': node?.uid,
    'pod-name': pod?.name,
    'pod-uid': pod?.uid,
  };
  const extra = Object.entries(values).flatMap(([key, value]) =>
    value ? [[`authentication.kubernetes.io/${key}`, [value]] as const] : [],
  );
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    uid,
    groups: toServiceAccountGroups(namespace),
    ...(extra.length > 0 && { extra: Object.fromEntries(extra) }),
  };
}

/** Tolerated clock skew of the times in claims, and of the deletionTimestamp of an object that finalizers keep, in milliseconds. */
const LEEWAY_MS = 60_000;

function toRejection(reason: string): TokenVerdict {
  return { type: 'rejected', reason };
}

function audiencesOf({ aud = [] }: TokenClaims): readonly string[] | undefined {
  const audiences = typeof aud === 'string' ? [aud] : aud;
  return audiences.length > 0 ? audiences : undefined;
}

function findTimeProblem({ nbf, exp, iat }: TokenClaims, now: number): string | undefined {
  if (nbf !== undefined && now + LEEWAY_MS < nbf * 1000) return 'service account token is not valid yet';
  if (exp !== undefined && now - LEEWAY_MS > exp * 1000) return 'service account token has expired';
  if (iat !== undefined && now + LEEWAY_MS < iat * 1000) return 'service account token is issued in the future';
  return undefined;
}

function findObjectProblem(claims: KubernetesClaims, objects: ObjectSource, now: number): string | undefined {
  const { namespace = '', serviceaccount = {}, secret, pod, node } = claims;
  const problem = findServiceAccountProblem(namespace, serviceaccount, objects, now);
  if (problem !== undefined) return problem;
  if (secret !== undefined) return findBoundProblem('secret', secret, objects.get('', 'secrets', namespace, secret.name ?? ''), now);
  // The node of a Pod is informational and is not verified.
  if (pod !== undefined) return findBoundProblem('pod', pod, objects.get('', 'pods', namespace, pod.name ?? ''), now);
  return node && findBoundProblem('node', node, objects.get('', 'nodes', '', node.name ?? ''), now);
}

function findServiceAccountProblem(
  namespace: string,
  { name = '', uid = '' }: ClaimedObject,
  objects: ObjectSource,
  now: number,
): string | undefined {
  const serviceAccount = objects.get('', 'serviceaccounts', namespace, name);
  if (serviceAccount === undefined) return `serviceaccounts "${name}" not found`;
  if (serviceAccount.metadata.uid !== uid) return `service account UID (${serviceAccount.metadata.uid}) does not match claim (${uid})`;
  return wasDeleted(serviceAccount, now) ? `service account ${namespace}/${name} has been deleted` : undefined;
}

function findBoundProblem(kind: string, { uid = '' }: ClaimedObject, object: KubeObject | undefined, now: number): string | undefined {
  if (object === undefined) return 'service account token has been invalidated';
  if (object.metadata.uid !== uid) {
    return `${kind} UID (${object.metadata.uid}) does not match service account ${kind} ref claim (${uid})`;
  }
  return wasDeleted(object, now) ? 'service account token has been invalidated' : undefined;
}

function wasDeleted({ metadata: { deletionTimestamp } }: KubeObject, now: number): boolean {
  return deletionTimestamp !== undefined && Date.parse(deletionTimestamp) < now - LEEWAY_MS;
}

function quoteList(texts: readonly string[]): string {
  return `[${texts.map(quoteGoString).join(' ')}]`;
}
