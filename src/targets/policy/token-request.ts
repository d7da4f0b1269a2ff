// What is asked of the target cluster for a ManagedToken.

import type { ManagedToken } from '../../api/managed-token.gen.ts';

/** The object that a token is bound to: it dies with the object. */
export interface BoundObject {
  readonly kind: 'Pod' | 'Secret';
  readonly name: string;
  /** When given, no token is issued for another object of the same name. */
  readonly uid?: string;
}

/** A request for a token of one service account. */
export interface TokenRequest {
  readonly namespace: string;
  readonly name: string;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly boundObject?: BoundObject;
  /** When given, no token is issued for another account of the same name. */
  readonly accountUID?: string;
}

/** What the installation allows, whatever the spec says. */
export interface TokenLimits {
  /** Longest lifetime; longer requests are shortened. Unlimited if undefined. */
  readonly maxExpirationSeconds?: number;
  /** Without it, every audience is. */
  readonly allowedAudiences?: readonly string[];
  /** Audiences that the façade accepts in callers' tokens, for which ManagedTokens get no token. */
  readonly facadeAudiences?: readonly string[];
  /** Namespaces with credentials of clusters, in which ManagedTokens are rejected. */
  readonly credentialNamespaces?: readonly string[];
}

/** The limits that the settings of an installation set. */
export function tokenLimits({ maxExpirationSeconds, allowedAudiences }: LimitSettings): TokenLimits {
  return { ...(maxExpirationSeconds !== undefined && { maxExpirationSeconds }), ...(allowedAudiences && { allowedAudiences }) };
}

type Settable = Pick<TokenLimits, 'maxExpirationSeconds' | 'allowedAudiences'>;
type LimitSettings = { readonly [Limit in keyof Settable]: Settable[Limit] | undefined };

/** What differs from one issuance of a ManagedToken to the next. */
export interface IssueDetails {
  /** The Secret on the target that the token is bound to; needed with revocation BoundSecret. */
  readonly anchorUID?: string;
  /** The account that a renewal expects. */
  readonly accountUID?: string;
}

/** The request that a ManagedToken makes. */
export function tokenRequestFor(
  { metadata, spec }: ManagedToken,
  { anchorUID, accountUID }: IssueDetails,
  limits: TokenLimits = {},
): TokenRequest {
  const boundObject = boundObjectOf(spec, metadata.uid, anchorUID);
  return {
    namespace: spec.serviceAccount.namespace,
    name: spec.serviceAccount.name,
    audiences: spec.audiences,
    expirationSeconds: requestedSeconds(spec.expirationSeconds, limits),
    ...(boundObject && { boundObject }),
    ...(accountUID && { accountUID }),
  };
}

/** Returns the lifetime to request: what is asked for, shortened to the longest that the installation allows. */
export function requestedSeconds(expirationSeconds: number, { maxExpirationSeconds = Infinity }: TokenLimits): number {
  return Math.min(expirationSeconds, maxExpirationSeconds);
}

/** The user name that a token of this account stands for. */
export function subjectOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** Returns the namespace of the service account that a user name stands for; undefined for other users. */
export function serviceAccountNamespace(username: string): string | undefined {
  return /^system:serviceaccount:([^:]+):[^:]+$/.exec(username)?.[1];
}

/** The Secret beside the account that tokens with revocation BoundSecret are bound to. */
export function anchorName(tokenUID: string): string {
  return `purser-${tokenUID}`;
}

/**
 * Whether Kubernetes would issue a token for a year though asked for an hour:
 * it takes 3607 seconds for the sign of a client that it must not break yet.
 */
export function isSilentlyExtended({ expirationSeconds, boundObject }: Pick<TokenRequest, 'expirationSeconds' | 'boundObject'>): boolean {
  return expirationSeconds === 3607 && boundObject?.kind === 'Pod';
}

/** What tokens of this spec are bound to, as far as it is known before the anchor is. */
export function boundObjectOf(spec: ManagedToken['spec'], tokenUID = '', anchorUID?: string): BoundObject | undefined {
  if (spec.revocation === 'BoundSecret') return { kind: 'Secret', name: anchorName(tokenUID), ...(anchorUID && { uid: anchorUID }) };
  if (spec.boundObjectRef === undefined) return undefined;
  const { kind, name, uid } = spec.boundObjectRef;
  return { kind, name, ...(uid && { uid }) };
}
