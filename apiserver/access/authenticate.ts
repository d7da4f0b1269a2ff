// Authentication by bearer token: a static token, a service-account token, a token of a trusted issuer, or none (`system:anonymous`).

import { aggregate } from '../../src/kubernetes/status.ts';
import { type TokenIssuer, verifyServiceAccountToken } from './service-account-tokens.ts';
import type { TrustedTokenVerifier } from './trusted-issuer.ts';
import { type User, withGroup } from './user.ts';

export interface Authenticators {
  readonly staticTokens: ReadonlyMap<string, User>;
  readonly serviceAccounts: TokenIssuer;
  /** Verifier of another cluster's tokens; absent if no issuer is trusted. */
  readonly trusted?: TrustedTokenVerifier | undefined;
  /** Audiences of this API server, for which static tokens and tokens of a trusted issuer are valid. */
  readonly audiences: readonly string[];
}

/** Outcome of an authentication. A rejected request gets 401; TokenReviews return the reason. */
export type Authentication =
  | { readonly type: 'accepted'; readonly user: User; readonly audiences: readonly string[] }
  | { readonly type: 'rejected'; readonly reason: string };

/** Authenticates a request by its Authorization header. A token must be valid for one of `audiences`. No token means anonymous. */
export async function authenticate(
  authorization: string | undefined,
  audiences: readonly string[],
  authenticators: Authenticators,
  now: number,
): Promise<Authentication> {
  const token = parseBearerToken(authorization);
  if (token === undefined) return { type: 'accepted', user: ANONYMOUS_USER, audiences };
  const known = authenticators.staticTokens.get(token);
  const own = audiences.filter((audience) => authenticators.audiences.includes(audience));
  if (known !== undefined && own.length > 0) return { type: 'accepted', user: withAuthenticatedGroup(known), audiences: own };
  const verdict = await verifyServiceAccountToken(token, audiences, authenticators.serviceAccounts, now);
  if (verdict.type === 'accepted') return { ...verdict, user: withAuthenticatedGroup(verdict.user) };
  const foreign = verdict.type === 'unknown' && own.length > 0 ? await authenticators.trusted?.verify(token, now) : undefined;
  if (foreign !== undefined) return { type: 'accepted', user: withAuthenticatedGroup(foreign), audiences: own };
  const reasons = [INVALID_TOKEN, ...(verdict.type === 'rejected' ? [verdict.reason] : [])];
  return { type: 'rejected', reason: aggregate(reasons) };
}

const ANONYMOUS_USER: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
const INVALID_TOKEN = 'invalid bearer token';

/** Returns the token in a `Bearer TOKEN` header; undefined if there is none. kube-apiserver ignores words after the token. */
function parseBearerToken(authorization = ''): string | undefined {
  const [scheme = '', token = ''] = authorization.trim().split(' ');
  return scheme.toLowerCase() === 'bearer' && token !== '' ? token : undefined;
}

function withAuthenticatedGroup(user: User): User {
  return user.groups.includes('system:unauthenticated') ? user : withGroup(user, 'system:authenticated');
}
