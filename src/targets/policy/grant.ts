// The grant of a token: the request that Purser sends to a target cluster, its limits, and the validation of the target's untrusted
// response.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { OwnAudiencePrefix } from '../../api/names.ts';
import { isBearerToken } from '../../kubernetes/bearer-token.ts';
import { toServiceAccountUsername } from '../../kubernetes/service-account.ts';
import { omitUndefined } from '../../std/omit-undefined.ts';
import type { Sensitive } from '../../std/sensitive.ts';
import { parseTimestamp } from '../../std/timestamp.ts';
import { MAX_TOKEN_LENGTH, type TokenClaims } from './token-claims.ts';

/** The object that a token is bound to. Deleting the object revokes the token. */
export interface BoundObject {
  readonly kind: 'Pod' | 'Secret';
  readonly name: string;
  /** UID that the object must have; absent if any UID is acceptable. */
  readonly uid?: string;
}

/** A request to a target for a token for one service account. */
export interface TargetTokenRequest {
  readonly namespace: string;
  readonly name: string;
  /** Requested audiences; empty for the API server's default audiences, which the response lists. */
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly boundObject?: BoundObject;
  /** UID that the service account must have; absent if any UID is acceptable. */
  readonly accountUID?: string;
}

/** Limits of the installation on tokens. `facadeAudiences` and `credentialNamespaces` apply only to ManagedTokens. */
export interface TokenLimits {
  /** Maximum lifetime, in seconds; longer requested lifetimes are shortened. Unlimited if undefined. */
  readonly maxExpirationSeconds?: number;
  /** Audiences that tokens are allowed to have; all if undefined. */
  readonly allowedAudiences?: readonly string[];
  /** Audiences that the façade accepts in callers' tokens. ManagedTokens get no tokens for these audiences. */
  readonly facadeAudiences?: readonly string[];
  /** Namespaces with cluster credentials, in which ManagedTokens are rejected. */
  readonly credentialNamespaces?: readonly string[];
}

export function toTokenLimits({ maxExpirationSeconds, allowedAudiences }: LimitSettings): TokenLimits {
  return omitUndefined({ maxExpirationSeconds, allowedAudiences });
}

type SettableLimits = Pick<TokenLimits, 'maxExpirationSeconds' | 'allowedAudiences'>;
type LimitSettings = { readonly [Limit in keyof SettableLimits]: SettableLimits[Limit] | undefined };

/** Parts of a request that differ between issuances of one ManagedToken. */
export interface IssueDetails {
  /** UID of the anchor Secret on the target; required with revocation BoundSecret. */
  readonly anchorUID?: string;
  /** UID that the service account must have; absent if any UID is acceptable. */
  readonly accountUID?: string;
  /** Audiences of the target's API server, for a spec without audiences; absent if they are unknown. */
  readonly apiAudiences?: readonly string[];
}

export function toTargetTokenRequest(
  { metadata, spec }: ManagedToken,
  { anchorUID, accountUID, apiAudiences = [] }: IssueDetails,
  limits: TokenLimits = {},
): TargetTokenRequest {
  const boundObject = toBoundObject(spec, metadata.uid, anchorUID);
  return omitUndefined({
    namespace: spec.serviceAccount.namespace,
    name: spec.serviceAccount.name,
    audiences: spec.audiences ?? apiAudiences,
    expirationSeconds: limitLifetimeSeconds(spec.expirationSeconds, limits),
    boundObject,
    accountUID: accountUID || undefined,
  });
}

/** Returns the lifetime to request, shortened to the maximum of the installation. */
export function limitLifetimeSeconds(expirationSeconds: number, { maxExpirationSeconds = Infinity }: TokenLimits): number {
  return Math.min(expirationSeconds, maxExpirationSeconds);
}

/** Returns the name of the anchor Secret that tokens with revocation BoundSecret are bound to. */
export function toAnchorName(tokenUID: string): string {
  return `purser-${tokenUID}`;
}

/**
 * Requested lifetime that Kubernetes can extend to a year, in seconds. By default, kube-apiserver extends it for tokens that are bound to a
 * Pod and have the API server's own audiences, because older clients do not reload such tokens.
 */
export const SILENTLY_EXTENDED_SECONDS = 3607;

/** Returns whether Kubernetes can extend the requested lifetime to a year. */
export function isSilentlyExtended({
  expirationSeconds,
  boundObject,
}: Pick<TargetTokenRequest, 'expirationSeconds' | 'boundObject'>): boolean {
  return expirationSeconds === SILENTLY_EXTENDED_SECONDS && boundObject?.kind === 'Pod';
}

/** Returns the object that tokens of this spec are bound to; without `anchorUID`, the UID of an anchor is omitted. */
export function toBoundObject(spec: ManagedToken['spec'], tokenUID = '', anchorUID?: string): BoundObject | undefined {
  if (spec.revocation === 'BoundSecret')
    return omitUndefined<BoundObject>({ kind: 'Secret', name: toAnchorName(tokenUID), uid: anchorUID || undefined });
  if (spec.boundObjectRef === undefined) return undefined;
  const { kind, name, uid } = spec.boundObjectRef;
  return omitUndefined({ kind, name, uid: uid || undefined });
}

/** Returns whether an audience is reserved for the tokens that Purser itself sends to targets. */
export function isReservedAudience(audience: string): boolean {
  return audience.startsWith(OwnAudiencePrefix);
}

/** A token that a target granted. */
export interface Grant {
  readonly token: Sensitive<string>;
  /** Time at which the request was sent, on Purser's clock, in milliseconds since the epoch. */
  readonly issuedAt: number;
  /** `issuedAt` plus the granted lifetime, on Purser's clock. */
  readonly expiresAt: number;
  /** Audiences of the token; empty if neither the request, the token nor the response names any. */
  readonly audiences: readonly string[];
  /** Claims of the token; undefined if the token is not a JWT. */
  readonly claims?: TokenClaims;
}

/** Response of a target to a token request. */
export interface GrantResponse {
  readonly token: string;
  readonly expirationTimestamp: unknown;
  /** Audiences in the response; absent if it states none. */
  readonly audiences?: readonly string[];
  /** Claims of the token; undefined if the token is not a JWT, or is too long. */
  readonly claims?: TokenClaims;
}

/**
 * Returns the problems of a response; the token can be used if there are none. `serverAt` is the time on the target's clock.
 * Problems quote nothing from the response.
 */
export function checkGrant(request: TargetTokenRequest, response: GrantResponse, serverAt: number): readonly string[] {
  const problems = [
    ...findTokenProblems(response.token, computeMaxTokenLength(request)),
    ...findExpiryProblems(parseTimestamp(response.expirationTimestamp), serverAt),
    ...(response.claims ? findClaimProblems(request, response.claims, serverAt) : []),
    ...(response.claims && !isForAudiences(request, response) ? ['the audiences of the token differ from those requested'] : []),
  ];
  return [...new Set(problems)];
}

/** Returns the lifetime of the token, which ends at the earlier of the expiries in its claims and in the response. */
export function computeGrantedLifetimeMs({ expirationTimestamp, claims }: Omit<GrantResponse, 'token'>, serverAt: number): number {
  const expiresAt = Math.min(parseTimestamp(expirationTimestamp) ?? 0, claims?.expiresAt ?? Infinity);
  return Math.max(0, expiresAt - (claims?.issuedAt ?? serverAt));
}

/** Returns the audiences of the token: the requested ones or, for a request without audiences, those that the target granted. */
export function selectGrantedAudiences(
  { audiences: requested }: TargetTokenRequest,
  { audiences, claims }: GrantResponse,
): readonly string[] {
  return requested.length > 0 ? requested : (claims?.audiences ?? audiences ?? []);
}

/**
 * Returns whether the claims name the requested audiences or, for a request without audiences, those that the response states. Returns true
 * if neither the request nor the response has audiences.
 */
function isForAudiences({ audiences: requested }: TargetTokenRequest, { audiences: stated, claims }: GrantResponse): boolean {
  const expected = requested.length > 0 ? requested : stated;
  return expected === undefined || hasSameAudiences(claims?.audiences ?? [], expected);
}

/** Maximum time by which claims may be ahead of the target's clock, in milliseconds. */
const MAX_AHEAD_MS = 60_000;
/** Maximum age of a new token, in milliseconds. */
const MAX_TOKEN_AGE_MS = 600_000;

/**
 * Returns the maximum length of the token for a request. The token contains all audiences in base64, with each character escaped as at most
 * six characters.
 */
export function computeMaxTokenLength({ audiences }: Pick<TargetTokenRequest, 'audiences'>): number {
  return MAX_TOKEN_LENGTH + 8 * audiences.reduce((sum, { length }) => sum + length, 0);
}

function findTokenProblems(token: string, maxLength: number): readonly string[] {
  if (token === '') return ['the response contains no token'];
  if (token.length > maxLength) return ['the token is too long'];
  return isBearerToken(token) ? [] : ['the token contains characters that are not allowed in bearer tokens'];
}

function findExpiryProblems(expiresAt: number | undefined, serverAt: number): readonly string[] {
  if (expiresAt === undefined) return ['the response contains no expiry'];
  return expiresAt > serverAt ? [] : ['the token has expired'];
}

function findClaimProblems(request: TargetTokenRequest, claims: TokenClaims, serverAt: number): readonly string[] {
  const checks: readonly (readonly [boolean, string])[] = [
    [claims.subject === toServiceAccountUsername(request), 'the token is not for the requested service account'],
    [isBound(request, claims), 'the token is not bound as requested'],
    [claims.expiresAt !== undefined, 'the token has no expiry'],
    [(claims.expiresAt ?? Infinity) > serverAt, 'the token has expired'],
    [startsBy(claims.issuedAt, serverAt + MAX_AHEAD_MS), 'the issue time of the token is in the future'],
    [startsBy(claims.notBefore, serverAt + MAX_AHEAD_MS), 'the token is not valid yet'],
    [(claims.issuedAt ?? serverAt) >= serverAt - MAX_TOKEN_AGE_MS, 'the token was issued more than 10 minutes ago'],
  ];
  return checks.filter(([passes]) => !passes).map(([, problem]) => problem);
}

function startsBy(at: number | undefined, latestAt: number): boolean {
  return at === undefined || at <= latestAt;
}

function isBound({ boundObject }: TargetTokenRequest, { boundPodUID, boundSecretUID }: TokenClaims): boolean {
  if (boundObject === undefined) return boundPodUID === undefined && boundSecretUID === undefined;
  const uid = boundObject.kind === 'Pod' ? boundPodUID : boundSecretUID;
  return uid !== undefined && (boundObject.uid === undefined || boundObject.uid === uid);
}

/** Returns whether two lists contain the same audiences in any order. */
export function hasSameAudiences(a: readonly string[], b: readonly string[]): boolean {
  const [inA, inB] = [new Set(a), new Set(b)];
  return inA.size === inB.size && a.every((audience) => inB.has(audience));
}
