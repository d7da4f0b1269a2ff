// Endpoints other than those of resources: discovery, OpenAPI, version, health, OIDC discovery and JWKS.

import { createPlainTextReply, type Reply } from '../../src/kubernetes/reply.ts';
import { methodNotAllowed } from '../../src/kubernetes/status.ts';
import { checkRoutable } from '../../src/kubernetes/wire/negotiate.ts';
import { createKeySet, createOpenIdDocument, type OidcDocument } from '../access/signing-key.ts';
import { serveDiscovery } from '../discovery/route.ts';
import type { ApiRequest } from '../request.ts';
import type { AccessApi } from './endpoint.ts';

interface ServerInfo {
  /** Host and port at which clients reach the server. */
  readonly address: string;
}

export async function handlePath(api: AccessApi, request: ApiRequest, server: ServerInfo): Promise<Reply> {
  const { path, query, method } = request;
  const oidc = findOidcDocument(api, path.replace(/\/+$/, ''), server.address);
  if (oidc !== undefined) return serveOidcDocument(request, oidc);
  const { accept, userAgent } = request.preferences;
  const discovery = { method, path, query, accept, userAgent, ifNoneMatch: request.header('if-none-match') };
  return (
    serveDiscovery(discovery, { kinds: api.registry.all(), serverAddress: server.address }) ??
    createPlainTextReply(404, '404 page not found\n')
  );
}

function serveOidcDocument({ method, preferences }: ApiRequest, { contentType, cacheControl, body }: OidcDocument): Reply {
  if (method !== 'GET') throw methodNotAllowed();
  checkRoutable(preferences.accept, [contentType]);
  return { status: 200, headers: { 'content-type': contentType, 'cache-control': cacheControl }, body };
}

function findOidcDocument({ tokenIssuer }: AccessApi, path: string, address: string): OidcDocument | undefined {
  if (path === '/.well-known/openid-configuration') {
    return createOpenIdDocument(tokenIssuer.issuer, `https://${address}/openid/v1/jwks`);
  }
  return path === '/openid/v1/jwks' ? createKeySet(tokenIssuer.key) : undefined;
}
