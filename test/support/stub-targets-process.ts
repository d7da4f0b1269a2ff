// Stub clusters in one process: `node stub-targets-process.ts COUNT [SILENT] [SLOW]`. Each has its own port; all have the same CA. The last
// clusters are slow: each response takes three seconds. Those before them are silent: they accept connections and send nothing. The others
// are healthy. Sends the URLs of the clusters and of the probe report, and the CA, to the parent process, and exits with the parent process.

import { createServer as createPlainServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';

const [count, silent, slow] = [1, 0, 0].map((fallback, index) => Number(process.argv[2 + index] ?? fallback)) as [number, number, number];
const SLOW_MS = 3_000;
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

/** Probes of the healthy clusters since the last report. */
class Probes {
  /** Time of the last probe, by port. */
  readonly #lastAt = new Map<number, number>();
  #count = 0;
  #maxGapMs = 0;
  #reportedAt = performance.now();

  record(port: number): void {
    const now = performance.now();
    this.#recordGap(port, now);
    this.#lastAt.set(port, now);
    this.#count += 1;
  }

  /** Returns the number of probes and the longest time without a probe of a cluster since the last report. */
  report(ports: readonly number[]): object {
    const now = performance.now();
    for (const port of ports) this.#recordGap(port, now);
    const reported = { count: this.#count, maxGapMs: this.#maxGapMs };
    [this.#count, this.#maxGapMs, this.#reportedAt] = [0, 0, now];
    return reported;
  }

  #recordGap(port: number, now: number): void {
    const since = Math.max(this.#lastAt.get(port) ?? 0, this.#reportedAt);
    this.#maxGapMs = Math.max(this.#maxGapMs, now - since);
  }
}

const probes = new Probes();
const slowPorts = new Set<number>();

const respond: RequestListener = (request, response) => {
  const { localPort = 0 } = request.socket;
  request.resume();
  if (slowPorts.has(localPort)) return void setTimeout(() => send(request, response), SLOW_MS);
  if (request.url === '/readyz') probes.record(localPort);
  send(request, response);
};

function send(request: IncomingMessage, response: ServerResponse): void {
  const path = request.url?.split('?')[0] ?? '';
  const body = bodyOf(request.method ?? '', path);
  if (path === '/readyz') response.writeHead(200, { 'content-type': 'text/plain' }).end('ok');
  else if (body === undefined) response.writeHead(404, { 'content-type': 'application/json' }).end('{"kind":"Status","code":404}');
  else response.writeHead(request.method === 'POST' ? 201 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const { certificate: cert, key } = issueServerCertificate(authority, LOOPBACK_NAMES, Date.now());
const targets = createTlsServer({ cert, key }, respond);
// Idle timeout of kube-apiserver.
targets.keepAliveTimeout = 90_000;

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const isSilent = (index: number) => index >= count - silent - slow && index < count - slow;
const ports = await Promise.all(
  Array.from({ length: count }, (_, index) =>
    listen(createServer((socket) => (isSilent(index) ? socket.on('error', () => {}).resume() : targets.emit('connection', socket)))),
  ),
);
for (const port of ports.slice(count - slow)) slowPorts.add(port);
const healthy = ports.slice(0, count - silent - slow);
const report = await listen(createPlainServer((_, response) => void response.end(JSON.stringify(probes.report(healthy)))));
process.send?.({
  urls: ports.map((port) => `https://127.0.0.1:${port}`),
  report: `http://127.0.0.1:${report}`,
  ca: authority.certificate,
});
process.on('disconnect', () => process.exit());
