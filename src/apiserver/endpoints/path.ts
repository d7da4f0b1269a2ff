// Everything that is not a resource: discovery, schemas, version, health, and the keys that verify tokens.

import { keySet, openIdConfiguration } from '../access/oidc.ts';
import type { HealthCheck } from '../discovery/health.ts';
import { discoveryRoute } from '../discovery/route.ts';
import { plainText, type Reply } from '../reply.ts';
import type { ApiRequest } from '../request.ts';
import type { AccessApi } from './review.ts';

export interface ServerFacts {
  /** Host and port under which clients reach the server. */
  readonly address: string;
  readonly healthChecks: readonly HealthCheck[];
}

export async function pathEndpoint(api: AccessApi, request: ApiRequest, facts: ServerFacts): Promise<Reply> {
  const { path, query, method } = request;
  const oidc = method === 'GET' ? oidcDocument(api, path, facts.address) : undefined;
  if (oidc !== undefined) {
    return { status: 200, headers: { 'content-type': oidc.contentType, 'cache-control': oidc.cacheControl }, body: oidc.body };
  }
  const { accept, userAgent } = request.preferences;
  const discovery = { path, query, accept, userAgent, ifNoneMatch: request.header('if-none-match') };
  const state = {
    kinds: api.registry.all(),
    serverAddress: facts.address,
    healthChecks: facts.healthChecks,
    now: api.now(),
  };
  const reply = method === 'GET' || method === 'HEAD' ? discoveryRoute(discovery, state) : undefined;
  return reply ?? plainText(404, '404 page not found\n');
}

function oidcDocument({ issuance }: AccessApi, path: string, address: string) {
  if (path === '/.well-known/openid-configuration') {
    return openIdConfiguration(issuance.issuer, `https://${address}/openid/v1/jwks`, [issuance.key]);
  }
  return path === '/openid/v1/jwks' ? keySet([issuance.key]) : undefined;
}
