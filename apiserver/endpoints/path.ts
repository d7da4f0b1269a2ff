// Endpoints other than those of resources: discovery, OpenAPI, version, health, OIDC discovery and JWKS.

import { plainTextReply, type Reply } from '../../src/kubernetes/reply.ts';
import { methodNotAllowed } from '../../src/kubernetes/status.ts';
import { checkRoutable } from '../../src/kubernetes/wire/negotiate.ts';
import { keySet, type OidcDocument, openIdConfiguration } from '../access/signing-key.ts';
import { discoveryReply } from '../discovery/route.ts';
import type { ApiRequest } from '../request.ts';
import type { AccessApi } from './endpoint.ts';

interface ServerInfo {
  /** Host and port at which clients reach the server. */
  readonly address: string;
}

export async function pathEndpoint(api: AccessApi, request: ApiRequest, server: ServerInfo): Promise<Reply> {
  const { path, query, method } = request;
  const oidc = oidcDocument(api, path.replace(/\/+$/, ''), server.address);
  if (oidc !== undefined) return oidcReply(request, oidc);
  const { accept, userAgent } = request.preferences;
  const discovery = { method, path, query, accept, userAgent, ifNoneMatch: request.header('if-none-match') };
  return (
    discoveryReply(discovery, { kinds: api.registry.all(), serverAddress: server.address }) ?? plainTextReply(404, '404 page not found\n')
  );
}

function oidcReply({ method, preferences }: ApiRequest, { contentType, cacheControl, body }: OidcDocument): Reply {
  if (method !== 'GET') throw methodNotAllowed();
  checkRoutable(preferences.accept, [contentType]);
  return { status: 200, headers: { 'content-type': contentType, 'cache-control': cacheControl }, body };
}

function oidcDocument({ tokenIssuer }: AccessApi, path: string, address: string): OidcDocument | undefined {
  if (path === '/.well-known/openid-configuration') {
    return openIdConfiguration(tokenIssuer.issuer, `https://${address}/openid/v1/jwks`);
  }
  return path === '/openid/v1/jwks' ? keySet(tokenIssuer.key) : undefined;
}
