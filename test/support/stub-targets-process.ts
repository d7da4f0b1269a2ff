// Healthy stub clusters in one process: `node stub-targets-process.ts COUNT`. Each has its own port; all have the same CA. Sends the
// URLs and the CA to the parent process, and exits with the parent process.

import type { RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';

const [count = '1'] = process.argv.slice(2);
const authority = createAuthority(Date.now());

const ANCHORS_PATH = '/api/v1/namespaces/purser-system/secrets';

const RESPONSES: Readonly<Record<string, object>> = {
  '/version': { gitVersion: 'v1.36.4' },
  '/apis/authentication.k8s.io/v1/selfsubjectreviews': {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
    metadata: {},
    status: { userInfo: { username: 'system:serviceaccount:purser-system:purser' } },
  },
  '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews': {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    metadata: {},
    spec: {},
    status: { allowed: true },
  },
  // The anchor of Purser's own token.
  [ANCHORS_PATH]: {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'purser-system', name: 'anchor', uid: 'anchor', resourceVersion: '1' },
  },
};

let issued = 0;

/** Returns the response to a request for Purser's own token. */
function tokenResponse(): object {
  const expirationTimestamp = new Date(Date.now() + LIFETIME_MS).toISOString();
  const type = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' };
  return { ...type, metadata: {}, spec: {}, status: { token: `stub-token-${++issued}`, expirationTimestamp } };
}

/** Response to a list of the anchors of Purser's own tokens. */
const NO_ANCHORS = { apiVersion: 'v1', kind: 'SecretList', metadata: { resourceVersion: '1' }, items: [] };

function bodyOf(method: string, path: string): object | undefined {
  if (path === TOKEN_PATH) return tokenResponse();
  return method === 'GET' && path === ANCHORS_PATH ? NO_ANCHORS : RESPONSES[path];
}

const LIFETIME_MS = 3_600_000;
const TOKEN_PATH = '/api/v1/namespaces/purser-system/serviceaccounts/purser/token';

const respond: RequestListener = (request, response) => {
  const path = request.url?.split('?')[0] ?? '';
  const body = bodyOf(request.method ?? '', path);
  request.resume();
  if (request.url === '/readyz') response.writeHead(200, { 'content-type': 'text/plain' }).end('ok');
  else if (body === undefined) response.writeHead(404, { 'content-type': 'application/json' }).end('{"kind":"Status","code":404}');
  else response.writeHead(request.method === 'POST' ? 201 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};

const { certificate: cert, key } = issueServerCertificate(authority, LOOPBACK_NAMES, Date.now());
const targets = createTlsServer({ cert, key }, respond);
// Idle timeout of kube-apiserver.
targets.keepAliveTimeout = 90_000;

async function listen(): Promise<string> {
  const server = createServer((socket) => targets.emit('connection', socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const urls = await Promise.all(Array.from({ length: Number(count) }, listen));
process.send?.({ urls, ca: authority.certificate });
process.on('disconnect', () => process.exit());
