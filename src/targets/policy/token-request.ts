// The token request that Purser sends to a target cluster for a ManagedToken.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { OwnAudiencePrefix } from '../../api/names.ts';
import { defined } from '../../std/defined.ts';

/** The object that a token is bound to. Deleting the object revokes the token. */
export interface BoundObject {
  readonly kind: 'Pod' | 'Secret';
  readonly name: string;
  /** UID that the object must have; absent for any. */
  readonly uid?: string;
}

/** A request for a token for one service account. */
export interface TokenRequest {
  readonly namespace: string;
  readonly name: string;
  /** Empty for the audiences of the API server itself, which its response names. */
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly boundObject?: BoundObject;
  /** UID that the service account must have; absent for any. */
  readonly accountUID?: string;
}

/** Limits of the installation on all tokens. */
export interface TokenLimits {
  /** Maximum lifetime, in seconds; longer requests are shortened. Unlimited if undefined. */
  readonly maxExpirationSeconds?: number;
  /** Audiences that tokens may have; all if undefined. */
  readonly allowedAudiences?: readonly string[];
  /** Audiences that the façade accepts in callers' tokens, for which ManagedTokens get no token. */
  readonly facadeAudiences?: readonly string[];
  /** Namespaces with cluster credentials, in which ManagedTokens are rejected. */
  readonly credentialNamespaces?: readonly string[];
}

/** Returns the limits in the settings. */
export function tokenLimits({ maxExpirationSeconds, allowedAudiences }: LimitSettings): TokenLimits {
  return defined({ maxExpirationSeconds, allowedAudiences });
}

type Settable = Pick<TokenLimits, 'maxExpirationSeconds' | 'allowedAudiences'>;
type LimitSettings = { readonly [Limit in keyof Settable]: Settable[Limit] | undefined };

/** Parts of a request that differ between issuances of one ManagedToken. */
export interface IssueDetails {
  /** UID of the anchor Secret on the target; required with revocation BoundSecret. */
  readonly anchorUID?: string;
  /** UID of the service account that a renewal expects. */
  readonly accountUID?: string;
  /** Audiences of the target's API server, for a spec without audiences; absent if they are unknown. */
  readonly apiAudiences?: readonly string[];
}

/** Returns the token request for a ManagedToken. */
export function tokenRequestFor(
  { metadata, spec }: ManagedToken,
  { anchorUID, accountUID, apiAudiences = [] }: IssueDetails,
  limits: TokenLimits = {},
): TokenRequest {
  const boundObject = boundObjectOf(spec, metadata.uid, anchorUID);
  return defined({
    namespace: spec.serviceAccount.namespace,
    name: spec.serviceAccount.name,
    audiences: spec.audiences ?? apiAudiences,
    expirationSeconds: requestedSeconds(spec.expirationSeconds, limits),
    boundObject,
    accountUID: accountUID || undefined,
  });
}

/** Returns the lifetime to request, shortened to the maximum of the installation. */
export function requestedSeconds(expirationSeconds: number, { maxExpirationSeconds = Infinity }: TokenLimits): number {
  return Math.min(expirationSeconds, maxExpirationSeconds);
}

/** Returns the user name of a service account. */
export function subjectOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** Returns the namespace in the user name of a service account; undefined for other users. */
export function serviceAccountNamespace(username: string): string | undefined {
  return toServiceAccount(username)?.namespace;
}

/** Returns the service account of a user name; undefined for other users. */
export function toServiceAccount(username: string): { readonly namespace: string; readonly name: string } | undefined {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username) ?? [];
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}

/** Returns the name of the anchor Secret that tokens with revocation BoundSecret are bound to. */
export function anchorName(tokenUID: string): string {
  return `purser-${tokenUID}`;
}

/** Lifetime in seconds that Kubernetes extends to a year for a Pod, because legacy clients request it. */
export const SILENTLY_EXTENDED_SECONDS = 3607;

/** Returns whether Kubernetes would issue a one-year token. */
export function isSilentlyExtended({ expirationSeconds, boundObject }: Pick<TokenRequest, 'expirationSeconds' | 'boundObject'>): boolean {
  return expirationSeconds === SILENTLY_EXTENDED_SECONDS && boundObject?.kind === 'Pod';
}

/** Returns the object that tokens of this spec are bound to; without `anchorUID`, the UID of an anchor is omitted. */
export function boundObjectOf(spec: ManagedToken['spec'], tokenUID = '', anchorUID?: string): BoundObject | undefined {
  if (spec.revocation === 'BoundSecret')
    return defined<BoundObject>({ kind: 'Secret', name: anchorName(tokenUID), uid: anchorUID || undefined });
  if (spec.boundObjectRef === undefined) return undefined;
  const { kind, name, uid } = spec.boundObjectRef;
  return defined({ kind, name, uid: uid || undefined });
}

/** Returns whether an audience is reserved for the tokens that Purser itself sends to targets. */
export function isReservedAudience(audience: string): boolean {
  return audience.startsWith(OwnAudiencePrefix);
}
