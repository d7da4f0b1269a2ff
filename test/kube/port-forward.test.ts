import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createFixedConfig } from '../../src/kube/kube-config.ts';
import { forwardPort } from '../../src/kube/port-forward.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock } from '../../src/std/clock.ts';
import { createAuthority, issueServerCertificate } from '../../src/std/x509/certificates.ts';
import { forwardConnection } from '../support/port-forward-server.ts';

const authority = createAuthority(Date.now());
const { certificate: cert, key } = issueServerCertificate(authority, ['purser.purser-system.svc'], Date.now());
const pod = createTlsServer({ cert, key }, (request, response) => response.end(`${request.headers.host} ${'x'.repeat(200_000)}`));
const api = createHttpServer();
const seen: { path: string | undefined; authorization: string | undefined }[] = [];
/** Error from the kubelet, or `HTTP` if the API server rejects the WebSocket. */
let rejection: string | undefined;

beforeAll(async () => {
  await Promise.all([pod, api].map((server) => once(server.listen(0, '127.0.0.1'), 'listening')));
  api.on('upgrade', (request: IncomingMessage, socket: Socket) => {
    if (rejection === 'HTTP') return socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
    seen.push({ path: request.url, authorization: request.headers.authorization });
    const { port } = pod.address() as AddressInfo;
    forwardConnection(request, socket, rejection === undefined ? { port } : { error: rejection });
  });
});
afterAll(() => {
  for (const server of [pod, api]) server.close();
});

const hub = () => {
  const server = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
  return createTransport(createFixedConfig({ name: 'hub', server, skipTLSVerify: false }, { name: 'admin', token: 'secret' }), {
    clock: systemClock,
  });
};
const target = { namespace: 'purser-system', pod: 'purser-0', port: 7444 };

/** Sends a request to the pod, whose certificate must be valid for `name`. */
async function fetchFrom(name: string): Promise<string> {
  const transport = hub();
  const cluster = {
    name: 'facade',
    server: `https://${name}`,
    caData: Buffer.from(authority.certificate).toString('base64'),
    skipTLSVerify: false,
  };
  const forwarded = createTransport(createFixedConfig(cluster, { name: '' }), {
    clock: systemClock,
    tunnel: () => forwardPort(transport, target),
  });
  try {
    return (await forwarded.request({ method: 'GET', path: '/' })).body;
  } finally {
    await forwarded.close();
    await transport.close();
  }
}

describe('forwardPort', () => {
  it('connects to a port of a pod with the credential of the hub, and verifies the certificate of the pod', async () => {
    expect(await fetchFrom('purser.purser-system.svc')).toBe(`purser.purser-system.svc ${'x'.repeat(200_000)}`);
    expect(seen).toEqual([
      { path: '/api/v1/namespaces/purser-system/pods/purser-0/portforward?ports=7444', authorization: 'Bearer secret' },
    ]);
  });

  it('fails for a certificate with another name', async () => {
    await expect(fetchFrom('other.purser-system.svc')).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  });

  it('reports the error from the kubelet', async () => {
    rejection = 'connection refused by the container';
    await expect(fetchFrom('purser.purser-system.svc')).rejects.toThrow('connection refused by the container');
    rejection = undefined;
  });

  it('fails if the API server rejects the WebSocket', async () => {
    const transport = hub();
    rejection = 'HTTP';
    await expect(forwardPort(transport, target)).rejects.toThrow('port-forward to pod purser-system/purser-0 failed');
    await transport.close();
    rejection = undefined;
  });
});
