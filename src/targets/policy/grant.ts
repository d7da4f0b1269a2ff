// A token that a target granted, and the check of the target's response, which is not trusted.

import { isBearerToken } from '../../kubernetes/bearer-token.ts';
import type { Sensitive } from '../../std/sensitive.ts';
import { parseTimestamp } from '../../std/timestamp.ts';
import { sameAudiences } from './issued-for.ts';
import { MAX_TOKEN_LENGTH, type TokenClaims } from './token-claims.ts';
import { subjectOf, type TokenRequest } from './token-request.ts';

export interface Grant {
  readonly token: Sensitive<string>;
  /** Time at which the request was sent, on Purser's clock. */
  readonly issuedAt: number;
  /** `issuedAt` plus the granted lifetime, on Purser's clock. */
  readonly expiresAt: number;
  /** Audiences of the token; empty if the request named none, and neither the token nor the response does. */
  readonly audiences: readonly string[];
  /** Absent for a token that is not a JWT. */
  readonly claims?: TokenClaims;
}

/** The response of a target. */
export interface GrantResponse {
  readonly token: string;
  readonly expirationTimestamp: unknown;
  /** Audiences in the response; absent if it states none. */
  readonly audiences?: readonly string[];
  /** Absent for a token that is not a JWT. */
  readonly claims?: TokenClaims;
}

/**
 * Returns the problems of a response; the token can be used if there are none. `serverAt` is the time on the target's clock.
 * Problems quote nothing from the response.
 */
export function checkGrant(request: TokenRequest, response: GrantResponse, serverAt: number): readonly string[] {
  const problems = [
    ...tokenProblems(response.token, maxTokenLength(request)),
    ...expiryProblems(parseTimestamp(response.expirationTimestamp), serverAt),
    ...(response.claims ? claimProblems(request, response.claims, serverAt) : []),
    ...(response.claims && !isForAudiences(request, response) ? ['the token is for other audiences'] : []),
  ];
  return [...new Set(problems)];
}

/** Returns the lifetime of the token: the shorter of those in its claims and in the response. */
export function grantedLifetimeMs({ expirationTimestamp, claims }: Omit<GrantResponse, 'token'>, serverAt: number): number {
  const expiresAt = Math.min(parseTimestamp(expirationTimestamp) ?? 0, claims?.expiresAt ?? Infinity);
  return Math.max(0, expiresAt - (claims?.issuedAt ?? serverAt));
}

/** Returns the audiences of the token: the requested ones or, for a request without audiences, those that the target granted. */
export function grantedAudiences({ audiences: requested }: TokenRequest, { audiences, claims }: GrantResponse): readonly string[] {
  return requested.length > 0 ? requested : (claims?.audiences ?? audiences ?? []);
}

/** Returns whether the claims name the requested audiences or, for a request without audiences, those that the response states. */
function isForAudiences({ audiences: requested }: TokenRequest, { audiences: stated, claims }: GrantResponse): boolean {
  const expected = requested.length > 0 ? requested : stated;
  return expected === undefined || sameAudiences(claims?.audiences ?? [], expected);
}

/** Maximum time by which times in claims may be in the future, in milliseconds. */
const AHEAD_MS = 60_000;
/** Maximum age of a new token, in milliseconds. */
const BEHIND_MS = 600_000;

/**
 * Returns the maximum length of the token for a request: the token contains all audiences in base64, each character escaped as at most six.
 */
export function maxTokenLength({ audiences }: Pick<TokenRequest, 'audiences'>): number {
  return MAX_TOKEN_LENGTH + 8 * audiences.reduce((sum, { length }) => sum + length, 0);
}

function tokenProblems(token: string, maxLength: number): readonly string[] {
  if (token === '') return ['the response contains no token'];
  if (token.length > maxLength) return ['the token is too long'];
  return isBearerToken(token) ? [] : ['the token contains characters that are not allowed in bearer tokens'];
}

function expiryProblems(expiresAt: number | undefined, serverAt: number): readonly string[] {
  if (expiresAt === undefined) return ['the response contains no expiry'];
  return expiresAt > serverAt ? [] : ['the token has expired'];
}

function claimProblems(request: TokenRequest, claims: TokenClaims, serverAt: number): readonly string[] {
  const checks: readonly (readonly [boolean, string])[] = [
    [claims.subject === subjectOf(request), 'the token is for another service account'],
    [isBound(request, claims), 'the token is not bound to the requested object'],
    [claims.expiresAt !== undefined && claims.expiresAt > serverAt, 'the token has expired'],
    [startsBy(claims.issuedAt, serverAt + AHEAD_MS), 'the token was issued in the future'],
    [startsBy(claims.notBefore, serverAt + AHEAD_MS), 'the token is not valid yet'],
    [(claims.issuedAt ?? serverAt) >= serverAt - BEHIND_MS, 'the token was issued long before the request'],
  ];
  return checks.filter(([passes]) => !passes).map(([, problem]) => problem);
}

function startsBy(at: number | undefined, latestAt: number): boolean {
  return at === undefined || at <= latestAt;
}

function isBound({ boundObject }: TokenRequest, { boundPodUID, boundSecretUID }: TokenClaims): boolean {
  if (boundObject === undefined) return boundPodUID === undefined && boundSecretUID === undefined;
  const uid = boundObject.kind === 'Pod' ? boundPodUID : boundSecretUID;
  return uid !== undefined && (boundObject.uid === undefined || boundObject.uid === uid);
}
