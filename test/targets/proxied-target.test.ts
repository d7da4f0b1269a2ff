import { inspect } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createAuthority } from '../../src/std/x509/certificates.ts';
import { proxyPolicy } from '../../src/targets/dial-policy.ts';
import { type ConnectProxy, startConnectProxy } from './connect-proxy.ts';
import { IssuerWorld } from './issuer-world.ts';
import { CREDENTIAL, registered } from './registration.ts';
import { authority, grants } from './wire-target.ts';

const NAME = 'prod.example.test';

let world: IssuerWorld | undefined;
let proxy: ConnectProxy | undefined;

afterEach(async () => {
  await world?.close();
  await proxy?.close();
});

/** Starts a target that only the proxy can reach: its name does not resolve, and dialing loopback is not allowed. */
async function createProxiedTarget({ noProxy = '', isRejecting = false } = {}) {
  proxy = await startConnectProxy((target) => (isRejecting ? undefined : Number(target.split(':')[1])));
  const httpsProxy = `http://purser:pass-of-proxy@127.0.0.1:${proxy.port}`;
  world = new IssuerWorld({ allowLoopback: false, proxyFor: proxyPolicy({ httpsProxy, noProxy }) });
  const target = await world.serve(grants(), [NAME]);
  const { port } = new URL(target.url);
  return { world, proxy, target, host: `${NAME}:${port}`, url: `https://${NAME}:${port}` };
}

describe('createTarget with a proxy', () => {
  it('sends requests through a tunnel that the proxy cannot read', async () => {
    const { world: issuing, proxy: tunnel, target, host, url } = await createProxiedTarget();
    const { token } = await issuing.issue(registered({ servers: [url], ca: authority.certificate }));

    expect(token.reveal()).toMatch(/^eyJ/);
    expect(target.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${CREDENTIAL}`, `Bearer ${CREDENTIAL}`]);
    const authorization = `Basic ${Buffer.from('purser:pass-of-proxy').toString('base64')}`;
    expect(tunnel.requests).toEqual([{ target: host, authorization }]);
    expect(tunnel.passed()).not.toContain(CREDENTIAL);
  });

  it('rejects a server behind the proxy with an untrusted certificate', async () => {
    const { world: issuing, target, url } = await createProxiedTarget();
    const other = createAuthority(Date.now()).certificate;
    const failure = await issuing.failure(registered({ servers: [url], ca: other }));

    expect([failure.reason, target.requests]).toEqual(['TLSVerifyFailed', []]);
  });

  it('reports ClusterUnreachable without the proxy password when the proxy rejects the tunnel', async () => {
    const { world: issuing, url } = await createProxiedTarget({ isRejecting: true });
    const failure = await issuing.failure(registered({ servers: [url], ca: authority.certificate }));

    expect(failure.reason).toBe('ClusterUnreachable');
    expect(inspect(failure, { depth: 20 })).not.toContain('pass-of-proxy');
  });

  it('dials a server in NO_PROXY directly', async () => {
    const { world: issuing, proxy: tunnel, url } = await createProxiedTarget({ noProxy: '.example.test' });
    const failure = await issuing.failure(registered({ servers: [url], ca: authority.certificate }));

    // The name does not exist; a resolver may take longer to say so than a request may take.
    expect(failure.reason).toMatch(/^Cluster(Unreachable|Timeout)$/);
    expect(tunnel.requests).toEqual([]);
  });

  it.each(['https://169.254.169.254', 'https://127.0.0.1:6443', 'https://localhost:6443'])(
    'rejects the address %s before the proxy is dialed',
    async (server) => {
      const { world: issuing, proxy: tunnel } = await createProxiedTarget();
      const failure = await issuing.failure(registered({ servers: [server], ca: authority.certificate }));

      expect([failure.reason, tunnel.requests]).toEqual(['AddressNotAllowed', []]);
    },
  );
});
