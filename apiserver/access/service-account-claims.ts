// What a service-account token says: the claims that Kubernetes gives it.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import type { User } from './user.ts';
import { serviceAccountGroups } from './user-names.ts';

/** An object as a token refers to it. A node may be named before it exists. */
export interface ClaimedObject {
  readonly name?: string;
  readonly uid?: string;
}

/** What a token is bound to: a Secret, a Pod with the node it runs on if any, or a node. */
export interface BoundClaims {
  readonly pod?: ClaimedObject;
  readonly secret?: ClaimedObject;
  readonly node?: ClaimedObject;
}

/** The claim `kubernetes.io`. */
export interface KubernetesClaims extends BoundClaims {
  readonly namespace?: string;
  readonly serviceaccount?: ClaimedObject;
  /** Seconds since the epoch, from which on the use of an extended token is noted. */
  readonly warnafter?: number;
}

/** All claims; times are seconds since the epoch. */
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

/** What a token is to be issued for. */
export interface TokenGrant {
  readonly issuer: string;
  readonly id: string;
  readonly serviceAccount: KubeObject;
  readonly audiences: readonly string[];
  readonly lifetimeSeconds: number;
  readonly warnAfterSeconds?: number;
  readonly bound?: BoundClaims;
}

/** The claims of a token issued now. */
export function claimsFor(grant: TokenGrant, now: number): TokenClaims {
  const { namespace = '', name = '' } = grant.serviceAccount.metadata;
  const issuedAt = Math.floor(now / 1000);
  return {
    aud: grant.audiences,
    exp: issuedAt + grant.lifetimeSeconds,
    iat: issuedAt,
    iss: grant.issuer,
    jti: grant.id,
    'kubernetes.io': {
      namespace,
      ...grant.bound,
      serviceaccount: claimedObject(grant.serviceAccount),
      ...(grant.warnAfterSeconds !== undefined && { warnafter: issuedAt + grant.warnAfterSeconds }),
    },
    nbf: issuedAt,
    sub: `system:serviceaccount:${namespace}:${name}`,
  };
}

/** The user that a token with these claims speaks for. */
export function userOf({ jti, 'kubernetes.io': kubernetes = {} }: TokenClaims): User {
  const { namespace = '', serviceaccount: { name = '', uid = '' } = {}, pod, node } = kubernetes;
  const extra = {
    'credential-id': jti && `JTI=${jti}`,
    'node-name': node?.name,
    'node-uid': node?.uid,
    'pod-name': pod?.name,
    'pod-uid': pod?.uid,
  };
  const told = Object.entries(extra).flatMap(([key, value]) => (value ? [[`authentication.kubernetes.io/${key}`, [value]] as const] : []));
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    uid,
    groups: serviceAccountGroups(namespace),
    ...(told.length > 0 && { extra: Object.fromEntries(told) }),
  };
}

/** How a token refers to an object. */
export function claimedObject({ metadata: { name, uid } }: KubeObject): ClaimedObject {
  return { ...(name !== undefined && { name }), ...(uid !== undefined && { uid }) };
}
