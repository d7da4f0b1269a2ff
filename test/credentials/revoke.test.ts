// Revocation of the earlier tokens of a credential that are bound to anchors, by an annotation on the registered Secret.

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Clusters, Events, Secrets } from '../../src/api/resources.ts';
import { CREDENTIALS } from '../tokens/token-world.ts';
import { CredentialWorld, textOf } from './credential-world.ts';
import { forbid } from './scripted-cluster.ts';

const MINUTE_MS = 60_000;
const REVOKE = 'registry.purser.dev/revoke-credential';
let world: CredentialWorld;

beforeAll(async () => {
  world = await CredentialWorld.start();
});
afterEach(async () => {
  expect(await world.leaks()).toEqual([]);
  await world.end();
});
afterAll(() => world.close());

const registered = () => world.hub.admin.get(Secrets, { namespace: CREDENTIALS, name: world.name });
const tokenRequests = () => world.target.requests.filter(({ name }) => name === 'POST token');
const revoked = async () => (await world.renewed())?.metadata.annotations?.['registry.purser.dev/revoked'];

async function request(value: string): Promise<void> {
  await world.hub.admin.patch(Secrets, { namespace: CREDENTIALS, name: world.name }, { metadata: { annotations: { [REVOKE]: value } } });
}

/** Registers a cluster and waits for its first renewed token. */
async function beginRenewed(): Promise<string> {
  await world.begin({ overlap: '24h' });
  await world.run();
  const token = await world.nextToken();
  await world.wait(MINUTE_MS);
  return token;
}

/** Adds a Secret to the target, with the labels of the existing anchor or others. */
function addAnchor(name: string, labels = [...world.target.anchors.values()][0]?.metadata.labels): void {
  world.target.anchors.set(name, {
    metadata: { namespace: 'purser-system', name, uid: `uid-${name}`, resourceVersion: '1', ...(labels && { labels }) },
  });
}

describe('revocation of a credential', () => {
  it('replaces the token immediately, and deletes all anchors of the registered Secret without waiting for the overlap', async () => {
    const first = await beginRenewed();
    addAnchor('purser-credential-unknown');
    addAnchor('purser-credential-of-another-hub', { 'registry.purser.dev/credential': 'other' });
    await request('2026-11-16');
    const before = await registered();
    const second = await world.nextToken(first);
    await world.until(async () => (await revoked()) === '2026-11-16', 15_000);
    expect([world.target.accepts(first), world.target.accepts(second)]).toEqual([false, true]);
    expect([...world.target.anchors.keys()].filter((name) => /unknown|another/.test(name))).toEqual(['purser-credential-of-another-hub']);
    expect(world.target.anchors.size).toBe(2);
    expect((await registered()).data).toEqual(before.data);
    await world.until(async () => (await world.events()).includes('Normal CredentialRevoked'));
    const { items } = await world.hub.admin.list(Events);
    const event = items.find(({ reason, involvedObject }) => reason === 'CredentialRevoked' && involvedObject.name === world.name);
    expect(event?.message).toContain(`The token in the registered Secret ${CREDENTIALS}/${world.name} stays valid until 2`);
    expect(event?.message).toContain(`If that token was stolen, run purser cluster revoke ${world.name} --context CONTEXT.`);
    expect(world.logged.some((line) => line.includes('earlier tokens revoked'))).toBe(true);
    await world.shows('True ClusterReady', 'Ready');
  });

  it('revokes once for each value of the annotation', async () => {
    await beginRenewed();
    await request('a');
    await world.until(async () => (await revoked()) === 'a');
    expect(tokenRequests()).toHaveLength(2);
    await request('');
    await world.wait(MINUTE_MS);
    await request('a');
    await world.wait(MINUTE_MS);
    expect(tokenRequests()).toHaveLength(2);
    await request('b'.repeat(1_000));
    await world.until(async () => (await revoked())?.startsWith('sha256:') === true);
    expect(tokenRequests()).toHaveLength(3);
  });

  it('keeps a replica that has not received the new token authorized', async () => {
    const first = await beginRenewed();
    await world.run({ isLeader: false });
    await request('now');
    await world.until(async () => (await revoked()) === 'now');
    expect(world.target.accepts(first)).toBe(false);
    for (let round = 0; round < 12; round++) {
      await world.wait(5_000);
      expect(await world.condition('Ready')).toMatch(/^True/);
    }
  });

  it('reports the cause and the remedy while the target forbids listing anchors, and requests no more tokens', async () => {
    const first = await beginRenewed();
    world.target.intercept = (name, reply) => name === 'GET secrets' && forbid(reply);
    await request('now');
    const message = await world.shows('False CredentialNotRevoked');
    expect(message).toMatch(/cannot .* apply deploy\/target\/access.yaml .* purser cluster revoke/);
    await world.wait(30 * MINUTE_MS, 10_000);
    expect(tokenRequests()).toHaveLength(2);
    expect(world.target.requests.filter(({ name }) => name === 'GET secrets').length).toBeLessThanOrEqual(10);
    expect([await revoked(), world.target.accepts(first)]).toEqual([undefined, true]);
    world.target.intercept = () => false;
    await world.wait(11 * MINUTE_MS, 10_000);
    expect([await revoked(), world.target.accepts(first), tokenRequests().length]).toEqual(['now', false, 2]);
    await world.shows('True CredentialValid');
  });

  it('reports that tokens without an anchor stay valid', async () => {
    await world.begin();
    world.target.intercept = (name, reply) => name.endsWith(' secrets') && forbid(reply);
    await world.run();
    await world.nextToken();
    await request('now');
    expect(await world.shows('False CredentialNotRevoked')).toContain('stay valid until they expire');
  });

  it('reports a request to revoke a credential that Purser does not renew', async () => {
    await world.begin({ renewal: 'Manual' });
    await request('now');
    await world.run();
    expect(await world.shows('False CredentialNotRevoked')).toContain('Purser does not renew the credential');
    await world.hub.admin.patch(Clusters, { name: world.name }, { spec: { credential: { renewal: 'Auto' } } });
    await world.until(async () => (await revoked()) === 'now');
    await world.shows('True CredentialValid');
  });

  it('continues with the registered token if the cluster rejects the renewed one', async () => {
    const first = await beginRenewed();
    addAnchor('purser-credential-unknown');
    world.target.anchors.delete([...world.target.anchors.keys()][0] ?? '');
    await request('now');
    await world.until(async () => (await revoked()) === 'now');
    expect([textOf(await world.renewed()) === first, world.target.anchors.size]).toEqual([false, 1]);
    await world.shows('True ClusterReady', 'Ready');
  });
});
