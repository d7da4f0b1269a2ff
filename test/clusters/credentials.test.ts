import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Clusters } from '../../src/api/resources.ts';
import { issueClientCertificate, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { startWireServer, type WireServer } from '../support/wire-server.ts';
import { authority, errorStatus, jwt } from '../targets/wire-target.ts';
import { CREDENTIALS } from '../tokens/token-world.ts';
import { ClusterWorld, HUB, healthy } from './cluster-world.ts';

const DAY_MS = 24 * 3_600_000;
const OWN = { kind: 'ServiceAccount', namespace: CREDENTIALS, name: 'purser' } as const;
let world: ClusterWorld;
let byCertificate: WireServer;

beforeAll(async () => {
  const { certificate: cert, key } = issueServerCertificate(authority, LOOPBACK_NAMES, Date.now());
  byCertificate = await startWireServer(healthy(), { tls: { cert, key, ca: authority.certificate } });
  world = await ClusterWorld.start();
  world.run();
});

afterAll(async () => {
  await world.close();
  await byCertificate.close();
});

/** Registers a Cluster with these keys in addition to the addresses of its credential. */
async function withCredential(name: string, { url }: WireServer, keys: Readonly<Record<string, string>>): Promise<void> {
  await world.credential(name, { ...keys, server: url });
  await world.add(name, [url], { controller: { kind: 'Secret', namespace: CREDENTIALS, name } });
  await world.shows(name, 'Ready=True ClusterReady');
}

async function freshness(name: string): Promise<string> {
  const { status } = await world.get(name);
  const { reason, message } = status?.conditions?.find(({ type }) => type === 'CredentialFresh') ?? {};
  return `${reason}: ${message}`;
}

describe('condition CredentialFresh', () => {
  it.each([
    ['for a year on its first day', 'certificate-new', 0, 'CredentialValid'],
    ['for a year, 25 days before expiry', 'certificate-old', 340, 'CredentialExpiring'],
  ])('shows the expiry of a client certificate %s', async (_, name, daysAgo, reason) => {
    const { certificate, key, expiresAt } = issueClientCertificate(
      authority,
      { name: 'purser', groups: [] },
      Date.now() - daysAgo * DAY_MS,
    );
    await withCredential(name, byCertificate, { 'tls.crt': certificate, 'tls.key': key });
    expect(byCertificate.requests.at(-1)?.clientName).toBe('purser');
    expect(await freshness(name)).toMatch(new RegExp(`^${reason}: .* (until|at) ${new Date(expiresAt).toISOString().slice(0, 17)}`));
  });

  it('records an event for a credential that expires soon while Ready stays True', async () => {
    expect(await world.events('certificate-old')).toEqual(expect.arrayContaining(['Warning CredentialExpiring', 'Normal ClusterReady']));
    expect(await freshness('certificate-old')).toContain('Write a new credential to the Secret');
  });

  it('changes from CredentialValid to CredentialExpiring to CredentialExpired for a JWT', async () => {
    const server = await world.serve(healthy());
    const iat = Math.floor(world.clock.now() / 1_000);
    await withCredential('jwt', server, { token: jwt({ iat, exp: iat + 600 }) });
    expect(await freshness('jwt')).toMatch(/^CredentialValid/);
    world.clock.advance(490_000);
    await world.shows('jwt', 'CredentialFresh=False CredentialExpiring');
    world.clock.advance(120_000);
    await world.shows('jwt', 'CredentialFresh=False CredentialExpired');
    expect(await world.conditions('jwt')).toContain('Ready=True ClusterReady');
  });

  it('backs off while the credential is rejected, and probes with a new credential immediately', async () => {
    const server = await world.serve(healthy());
    await world.register('rejected', [server.url]);
    await world.shows('rejected', 'Ready=True ClusterReady');
    server.handle((_, reply) => reply.json(401, errorStatus(401, 'Unauthorized')));
    await world.shows('rejected', 'Authorized=False CredentialRejected');
    const probes = async (ms: number) => {
      const before = server.requests.length;
      await world.pass(ms);
      return server.requests.length - before;
    };
    await probes(60_000);
    expect(await probes(180_000)).toBeLessThanOrEqual(4);
    server.handle(healthy());
    await world.credential('rejected', { token: 'another-credential', server: server.url });
    const renewedAt = world.clock.now();
    await world.shows('rejected', 'Ready=True ClusterReady');
    expect(world.clock.now() - renewedAt).toBeLessThan(10_000);
  });
});

describe('status of the hub', () => {
  it("probes with Purser's own client, which never dials the Cluster's addresses", async () => {
    await world.add(HUB, ['https://no-such-host.invalid'], { controller: OWN });
    await world.shows(HUB, 'Ready=True ClusterReady');
    expect(await world.conditions(HUB)).toEqual([
      'Ready=True ClusterReady',
      'Reachable=True Responding',
      'Authorized=True PermissionsGranted',
      'CredentialFresh=True CredentialValid',
    ]);
    const { status } = await world.get(HUB);
    expect(status).toMatchObject({ type: 'Kubernetes', version: expect.stringMatching(/^v1\./) });
    expect(status?.activeEndpoint).toBeUndefined();
    await world.hub.admin.delete(Clusters, { name: HUB });
  });

  it('shows CredentialMissing for another Cluster with kind ServiceAccount', async () => {
    await world.add('not-the-hub', [world.hub.url], { controller: OWN });
    await world.shows('not-the-hub', 'Authorized=False CredentialMissing');
    expect(await world.conditions('not-the-hub')).toContain('CredentialFresh=Unknown CredentialMissing');
  });
});
