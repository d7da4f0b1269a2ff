import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Clusters } from '../../src/api/resources.ts';
import { parseTimestamp } from '../../src/std/timestamp.ts';
import { freePorts } from '../support/ports.ts';
import type { WireHandler, WireReply } from '../support/wire-server.ts';
import { startConnectProxy } from '../targets/connect-proxy.ts';
import { authority, errorStatus, jwt } from '../targets/wire-target.ts';
import { base64, CREDENTIALS } from '../tokens/token-world.ts';
import { ClusterWorld, healthy } from './cluster-world.ts';

let world: ClusterWorld;

beforeAll(async () => {
  world = await ClusterWorld.start();
  world.run();
});

afterAll(() => world.close());

const readyz =
  (respond: WireHandler): WireHandler =>
  (request, reply) =>
    request.path === '/readyz' ? respond(request, reply) : healthy()(request, reply);

const here = (serverAddress: string, clientCIDR = '127.0.0.0/24') => ({ clientCIDR, serverAddress });

describe('status of a Cluster', () => {
  it('shows Ready=True with version, type and endpoint for a healthy cluster', async () => {
    const { url } = await world.serve(healthy('v1.28.2+k3s1'));
    await world.register('well', [url]);
    await world.shows('well', 'Ready=True ClusterReady');
    expect(await world.conditions('well')).toEqual([
      'Ready=True ClusterReady',
      'Reachable=True Responding',
      'Authorized=True PermissionsGranted',
      'CredentialFresh=Unknown ExpiryUnknown',
    ]);
    const { status } = await world.get('well');
    expect(status).toMatchObject({ version: 'v1.28.2+k3s1', type: 'K3s', activeEndpoint: url });
    expect(status?.probeLatencyMilliseconds).toBeGreaterThanOrEqual(0);
    expect(parseTimestamp(status?.lastProbeTime)).toBeLessThanOrEqual(parseTimestamp(status?.conditions?.[0]?.lastHeartbeatTime) ?? 0);
  });

  it.each<readonly [string, string, WireHandler]>([
    ['rejects the credential', 'CredentialRejected', readyz((_, reply) => reply.json(401, errorStatus(401, 'Unauthorized')))],
    ['denies the permission to issue tokens', 'Forbidden', healthy('v1.36.4', false)],
    [
      'fails a readiness check',
      'NotReady',
      readyz((_, reply) => reply.text(500, '[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed')),
    ],
    ['throttles requests', 'Throttled', readyz((_, reply) => reply.json(429, errorStatus(429, 'slow down')))],
    ['redirects requests', 'ResponseUntrusted', readyz((_, reply) => reply.text(302, '', { location: 'https://127.0.0.1/' }))],
    ['does not respond', 'Timeout', readyz(() => {})],
    ['is behind a proxy without backend', 'Unreachable', readyz((_, reply) => reply.text(503, ''))],
  ])('shows Ready=False for a cluster that %s: %s', async (_, reason, handler) => {
    const { url } = await world.serve(handler);
    const name = reason.toLowerCase();
    await world.register(name, [url]);
    await world.shows(name, `Ready=False ${reason}`);
  });

  it.each([
    ['refused', 'ConnectionRefused', async () => `https://127.0.0.1:${(await freePorts(1))[0]}`],
    ['dns', 'DNSFailed', async () => 'https://no-such-host.invalid:6443'],
    ['linklocal', 'AddressNotAllowed', async () => 'https://169.254.169.254'],
  ])('shows the cluster %s with Ready=False and reason %s', async (name, reason, address) => {
    await world.register(name, [await address()]);
    await world.shows(name, `Ready=False ${reason}`);
    expect(await world.conditions(name)).toContain('Authorized=Unknown NoResponse');
  });

  it('sends no credential to a server with an untrusted certificate until caBundle is corrected', async () => {
    const server = await world.serve(healthy());
    await world.register('tls', [server.url], { ca: world.hub.ca });
    await world.shows('tls', 'Ready=False TLSVerifyFailed');
    expect(server.requests).toEqual([]);
    const caBundle = Buffer.from(authority.certificate).toString('base64');
    await world.credential('tls', { token: 'opaque-credential', server: server.url, 'ca.crt': authority.certificate });
    await world.hub.admin.patch(Clusters, { name: 'tls' }, { spec: { orchestratorApiEndpoints: { caBundle } } });
    const patchedAt = world.clock.now();
    await world.shows('tls', 'Ready=True ClusterReady');
    expect(world.clock.now() - patchedAt).toBeLessThan(10_000);
  });

  it('records no missing credential if the Secret arrives a second after the Cluster', async () => {
    const { url } = await world.serve(healthy());
    await world.add('early', [url], { controller: { kind: 'Secret', namespace: CREDENTIALS, name: 'early' } });
    await world.pass(1_000);
    await world.credential('early', { token: 'opaque-credential', server: url });
    await world.shows('early', 'Ready=True ClusterReady');
    expect(await world.events('early')).toEqual(['Normal ClusterReady']);
  });

  it('sends no probe to an address that the credential no longer names', async () => {
    const server = await world.serve(healthy());
    await world.register('unpinned', [server.url]);
    await world.shows('unpinned', 'Ready=True ClusterReady');
    await world.credential('unpinned', { token: 'opaque-credential', server: 'https://elsewhere.example' });
    await world.shows('unpinned', 'Authorized=False EndpointNotPinned');
    expect(await world.conditions('unpinned')).toContain('Reachable=Unknown NotProbed');
  });

  it.each([
    [
      'another address',
      'EndpointNotPinned',
      (url: string) => ({ serverEndpoints: [here(url), here('https://127.0.0.1:1', '127.0.0.1/32')] }),
    ],
    ['another certificate authority', 'CANotPinned', () => ({ caBundle: base64(authority.certificate + world.hub.ca) })],
  ])('stops probing once %s is added to the Cluster: Authorized=False %s', async (_, reason, change) => {
    const name = reason.toLowerCase();
    const server = await world.serve(healthy());
    await world.register(name, [server.url]);
    await world.shows(name, 'Ready=True ClusterReady');
    await world.hub.admin.patch(Clusters, { name }, { spec: { orchestratorApiEndpoints: change(server.url) } });
    await world.shows(name, `Authorized=False ${reason}`);
    const requestsBefore = server.requests.length;
    await world.pass(20_000);
    expect(server.requests.length).toBe(requestsBefore);
    expect(await world.conditions(name)).toContain('Reachable=Unknown NotProbed');
  });

  it('neither probes with nor describes the credential of another Cluster: Authorized=False CredentialNotForCluster', async () => {
    const server = await world.serve(healthy());
    const issuedAt = Math.floor(world.clock.now() / 1_000);
    await world.register('prod', [server.url], { token: jwt({ iat: issuedAt, exp: issuedAt + 86_400 }) });
    await world.shows('prod', 'CredentialFresh=True CredentialValid');
    await world.add('dev', [server.url], { controller: { kind: 'Secret', namespace: 'purser-system', name: 'prod' } });
    await world.shows('dev', 'Authorized=False CredentialNotForCluster');
    expect(await world.conditions('dev')).toEqual(
      expect.arrayContaining(['Reachable=Unknown NotProbed', 'CredentialFresh=Unknown CredentialMissing']),
    );
  });
});

describe('status of a Cluster behind the proxy of its credential', () => {
  const portOf = (target: string) => Number(target.split(':')[1]);
  const reference = (name: string) => ({ controller: { kind: 'Secret', namespace: 'purser-system', name } as const });
  const messageOf = async (name: string, type: string) =>
    (await world.get(name)).status?.conditions?.find((condition) => condition.type === type)?.message;

  it('distinguishes a stopped proxy, a proxy that rejects connections, and a cluster that the proxy cannot reach', async () => {
    const server = await world.serve(healthy());
    let proxy = await startConnectProxy(portOf);
    const { port } = proxy;
    const restart = async (portFor: (target: string) => number | undefined, rejection = 407) => {
      await proxy.close();
      proxy = await startConnectProxy(portFor, { port, rejection });
    };
    try {
      await world.credential('private', { token: 'opaque-credential', server: server.url, proxy: `http://localhost:${port}` });
      await world.add('private', [server.url], reference('private'));
      await world.shows('private', 'Ready=True ClusterReady');
      await proxy.close();
      await world.shows('private', 'Reachable=False ProxyUnreachable');
      expect(await messageOf('private', 'Reachable')).toBe(
        `The proxy for the cluster does not respond, or its certificate is not trusted: GET ${server.url}/readyz: connection to the proxy failed with ECONNREFUSED. Check that the proxy is running, and check its certificate and the URL in the proxy key of the Secret that spec.authInfo.controller references, or in HTTPS_PROXY.`,
      );
      await restart(() => undefined);
      await world.shows('private', 'Reachable=False ProxyRejected');
      expect(await messageOf('private', 'Ready')).toMatch(/: the proxy rejected the tunnel with status 407\. Check that the proxy allows/);
      await restart(() => 1);
      await world.shows('private', 'Reachable=False Unreachable');
      expect(await messageOf('private', 'Reachable')).toMatch(
        /: the proxy could not connect to the cluster, and responded with status 502\./,
      );
      await restart(portOf);
      await world.shows('private', 'Ready=True ClusterReady');
    } finally {
      await proxy.close();
    }
  });

  it('shows Authorized=False CredentialMissing, without the password, for a malformed proxy', async () => {
    const server = await world.serve(healthy());
    await world.credential('malformed', { token: 'opaque-credential', server: server.url, proxy: 'socks5://purser:pass-of-proxy@proxy' });
    await world.add('malformed', [server.url], reference('malformed'));
    await world.shows('malformed', 'Authorized=False CredentialMissing');
    expect(await messageOf('malformed', 'Authorized')).toMatch(/: the proxy key of the Secret is not the URL of a proxy, such as https:/);
    expect(JSON.stringify(await world.get('malformed'))).not.toContain('pass-of-proxy');
    expect(server.requests).toEqual([]);
  });
});

describe('version of a Cluster', () => {
  const versionFrom =
    (respond: (reply: WireReply) => void): WireHandler =>
    (request, reply) =>
      request.path === '/version' ? respond(reply) : healthy()(request, reply);

  it.each<readonly [string, string, (reply: WireReply) => void, string | undefined]>([
    ['of 10 MB', 'long', (reply) => reply.json(200, { gitVersion: 'v1.36.4', padding: 'x'.repeat(10 << 20) }), undefined],
    ['of 10 MB in one word', 'wordy', (reply) => reply.json(200, { gitVersion: 'v'.repeat(10 << 20) }), undefined],
    ['with escape sequences', 'ansi', (reply) => reply.json(200, { gitVersion: '\u001b]0;x\u0007\u001b[31mv1.36.4\u0000' }), '0xv1.36.4'],
    ['in HTML', 'html', (reply) => reply.json(200, { gitVersion: '<script>v1</script>' }), 'scriptv1script'],
    ['that is not JSON', 'text', (reply) => reply.text(200, 'v1.36.4'), undefined],
    ['that never ends', 'endless', (reply) => void reply.open().bytes('{"gitVersion":"v1'), undefined],
  ])('shows Ready=True, and a sanitized version or none, for a version %s', async (_, name, respond, expected) => {
    const { url } = await world.serve(versionFrom(respond));
    await world.register(name, [url]);
    await world.shows(name, 'Ready=True ClusterReady');
    expect((await world.get(name)).status?.version).toBe(expected);
  });
});

describe('status of a Cluster over time', () => {
  it('changes Ready twice, with events, when a cluster fails and recovers', async () => {
    const server = await world.serve(healthy());
    await world.register('mortal', [server.url]);
    await world.shows('mortal', 'Ready=True ClusterReady');
    server.handle(readyz((_, reply) => reply.text(503, '')));
    const diedAt = world.clock.now();
    await world.shows('mortal', 'Ready=False Unreachable');
    expect(world.clock.now() - diedAt).toBeLessThan(30_000);
    server.handle(healthy());
    const returnedAt = world.clock.now();
    await world.shows('mortal', 'Ready=True ClusterReady');
    expect(world.clock.now() - returnedAt).toBeLessThan(30_000);
    expect(await world.events('mortal')).toEqual(['Normal ClusterReady', 'Warning Unreachable']);
  });

  it('changes Ready of a cluster that flaps every 5 s at most three times in two minutes', async () => {
    const server = await world.serve((request, reply) => {
      const isUp = Math.floor(world.clock.now() / 5_000) % 2 === 0;
      return request.path === '/readyz' && !isUp ? reply.text(503, '') : healthy()(request, reply);
    });
    await world.register('flapping', [server.url]);
    await world.pass(120_000);
    // The cluster flapped two dozen times; the number of transitions depends on the times of the probes.
    expect(world.history('flapping').length).toBeLessThanOrEqual(4);
    const { status } = await world.get('flapping');
    expect(await world.events('flapping')).toHaveLength(Math.min(world.history('flapping').length, 3));
    expect(status?.conditions).toHaveLength(4);
  });

  it('reports the second address as activeEndpoint while the first one does not respond', async () => {
    const [port] = await freePorts(1);
    const { url } = await world.serve(healthy());
    await world.register('failover', [`https://127.0.0.1:${port}`, url]);
    await world.shows('failover', 'Ready=True ClusterReady');
    expect((await world.get('failover')).status?.activeEndpoint).toBe(url);
  });

  it('probes with a changed credential over a new connection', async () => {
    const server = await world.serve(healthy());
    await world.register('rotated', [server.url], { token: 'old-credential' });
    await world.shows('rotated', 'Ready=True ClusterReady');
    const [first] = server.requests;
    const before = server.requests.length;
    await world.credential('rotated', { token: 'new-credential', server: server.url });
    while (server.requests.length === before) await world.shows('rotated', 'Ready=True ClusterReady').then(() => world.clock.advance(1));
    const next = server.requests[before];
    expect(next?.headers.authorization).toBe('Bearer new-credential');
    expect(next?.connection).not.toBe(first?.connection);
  });

  it('overwrites forged conditions with the result of the probes', async () => {
    const { url } = await world.serve(readyz((_, reply) => reply.text(503, '')));
    await world.register('forged', [url]);
    await world.shows('forged', 'Ready=False Unreachable');
    const conditions = [{ type: 'Ready', status: 'True', reason: 'Forged', lastHeartbeatTime: '2099-01-01T00:00:00Z' }];
    await world.hub.admin.patchStatus(Clusters, { name: 'forged' }, { status: { conditions } });
    await world.shows('forged', 'Ready=False Unreachable');
    expect(await world.conditions('forged')).toHaveLength(4);
  });
});
