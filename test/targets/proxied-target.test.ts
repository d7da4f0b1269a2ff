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

/** A target that only the proxy can reach: its name does not resolve, and dialing loopback is not allowed. */
async function proxied({ noProxy = '', isRefusing = false } = {}) {
  proxy = await startConnectProxy((target) => (isRefusing ? undefined : Number(target.split(':')[1])));
  const httpsProxy = `http://purser:pass-of-proxy@127.0.0.1:${proxy.port}`;
  world = new IssuerWorld({ allowLoopback: false, proxyFor: proxyPolicy({ httpsProxy, noProxy }) });
  const target = await world.serve(grants(), [NAME]);
  const { port } = new URL(target.url);
  return { world, proxy, target, host: `${NAME}:${port}`, url: `https://${NAME}:${port}` };
}

describe('target behind a proxy', () => {
  it('is reached through a tunnel whose content the proxy cannot read', async () => {
    const { world: issuing, proxy: tunnel, target, host, url } = await proxied();
    const { token } = await issuing.issue(registered({ servers: [url], ca: authority.certificate }));

    expect(token.reveal()).toMatch(/^eyJ/);
    expect(target.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${CREDENTIAL}`, `Bearer ${CREDENTIAL}`]);
    const authorization = `Basic ${Buffer.from('purser:pass-of-proxy').toString('base64')}`;
    expect(tunnel.asked).toEqual([{ target: host, authorization }]);
    expect(tunnel.passed()).not.toContain(CREDENTIAL);
  });

  it('is rejected if the server at the end of the tunnel has an untrusted certificate', async () => {
    const { world: issuing, target, url } = await proxied();
    const other = createAuthority(Date.now()).certificate;
    const failure = await issuing.failure(registered({ servers: [url], ca: other }));

    expect([failure.reason, target.requests]).toEqual(['TLSVerifyFailed', []]);
  });

  it('is unreachable when the proxy rejects the tunnel, without the proxy password in the error', async () => {
    const { world: issuing, url } = await proxied({ isRefusing: true });
    const failure = await issuing.failure(registered({ servers: [url], ca: authority.certificate }));

    expect(failure.reason).toBe('ClusterUnreachable');
    expect(inspect(failure, { depth: 20 })).not.toContain('pass-of-proxy');
  });

  it('is dialed directly if NO_PROXY contains it', async () => {
    const { world: issuing, proxy: tunnel, url } = await proxied({ noProxy: '.example.test' });
    const failure = await issuing.failure(registered({ servers: [url], ca: authority.certificate }));

    expect([failure.reason, tunnel.asked]).toEqual(['ClusterUnreachable', []]);
  });

  it.each(['https://169.254.169.254', 'https://127.0.0.1:6443', 'https://localhost:6443'])(
    'is rejected at an address that Purser never connects to: %s',
    async (server) => {
      const { world: issuing, proxy: tunnel } = await proxied();
      const failure = await issuing.failure(registered({ servers: [server], ca: authority.certificate }));

      expect([failure.reason, tunnel.asked]).toEqual(['AddressNotAllowed', []]);
    },
  );
});
