// Finds out who sends a request: a client certificate, then a static token, then a service-account token, else nobody in particular.

import { aggregated } from '../../src/kubernetes/status.ts';
import type { ClientCertificate } from './client-certificate.ts';
import { type ServiceAccountTrust, verifyServiceAccountToken } from './service-account-tokens.ts';
import type { User } from './user.ts';
import { withGroup } from './user-names.ts';

/** What a request brings to prove who sends it. */
export interface Credentials {
  /** The Authorization header. */
  readonly authorization?: string | undefined;
  readonly certificate?: ClientCertificate | undefined;
}

/** Whom the server knows. */
export interface Authenticators {
  readonly staticTokens: ReadonlyMap<string, User>;
  readonly serviceAccounts: ServiceAccountTrust;
  /** The audiences of this API server, which static tokens are good for. */
  readonly audiences: readonly string[];
  /** Whether a request without credentials is let in as `system:anonymous`. */
  readonly anonymous: boolean;
}

/** The outcome; `warnings` are for the caller either way. A refused request is answered with 401. */
export type Authentication =
  | {
      readonly type: 'accepted';
      readonly user: User;
      readonly audiences: readonly string[];
      readonly warnings: readonly string[];
    }
  | { readonly type: 'refused'; readonly reason: string; readonly warnings: readonly string[] };

/** Authenticates for `audiences`, which are the server's own for a request and may be others for a TokenReview. */
export function authenticate(
  credentials: Credentials,
  audiences: readonly string[],
  authenticators: Authenticators,
  now: number,
): Authentication {
  const { token, warnings } = bearerToken(credentials.authorization);
  const attempts = [
    ...(credentials.certificate ? [certificateUser(credentials.certificate)] : []),
    ...(token === undefined ? [] : [tokenUser(token, audiences, authenticators, now)]),
  ];
  const accepted = attempts.find((attempt) => attempt.type === 'accepted');
  if (accepted) return { ...accepted, user: withAuthenticatedGroup(accepted.user), warnings };
  const reasons = attempts.flatMap((attempt) => (attempt.type === 'refused' ? attempt.reasons : []));
  // Bad credentials are an error, never an anonymous visit.
  if (reasons.length > 0) return { type: 'refused', reason: aggregated(reasons), warnings };
  if (!authenticators.anonymous) return { type: 'refused', reason: 'no credentials', warnings };
  return { type: 'accepted', user: ANONYMOUS, audiences, warnings };
}

/** Who a request without credentials comes from. */
export const ANONYMOUS: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

type Attempt =
  | { readonly type: 'accepted'; readonly user: User; readonly audiences: readonly string[] }
  | { readonly type: 'refused'; readonly reasons: readonly string[] }
  | { readonly type: 'absent' };

const INVALID_TOKEN = 'invalid bearer token';
const SPACE_WARNING = 'the provided Authorization header contains extra space before the bearer token, and is ignored';

/** The second word of `Bearer TOKEN`. Words are parted by single spaces, and what follows the token is ignored. */
function bearerToken(authorization = ''): { readonly token?: string; readonly warnings: readonly string[] } {
  const [scheme = '', token, ...rest] = authorization.trim().split(' ');
  if (scheme.toLowerCase() !== 'bearer' || token === undefined) return { warnings: [] };
  if (token === '') return { warnings: rest.length > 0 ? [SPACE_WARNING] : [] };
  return { token, warnings: [] };
}

function certificateUser({ trusted, commonName, organizations, fingerprint }: ClientCertificate): Attempt {
  if (!trusted) return { type: 'refused', reasons: ['x509: certificate signed by unknown authority'] };
  if (commonName === '') return { type: 'absent' };
  const extra = { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] };
  return { type: 'accepted', user: { name: commonName, groups: organizations, extra }, audiences: [] };
}

function tokenUser(token: string, audiences: readonly string[], authenticators: Authenticators, now: number): Attempt {
  const known = authenticators.staticTokens.get(token);
  const own = audiences.filter((audience) => authenticators.audiences.includes(audience));
  if (known !== undefined && own.length > 0) return { type: 'accepted', user: known, audiences: own };
  const verdict = verifyServiceAccountToken(token, audiences, authenticators.serviceAccounts, now);
  if (verdict.type === 'accepted') return verdict;
  return { type: 'refused', reasons: [INVALID_TOKEN, ...(verdict.type === 'refused' ? [verdict.reason] : [])] };
}

function withAuthenticatedGroup(user: User): User {
  if (user.name === ANONYMOUS.name || user.groups.includes('system:unauthenticated')) return user;
  return withGroup(user, 'system:authenticated');
}
