import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Secret, Stored } from '../../src/api/resources.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { createFixedConfig } from '../../src/kube/kube-config.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock } from '../../src/std/clock.ts';
import {
  type Certificate,
  createAuthority,
  issueClientCertificate,
  issueServerCertificate,
  LOOPBACK_NAMES,
} from '../../src/std/x509/certificates.ts';
import type { TargetSettings } from '../../src/targets/create-target.ts';
import { eventually } from '../kube/eventually.ts';
import { startWireServer, type WireServer } from '../support/wire-server.ts';
import { connectionsOf, IssuerWorld, tokenRequests } from './issuer-world.ts';
import { aCredential, base64, CREDENTIAL, type Registration, registered } from './registration.ts';
import { authority, errorStatus, grant, grants, REQUEST, withIdentity } from './wire-target.ts';

const OWNER = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', name: 'ci', uid: 'u' };

/** Returns a complete credential Secret with labels or owners of a ManagedToken's Secret. */
function managed(marks: Pick<Stored<Secret>['metadata'], 'labels' | 'ownerReferences'> & { readonly name?: string }): Stored<Secret> {
  const secret = aCredential({ token: 'abc', server: 'https://127.0.0.1:1' });
  return { ...secret, metadata: { ...secret.metadata, ...marks } };
}

const YEAR = 365 * 24 * 3_600_000;

let world: IssuerWorld;

function start(more: Partial<TargetSettings> = {}): void {
  world = new IssuerWorld(more);
}

beforeEach(() => start());

afterEach(() => world.close());

/** Returns a registration with these servers. */
function at(servers: readonly { readonly url: string }[], more: Registration = {}) {
  return registered({ servers: servers.map(({ url }) => url), ca: authority.certificate, ...more });
}

async function serveWith({ certificate: cert, key }: Certificate, ca?: string): Promise<WireServer> {
  return await startWireServer(withIdentity(grants()), { tls: { cert, key, ...(ca && { ca }) } });
}

/** Returns an address without a listener. */
async function deadEnd(): Promise<{ readonly url: string }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return { url: `https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}` };
}

const bearers = (server: WireServer) => new Set(server.requests.map(({ headers }) => headers.authorization));

describe('ClusterClients with a registration', () => {
  const dead = { url: 'https://127.0.0.1:1' };

  it.each<[string, Registration, Partial<TargetSettings>, string]>([
    ['no credential', { controller: null }, {}, 'CredentialMissing'],
    ['a deleted credential', { credential: null }, {}, 'CredentialNotForCluster'],
    ['a credential of another namespace', {}, { credentialNamespaces: ['elsewhere'] }, 'CredentialMissing'],
    [
      'the Secret of another Cluster',
      { controller: { kind: 'Secret', namespace: 'purser-system', name: 'other' } },
      {},
      'CredentialNotForCluster',
    ],
    ['a kubeconfig', { credential: aCredential({ kubeconfig: '{}', server: dead.url }) }, {}, 'CredentialMissing'],
    [
      'a service account, on a cluster that is not the hub',
      { controller: { kind: 'ServiceAccount', namespace: 'a', name: 'b' } },
      {},
      'CredentialMissing',
    ],
    ['http', { servers: ['http://127.0.0.1:1'] }, {}, 'AddressNotAllowed'],
    ['a user in the address', { servers: ['https://u:p@127.0.0.1:1'] }, {}, 'AddressNotAllowed'],
    ['no address', { servers: [] }, {}, 'AddressNotAllowed'],
    ['a loopback address', {}, { allowLoopback: false }, 'AddressNotAllowed'],
    ['the metadata address of clouds', { servers: ['https://169.254.169.254'] }, {}, 'AddressNotAllowed'],
    ['the metadata address of clouds, mapped to IPv6', { servers: ['https://[::ffff:169.254.169.254]'] }, {}, 'AddressNotAllowed'],
    ['the metadata address of clouds, as a number', { servers: ['https://2852039166'] }, {}, 'AddressNotAllowed'],
    ['the unspecified address', { servers: ['https://0.0.0.0:1'] }, {}, 'AddressNotAllowed'],
    ['a private key among the CAs', { caBundle: base64(authority.certificate + authority.key) }, {}, 'TLSVerifyFailed'],
    ['an invalid CA', { caBundle: 'junk' }, {}, 'TLSVerifyFailed'],
    [
      'an address that the credential does not name',
      { credential: aCredential({ token: 'abc', server: 'other:1' }) },
      {},
      'EndpointNotPinned',
    ],
    ['a credential that names no address', { credential: aCredential({ token: 'abc' }) }, {}, 'EndpointNotPinned'],
    ['a credential that names no CA', { credential: aCredential({ token: 'abc', server: dead.url, 'ca.crt': '' }) }, {}, 'CANotPinned'],
    [
      'a caBundle where the credential is for public roots',
      { credential: aCredential({ token: 'abc', server: dead.url, 'ca.crt': 'system' }) },
      {},
      'CANotPinned',
    ],
    [
      'no caBundle where the credential names a CA',
      { ca: undefined, credential: aCredential({ token: 'abc', server: dead.url }) },
      {},
      'CANotPinned',
    ],
    [
      'a credential that names no Cluster',
      { credential: aCredential({ token: 'abc', server: dead.url, cluster: '' }) },
      {},
      'CredentialNotForCluster',
    ],
    [
      'the credential of another Cluster',
      { name: 'dev', credential: aCredential({ token: 'abc', server: dead.url }) },
      {},
      'CredentialNotForCluster',
    ],
    [
      'a Secret with the label of Purser',
      { credential: managed({ labels: { 'tokens.purser.dev/managed-by': 'other' } }) },
      {},
      'CredentialMissing',
    ],
    [
      'the Secret with the record key',
      {
        controller: { kind: 'Secret', namespace: 'purser-system', name: 'purser-record-key' },
        credential: managed({ name: 'purser-record-key' }),
      },
      {},
      'CredentialMissing',
    ],
    ['a Secret that a ManagedToken owns', { credential: managed({ ownerReferences: [OWNER] }) }, {}, 'CredentialMissing'],
  ])('rejects %s', async (_, more, changed, ...[reason]) => {
    await world.close();
    start(changed);
    expect(await world.failure(at([dead], more))).toMatchObject({ reason });
  });

  it.each<[string, Registration, string]>([
    [
      'a credential of another namespace',
      { controller: { kind: 'Secret', namespace: 'team-a', name: 'credential' } },
      'Purser reads credential Secrets only in the namespace purser-system, not in team-a. Move the Secret and change spec.authInfo.controller, or add its namespace to --credential-namespaces',
    ],
    [
      'a service account, on a cluster that is not the hub',
      { controller: { kind: 'ServiceAccount', namespace: 'a', name: 'b' } },
      'spec.authInfo.controller.kind can be ServiceAccount only in the Cluster that --hub-cluster names. Set spec.authInfo.controller.kind to Secret or, if prod-eu represents the hub, set --hub-cluster to prod-eu',
    ],
  ])('names the remedy for %s', async (_, more, remedy) => {
    const { message } = await world.failure(at([dead], more));
    expect(message).toBe(`Purser's credential for the cluster is missing or unusable: ${remedy}`);
  });

  it('names the address that is not valid', async () => {
    const { message } = await world.failure(at([dead, { url: 'http://127.0.0.1:1' }]));
    expect(message).toContain('serverEndpoints[1].serverAddress must be an https URL');
  });

  it.each<[string, Registration['credential']]>([
    ['does not exist', null],
    ['names another Cluster', aCredential({ token: 'abc', cluster: 'dev' })],
    ['names another Cluster and has an unusable proxy', aCredential({ cluster: 'dev', proxy: 'http://user:password@proxy:3128' })],
    ['names another Cluster and has an unusable CA', aCredential({ cluster: 'dev', 'ca.crt': 'none' })],
    ['has an unreadable cluster key', { ...aCredential({}), data: { cluster: '%' } }],
    ['belongs to a ManagedToken', { ...managed({ ownerReferences: [OWNER] }), data: {} }],
    ['has the label of renewed tokens', { ...managed({ labels: { 'registry.purser.dev/renewed': 'true' } }), data: {} }],
  ])('does not reveal that a Secret %s', async (_, credential) => {
    const { message } = await world.failure(at([dead], { credential: credential ?? null }));
    expect(message).toBe(
      'the Cluster does not refer to a credential that names the Cluster: Secret purser-system/credential was not found, or its cluster key does not list prod-eu',
    );
  });

  it.each(['credential-renewed', 'purser-record-key'])('does not reveal whether the Secret %s exists', async (name) => {
    const controller = { kind: 'Secret', namespace: 'purser-system', name } as const;
    const existing = await world.failure(at([dead], { controller, credential: managed({ name }) }));
    expect(existing.message).toContain(`Secret purser-system/${name} is reserved`);
    expect((await world.failure(at([dead], { controller, credential: null }))).message).toBe(existing.message);
  });

  it('rejects a host name that resolves to this machine', async () => {
    await world.close();
    start({ allowLoopback: false });
    const server = await world.serve(grants());
    const url = server.url.replace('127.0.0.1', 'localhost');
    expect(await world.failure(at([{ url }]))).toMatchObject({ reason: 'AddressNotAllowed' });
    expect(connectionsOf(server).size).toBe(0);
  });

  it('sends nothing unless the credential names every address', async () => {
    const [pinned, other] = [await world.serve(grants()), await world.serve(grants())];
    const credential = aCredential({ token: 'abc', server: pinned.url });
    for (const servers of [
      [other, pinned],
      [pinned, other],
    ]) {
      expect(await world.failure(at(servers, { credential }))).toMatchObject({ reason: 'EndpointNotPinned' });
    }
    expect([...pinned.requests, ...other.requests]).toEqual([]);
    await world.issue(at([pinned], { generation: 2, credential }));
    expect(bearers(pinned)).toEqual(new Set(['Bearer abc']));
  });

  it('sends nothing unless the credential contains every certificate authority', async () => {
    const server = await world.serve(grants());
    const both = authority.certificate + createAuthority(Date.now()).certificate;
    const credential = aCredential({ token: 'abc', server: server.url });
    expect(await world.failure(at([server], { ca: both, credential }))).toMatchObject({ reason: 'CANotPinned' });
    expect(server.requests).toEqual([]);
    const wider = aCredential({ token: 'abc', server: server.url, 'ca.crt': both }, '2');
    await expect(world.issue(at([server], { credential: wider }))).resolves.toBeDefined();
  });

  it('issues tokens only for namespaces that the credential names, and sends nothing otherwise', async () => {
    const server = await world.serve(grants());
    const cluster = at([server], { credential: aCredential({ token: 'abc', server: server.url, namespaces: 'deploy, team-a' }) });
    expect(await world.failure(cluster, { ...REQUEST, namespace: 'team-b' })).toMatchObject({ reason: 'NamespaceNotAllowed' });
    const anchor = { namespace: 'team-b', name: 'purser-1', account: 'deployer' };
    await expect(world.issuer.ensureAnchor(cluster, anchor, AbortSignal.any([]))).rejects.toMatchObject({ reason: 'NamespaceNotAllowed' });
    expect(server.requests).toEqual([]);
    await expect(world.issue(cluster)).resolves.toBeDefined();
  });

  it('authenticates with a client certificate', async () => {
    const server = await serveWith(issueServerCertificate(authority, LOOPBACK_NAMES, Date.now()), authority.certificate);
    const { certificate, key } = issueClientCertificate(authority, { name: 'purser', groups: [] }, Date.now());
    const credential = aCredential({ 'tls.crt': certificate, 'tls.key': key, server: server.url });
    await world.issue(at([server], { credential }));
    expect(server.requests.map(({ clientName, headers }) => [clientName, headers.authorization])).toEqual([
      ['purser', undefined],
      ['purser', undefined],
    ]);
    await server.close();
  });
});

describe('ClusterClients with TLS certificates', () => {
  const years = (count: number) => Date.now() - count * YEAR;
  const expired = createAuthority(years(11));

  it.each<[string, () => Certificate, Registration]>([
    ['for another name', () => issueServerCertificate(authority, ['other.example.com'], Date.now()), {}],
    ['that has expired', () => issueServerCertificate(authority, LOOPBACK_NAMES, years(2)), {}],
    ['from another CA', () => issueServerCertificate(createAuthority(Date.now()), LOOPBACK_NAMES, Date.now()), {}],
    ['that is self-signed', () => createAuthority(Date.now()), {}],
    ['from a CA that has expired', () => issueServerCertificate(expired, LOOPBACK_NAMES, years(11)), { ca: expired.certificate }],
  ])('sends no credential to a server with a certificate %s', async (_, certificate, more) => {
    const server = await serveWith(certificate());
    expect(await world.failure(at([server], more))).toMatchObject({ reason: 'TLSVerifyFailed' });
    expect(server.requests).toEqual([]);
    await server.close();
  });

  it('rejects a server that speaks plain HTTP', async () => {
    const server = await startWireServer(grants());
    expect(await world.failure(at([{ url: server.url.replace('http:', 'https:') }]))).toMatchObject({ reason: 'TLSVerifyFailed' });
    expect(server.requests).toEqual([]);
    await server.close();
  });

  it('verifies certificates despite NODE_TLS_REJECT_UNAUTHORIZED=0', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    const server = await serveWith(issueServerCertificate(createAuthority(Date.now()), LOOPBACK_NAMES, Date.now()));
    const failed = await world.failure(at([server]));
    delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    warn.mockRestore();
    expect(failed).toMatchObject({ reason: 'TLSVerifyFailed' });
    await server.close();
  });

  it('verifies certificates with the system roots for a Cluster without caBundle', async () => {
    const server = await world.serve(grants());
    expect(await world.failure(at([server], { ca: undefined }))).toMatchObject({
      reason: 'TLSVerifyFailed',
      message: expect.stringContaining(': the Cluster has no caBundle, so Purser trusts only public certificate authorities'),
    });
    expect(server.requests).toEqual([]);
  });

  it('accepts a new certificate of the same CA, and rejects one of another CA', async () => {
    const first = await world.serve(grants());
    await world.issue(at([first]));
    const other = createAuthority(Date.now());
    const second = await serveWith(issueServerCertificate(other, LOOPBACK_NAMES, Date.now()));
    expect(await world.failure(at([second], { generation: 2 }))).toMatchObject({ reason: 'TLSVerifyFailed' });
    await expect(world.issue(at([second], { generation: 3, ca: other.certificate }))).resolves.toBeDefined();
    await second.close();
  });
});

describe('ClusterClients and their connections', () => {
  it('keeps connections while the registration does not change', async () => {
    const server = await world.serve(grants());
    await world.issue(at([server]));
    const before = connectionsOf(server);
    for (let round = 0; round < 3; round += 1) await world.issue(at([server]));
    expect(tokenRequests(server)).toHaveLength(4);
    expect(connectionsOf(server)).toEqual(before);
  });

  it.each<[string, Registration]>([
    ['a changed credential', { credential: aCredential({ token: 'newer', server: 'https://127.0.0.1' }, '2') }],
    ['another generation of the Cluster', { generation: 2 }],
    ['a re-created Cluster', { uid: 'newer' }],
  ])('replaces connections after a change: %s', async (_, more) => {
    const server = await world.serve(grants());
    await world.issue(at([server]));
    const old = connectionsOf(server);
    const credential = more.credential && aCredential({ token: 'newer', server: server.url }, '2');
    await world.issue(at([server], { ...more, ...(credential && { credential }) }));
    const used = connectionsOf(server).difference(old);
    expect(server.requests.slice(2).every(({ connection }) => used.has(connection))).toBe(true);
    await eventually(() => expect(server.openConnections).toBe(used.size));
    const [before, after] = tokenRequests(server).map(({ headers }) => headers.authorization);
    expect([before, after]).toEqual([`Bearer ${CREDENTIAL}`, credential ? 'Bearer newer' : `Bearer ${CREDENTIAL}`]);
    expect(server.requests).toHaveLength(4);
  });

  it('lets a request with the old credential finish', async () => {
    const server = await world.serve(grants());
    await world.issue(at([server]));
    let response = () => {};
    server.handle((request, reply) => {
      response = () => grant(request, reply);
    });
    const first = world.issue(at([server]));
    await eventually(() => expect(tokenRequests(server)).toHaveLength(2));
    const pending = response;
    server.handle(withIdentity(grants()));
    await world.issue(at([server], { credential: aCredential({ token: 'newer', server: server.url }, '2') }));
    pending();
    await expect(first).resolves.toBeDefined();
    const used = new Set(
      server.requests.filter(({ headers }) => headers.authorization === 'Bearer newer').map(({ connection }) => connection),
    );
    await eventually(() => expect(server.openConnections).toBe(used.size));
  });

  it('closes connections during a request when the Cluster changes', async () => {
    const server = await world.serve(() => undefined);
    const first = world.failure(at([server]), REQUEST, () => expect(tokenRequests(server)).toHaveLength(1));
    await eventually(() => expect(tokenRequests(server)).toHaveLength(1));
    const second = await world.serve(grants());
    await world.issue(at([second], { generation: 2 }));
    expect(await first).toMatchObject({ reason: 'ClusterUnreachable' });
    await eventually(() => expect(server.openConnections).toBe(0));
  });

  it('shares no connection between Clusters', async () => {
    const server = await world.serve(grants());
    const credential = aCredential({ token: 'another', server: server.url, cluster: 'b' });
    await world.issue(at([server], { name: 'a', uid: 'a' }));
    await world.issue(at([server], { name: 'b', uid: 'b', credential }));
    const used = server.requests.map(({ connection, headers }) => `${connection} ${headers.authorization}`);
    expect(new Set(used).size).toBe(connectionsOf(server).size);
  });

  it('closes connections of a deleted Cluster', async () => {
    const server = await world.serve(grants());
    const gone = at([server]);
    await world.issue(gone);
    await world.issuer.forget(gone.cluster);
    await world.issuer.forget(at([server], { name: 'unknown', uid: 'unknown' }).cluster);
    await eventually(() => expect(server.openConnections).toBe(0));
    // A caller with the old object cannot use the Cluster again; a new Cluster of that name can be used.
    await expect(world.issue(gone)).rejects.toMatchObject({ reason: 'ClusterNotFound' });
    await world.issue(at([server], { uid: 'successor' }));
  });

  it('closes all connections on close, including those of old credentials and of requests in progress', async () => {
    const server = await world.serve(() => undefined);
    const pending = [
      world.issue(at([server])),
      world.issue(at([server], { credential: aCredential({ token: 'newer', server: server.url }, '2') })),
      world.issue(at([server], { name: 'b', uid: 'b' })),
    ].map((issued) => issued.catch((error: unknown) => error));
    await eventually(() => expect(tokenRequests(server)).toHaveLength(3));
    await world.issuer.close();
    for (const failed of await Promise.all(pending)) expect(failed).toMatchObject({ reason: 'ClusterUnreachable' });
    await eventually(() => expect(server.openConnections).toBe(0));
    await expect(world.issue(at([server]))).rejects.toMatchObject({ reason: 'ClusterUnreachable' });
    expect(world.clock.pending).toBe(0);
  });
});

describe('ClusterClients with several addresses', () => {
  it('tries addresses in turn and keeps the one that responds', async () => {
    const [dead, server] = [await deadEnd(), await world.serve(grants())];
    await world.issue(at([dead, server]));
    await world.issue(at([dead, server]));
    expect(tokenRequests(server)).toHaveLength(2);
  });

  it('tries the preferred address again after five minutes', async () => {
    const [first, second] = [await world.serve((_, reply) => reply.reset()), await world.serve(grants())];
    const requestsBefore = () => [first, second].map((server) => tokenRequests(server).length);
    await world.failure(at([first, second]));
    first.handle(withIdentity(grants()));
    await world.issue(at([first, second]));
    world.clock.advance(299_000);
    await world.issue(at([first, second]));
    expect(requestsBefore()).toEqual([1, 2]);
    world.clock.advance(1_000);
    await world.issue(at([first, second]));
    await world.issue(at([first, second]));
    expect(requestsBefore()).toEqual([3, 2]);
  });

  it('applies the dial policy to each address', async () => {
    const hostile = await serveWith(issueServerCertificate(createAuthority(Date.now()), LOOPBACK_NAMES, Date.now()));
    const server = await world.serve(grants());
    await world.issue(at([{ url: 'https://169.254.169.254' }, hostile, server]));
    expect(hostile.requests).toEqual([]);
    await hostile.close();
  });

  it('never repeats a request that another address may have processed', async () => {
    const first = await world.serve((_, reply) => reply.reset());
    const second = await world.serve(grants());
    expect(await world.failure(at([first, second]))).toMatchObject({ reason: 'ClusterUnreachable' });
    expect([tokenRequests(first).length, tokenRequests(second).length]).toEqual([1, 0]);
    await expect(world.issue(at([first, second]))).resolves.toBeDefined();
    expect([tokenRequests(first).length, tokenRequests(second).length]).toEqual([1, 1]);
  });

  it('tries another address after a timeout', async () => {
    const first = await world.serve(() => undefined);
    const second = await world.serve(grants());
    expect(await world.failure(at([first, second]), REQUEST, () => expect(tokenRequests(first)).toHaveLength(1))).toMatchObject({
      reason: 'ClusterTimeout',
    });
    await expect(world.issue(at([first, second]))).resolves.toBeDefined();
  });

  it('tries another address within one request when a TLS handshake hangs', async () => {
    await world.close();
    start({ clock: systemClock });
    const silent = createServer((socket) => socket.on('error', () => undefined).resume());
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const address = silent.address();
    const url = `https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    const server = await world.serve(grants());
    await expect(world.issue(at([{ url }, server]))).resolves.toBeDefined();
    await new Promise((resolve) => silent.close(resolve));
  });

  it('reports the error of the preferred address if all addresses fail', async () => {
    expect(await world.failure(at([{ url: 'https://169.254.169.254' }, await deadEnd()]))).toMatchObject({ reason: 'AddressNotAllowed' });
  });
});

describe('ClusterClients with a circuit breaker', () => {
  const failures = async (cluster: Parameters<IssuerWorld['failure']>[0], count: number) => {
    for (let round = 0; round < count; round += 1) await world.failure(cluster);
  };

  it('opens the circuit after five failures, then sends one test request', async () => {
    const server = await world.serve((_, reply) => reply.reset());
    await failures(at([server]), 5);
    const failed = await world.failure(at([server]));
    expect(failed).toMatchObject({ reason: 'CircuitOpen', retryAfterMs: expect.any(Number) });
    expect(failed.message).toContain('the connection to the cluster failed');
    expect(tokenRequests(server)).toHaveLength(5);
    world.clock.advance(5_000);
    server.handle(withIdentity(grants()));
    await expect(world.issue(at([server]))).resolves.toBeDefined();
    await expect(world.issue(at([server]))).resolves.toBeDefined();
  });

  it('closes the circuit when the registration changes', async () => {
    const dead = await deadEnd();
    await failures(at([dead]), 5);
    expect(await world.failure(at([dead]))).toMatchObject({ reason: 'CircuitOpen' });
    const server = await world.serve(grants());
    await expect(world.issue(at([server], { generation: 2 }))).resolves.toBeDefined();
  });

  it('keeps the circuits of other clusters closed', async () => {
    const dead = await deadEnd();
    await failures(at([dead]), 6);
    const server = await world.serve(grants());
    await expect(world.issue(at([server], { name: 'b', uid: 'b' }))).resolves.toBeDefined();
  });

  it('opens the circuit for a proxy without a backend', async () => {
    const server = await world.serve((_, reply) => reply.text(503, 'no backend'));
    await failures(at([server]), 5);
    expect(await world.failure(at([server]))).toMatchObject({ reason: 'CircuitOpen' });
  });

  it.each([400, 401, 403, 404, 409, 422, 429, 500])('keeps the circuit closed after a response with code %i', async (code) => {
    const server = await world.serve((_, reply) => reply.json(code, errorStatus(code, 'no')));
    await failures(at([server]), 6);
    expect(tokenRequests(server)).toHaveLength(6);
  });

  it('sends the next request as a test when the test request is canceled', async () => {
    const server = await world.serve((_, reply) => reply.reset());
    await failures(at([server]), 5);
    world.clock.advance(5_000);
    server.handle(() => undefined);
    const controller = new AbortController();
    const probe = world.issue(at([server]), REQUEST, controller.signal).catch(() => 'canceled');
    await eventually(() => expect(tokenRequests(server)).toHaveLength(6));
    expect(await world.failure(at([server]))).toMatchObject({ reason: 'CircuitOpen' });
    controller.abort();
    expect(await probe).toBe('canceled');
    server.handle(grants());
    await expect(world.issue(at([server]))).resolves.toBeDefined();
  });
});

describe('ClusterClients with the hub', () => {
  const controller = { kind: 'ServiceAccount', namespace: 'purser-system', name: 'purser' } as const;

  async function startHub(): Promise<WireServer> {
    const server = await startWireServer(withIdentity(grants()));
    const config = createFixedConfig({ name: 'hub', server: server.url, skipTLSVerify: false }, { name: 'us', token: 'hub-token' });
    const client = new KubeClient(createTransport(config, { clock: world.clock }), 'purser');
    start({ hub: { clusterName: 'hub', client, namespace: 'purser-system' } });
    return server;
  }

  it("uses Purser's own client, which is never closed, at any registered address", async () => {
    const server = await startHub();
    const hub = at([{ url: 'https://hub.example.com' }], { name: 'hub', controller });
    await world.issue(hub);
    expect(bearers(server)).toEqual(new Set(['Bearer hub-token']));
    const before = server.openConnections;
    await world.issuer.close();
    expect(server.openConnections).toBe(before);
    await server.close();
  });

  it.each([
    ['with kind ServiceAccount', controller],
    ['with a credential Secret', undefined],
  ])("issues no token for a service account in Purser's namespace: %s", async (_, by) => {
    const server = await startHub();
    const target = await world.serve(grants());
    const hub = at([target], { name: 'hub', ...(by && { controller: by }) });
    const failed = await world.failure(hub, { ...REQUEST, namespace: 'purser-system', name: 'default' });
    expect(failed).toMatchObject({ reason: 'OwnNamespace' });
    expect(server.requests.filter(({ path }) => path.endsWith('/token'))).toEqual([]);
    await server.close();
  });
});
