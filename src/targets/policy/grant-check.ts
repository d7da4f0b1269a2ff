// A target's answer is untrusted: is this the token that was asked for?

import { isBearerToken } from '../../kubernetes/bearer-token.ts';
import { instantOf } from '../../std/instant.ts';
import { sameAudiences } from './issued-for.ts';
import { MAX_TOKEN_LENGTH, type TokenClaims } from './token-claims.ts';
import { subjectOf, type TokenRequest } from './token-request.ts';

/** What the target answered. */
export interface GrantAnswer {
  readonly token: string;
  readonly expirationTimestamp: unknown;
  /** Absent when the token is opaque. */
  readonly claims?: TokenClaims;
}

/**
 * What is wrong with an answer; nothing means that the token can be used. `serverAt` is the time by the target's
 * clock. No problem repeats what the target said.
 */
export function checkGrant(request: TokenRequest, answer: GrantAnswer, serverAt: number): readonly string[] {
  const problems = [
    ...tokenProblems(answer.token, maxTokenLength(request)),
    ...expiryProblems(instantOf(answer.expirationTimestamp), serverAt),
    ...(answer.claims ? claimProblems(request, answer.claims, serverAt) : []),
  ];
  return [...new Set(problems)];
}

/** How long the token lives: the shorter of what it and the answer say. */
export function grantedLifetimeMs({ expirationTimestamp, claims }: Omit<GrantAnswer, 'token'>, serverAt: number): number {
  const expiresAt = Math.min(instantOf(expirationTimestamp) ?? 0, claims?.expiresAt ?? Infinity);
  return Math.max(0, expiresAt - (claims?.issuedAt ?? serverAt));
}

/** How far a clock may be ahead of the one that signed. */
const AHEAD_MS = 60_000;
/** Older tokens were not made for this request. */
const BEHIND_MS = 600_000;

/** How long the token may be that a request is answered with: it names all audiences, each character as six at most, in base64. */
export function maxTokenLength({ audiences }: Pick<TokenRequest, 'audiences'>): number {
  return MAX_TOKEN_LENGTH + 8 * audiences.reduce((sum, { length }) => sum + length, 0);
}

function tokenProblems(token: string, maxLength: number): readonly string[] {
  if (token === '') return ['it has no token'];
  if (token.length > maxLength) return ['the token is too long'];
  return isBearerToken(token) ? [] : ['the token has characters that no bearer token has'];
}

function expiryProblems(expiresAt: number | undefined, serverAt: number): readonly string[] {
  if (expiresAt === undefined) return ['it does not say when the token expires'];
  return expiresAt > serverAt ? [] : ['the token has expired'];
}

function claimProblems(request: TokenRequest, claims: TokenClaims, serverAt: number): readonly string[] {
  const checks: readonly (readonly [boolean, string])[] = [
    [claims.subject === subjectOf(request), 'the token is for another account'],
    [sameAudiences(claims.audiences, request.audiences), 'the token is for other audiences'],
    [isBound(request, claims), 'the token is not bound to the object that was named'],
    [claims.expiresAt !== undefined && claims.expiresAt > serverAt, 'the token has expired'],
    [startsBy(claims.issuedAt, serverAt + AHEAD_MS), 'the token was issued in the future'],
    [startsBy(claims.notBefore, serverAt + AHEAD_MS), 'the token is not valid yet'],
    [(claims.issuedAt ?? serverAt) >= serverAt - BEHIND_MS, 'the token was issued long before it was asked for'],
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
