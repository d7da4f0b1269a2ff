// A target on a real TLS socket with scripted responses.

import { formatTimestamp } from '../../src/std/timestamp.ts';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { startWireServer, type WireHandler, type WireReply, type WireRequest, type WireServer } from '../support/wire-server.ts';

/** Certificate authority of the targets. */
export const authority = createAuthority(Date.now());

export const TOKEN_PATH = '/api/v1/namespaces/deploy/serviceaccounts/deployer/token';
export const SUBJECT = 'system:serviceaccount:deploy:deployer';
export const ACCOUNT_UID = '0d6f4a0e-5f2c-4f8e-9a55-6d2f4d8f5a01';

/** Default token request. */
export const REQUEST = { namespace: 'deploy', name: 'deployer', audiences: ['api'], expirationSeconds: 3600 } as const;

/** Starts a target that reviews Purser's identity and passes other requests to `handler`. */
export function startTarget(handler: WireHandler, names: readonly string[] = LOOPBACK_NAMES): Promise<WireServer> {
  const { certificate: cert, key } = issueServerCertificate(authority, names, Date.now());
  return startWireServer(withIdentity(handler), { tls: { cert, key } });
}

/** Returns a handler that responds to SelfSubjectReviews and passes other requests to `handler`. */
export function withIdentity(handler: WireHandler): WireHandler {
  return (request, reply) =>
    request.path.endsWith('/selfsubjectreviews') ? reply.json(201, selfSubjectReview()) : handler(request, reply);
}

export function selfSubjectReview(username = 'system:serviceaccount:purser-system:purser'): object {
  return { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {}, status: { userInfo: { username } } };
}

/** Returns a handler that responds with the requested token, modified by `change`. */
export function grants(change: Change = {}): WireHandler {
  return (request, reply) => grant(request, reply, change);
}

export interface Change {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
  readonly response?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly now?: number;
}

export function grant({ body }: WireRequest, reply: WireReply, { claims, status, response, headers, now = Date.now() }: Change = {}): void {
  const { spec, metadata } = JSON.parse(body) as { spec: { audiences: string[]; expirationSeconds: number }; metadata: object };
  const at = Math.floor(now / 1000);
  const token = jwt({
    sub: SUBJECT,
    aud: spec.audiences,
    iat: at,
    nbf: at,
    exp: at + spec.expirationSeconds,
    jti: 'a-jti',
    'kubernetes.io': { namespace: 'deploy', serviceaccount: { name: 'deployer', uid: ACCOUNT_UID } },
    ...claims,
  });
  reply.json(
    201,
    {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: { ...metadata, uid: ACCOUNT_UID },
      spec,
      status: { token, expirationTimestamp: formatTimestamp((at + spec.expirationSeconds) * 1000), ...status },
      ...response,
    },
    headers,
  );
}

/** Returns an unsigned JWT. */
export function jwt(claims: object): string {
  return [{ alg: 'none' }, claims, 'a signature'].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
}

/** Returns an error Status of Kubernetes. */
export function errorStatus(code: number, message: string, more: object = {}): object {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code, ...more };
}
