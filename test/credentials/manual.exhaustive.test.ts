// Renewal Manual after renewals: Purser switches back to the registered token, and loses no access that it has.

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ClusterCredential } from '../../src/api/cluster.gen.ts';
import { Clusters, Secrets } from '../../src/api/resources.ts';
import { CREDENTIALS } from '../tokens/token-world.ts';
import { CredentialWorld, failingHub, textOf } from './credential-world.ts';
import { forbid } from './scripted-cluster.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
let world: CredentialWorld;

beforeAll(async () => {
  world = await CredentialWorld.start();
});
afterEach(async () => {
  expect(await world.leaks()).toEqual([]);
  await world.end();
});
afterAll(() => world.close());

/** Registers a cluster with a token for this time, and waits for its first renewed token. */
async function beginRenewed(
  registeredSeconds: number,
  lifetime = '1h',
): Promise<{ readonly registered: string; readonly renewed: string }> {
  await world.begin({ lifetime });
  const registered = world.target.issueToken(registeredSeconds);
  await world.register(registered);
  await world.run();
  const renewed = await world.nextToken();
  await world.wait(MINUTE_MS);
  return { registered, renewed };
}

async function setRenewal(renewal: ClusterCredential['renewal']): Promise<void> {
  await world.hub.admin.patch(Clusters, { name: world.name }, { spec: { credential: { renewal } } });
}

/** Waits until Purser uses this token, and no renewed token and no anchor is left. */
async function returnsTo(token: string): Promise<void> {
  await world.until(() => world.target.probedWith === token);
  await world.until(async () => (await world.renewed()) === undefined && world.target.anchors.size === 0);
  await world.shows('True ClusterReady', 'Ready');
}

const reviews = () => world.target.requests.filter(({ name }) => name === 'POST selfsubjectreviews');

describe('credential with renewal Manual', () => {
  it('returns to a registered token that the cluster accepts, and revokes the renewed one after the overlap', async () => {
    const { registered, renewed } = await beginRenewed(31_536_000);
    await setRenewal('Manual');
    await world.until(async () => textOf(await world.renewed()) === '');
    await world.wait(50_000);
    expect([world.target.accepts(renewed), world.target.probedWith]).toEqual([true, registered]);
    await returnsTo(registered);
    expect(world.target.accepts(renewed)).toBe(false);
    const expiry = new Date(world.target.issued.get(registered)?.expiresAt ?? 0).toISOString().slice(0, 19);
    // A message alone is written with the next heartbeat.
    await world.shows(`True CredentialValid: The credential is valid until ${expiry}Z.`, 'CredentialFresh', 6 * MINUTE_MS);
    expect(await world.events()).toContain('Normal CredentialRetired');
    world.target.requests.length = 0;
    await world.wait(2 * HOUR_MS, 30_000);
    expect(world.target.requests.filter(({ name }) => !name.endsWith('selfsubjectreviews'))).toEqual([]);
  });

  it('switches back to the registered token after the renewed token was revoked', async () => {
    const { registered } = await beginRenewed(31_536_000);
    world.target.anchors.clear();
    await setRenewal('Manual');
    await returnsTo(registered);
    await world.shows('True CredentialValid');
  });

  it('switches back to the registered token after the renewed token expired during an outage', async () => {
    const { registered } = await beginRenewed(31_536_000);
    world.target.intercept = (_, reply) => {
      reply.reset();
      return true;
    };
    await setRenewal('Manual');
    await world.wait(65 * MINUTE_MS, 20_000);
    expect(await world.fresh()).toMatch(/^False CredentialExpired: The credential expired at/);
    world.target.intercept = () => false;
    await world.wait(11 * MINUTE_MS, 10_000);
    await returnsTo(registered);
    await world.shows('True CredentialValid');
  });

  it('keeps the renewed token in use until its expiry while the cluster rejects the registered one, and names the cause and remedy', async () => {
    const { renewed } = await beginRenewed(60, '2h');
    await setRenewal('Manual');
    const message = await world.shows('False CredentialNotRetired');
    expect(message).toMatch(/rejects .* expires at .* Write a token .* or set spec.credential.renewal to Auto\./);
    world.target.requests.length = 0;
    await world.wait(HOUR_MS, 10_000);
    expect(reviews().length).toBeLessThanOrEqual(70);
    expect(world.target.requests.filter(({ name }) => name === 'POST token')).toEqual([]);
    expect([world.target.probedWith, await world.renewedToken()]).toEqual([renewed, renewed]);
    await world.shows('True ClusterReady', 'Ready');
    await world.wait(HOUR_MS, 10_000);
    expect(await world.shows('False CredentialExpired')).toContain('run purser cluster renew');
    const supplied = world.target.issueToken();
    await world.register(supplied);
    await returnsTo(supplied);
    await world.shows('True CredentialValid');
  });

  it('renews again immediately with renewal Auto, and reports no earlier failure', async () => {
    const { renewed } = await beginRenewed(60, '2h');
    await setRenewal('Manual');
    await world.shows('False CredentialNotRetired');
    await setRenewal('Auto');
    await world.shows('True CredentialValid');
    const supplied = world.target.issueToken();
    await setRenewal('Manual');
    await world.register(supplied);
    await returnsTo(supplied);
    await setRenewal('Auto');
    const next = await world.nextToken(renewed);
    await world.until(() => world.target.probedWith === next);
    await setRenewal('Manual');
    await returnsTo(supplied);
  });

  it('renews a shared credential immediately when the last Cluster with renewal Manual refers to another Secret', async () => {
    await world.begin({ lifetime: '1h' });
    const other = `${world.name}-other`;
    await world.addCluster(other, { lifetime: '1h', renewal: 'Manual' });
    await world.register(world.target.issueToken(), [world.name, other]);
    await world.run();
    await world.until(async () => (await world.condition('Ready')).startsWith('True'));
    await world.wait(MINUTE_MS);
    expect(await world.renewed()).toBeUndefined();
    await world.hub.admin.patch(Clusters, { name: other }, { spec: { authInfo: { controller: { name: 'another' } } } });
    expect(await world.nextToken()).not.toBe('');
  });

  it('continues with a new token if renewal becomes Auto before the anchors of the renewed token are deleted', async () => {
    const { renewed } = await beginRenewed(31_536_000);
    await setRenewal('Manual');
    await world.until(async () => textOf(await world.renewed()) === '');
    await setRenewal('Auto');
    const next = await world.nextToken();
    await world.wait(2 * MINUTE_MS, 5_000);
    expect([world.target.accepts(renewed), world.target.accepts(next), world.target.anchors.size]).toEqual([false, true, 1]);
  });

  it('revokes the renewed token after a new token is registered', async () => {
    const { renewed } = await beginRenewed(31_536_000);
    world.target.intercept = (name, reply) => name === 'POST token' && forbid(reply);
    await setRenewal('Manual');
    const supplied = world.target.issueToken();
    await world.register(supplied);
    await returnsTo(supplied);
    expect(world.target.accepts(renewed)).toBe(false);
  });

  it('keeps the renewed token in use while the hub rejects the write, and names the remedy', async () => {
    let isFailing = false;
    await world.begin();
    await world.run({ hub: failingHub(world, 507, () => isFailing) });
    const token = await world.nextToken();
    isFailing = true;
    await setRenewal('Manual');
    expect(await world.shows('False CredentialNotStored')).toContain('no space left');
    expect([await world.renewedToken(), world.target.probedWith]).toEqual([token, token]);
    isFailing = false;
    await returnsTo(textOf(await world.hub.admin.get(Secrets, { namespace: CREDENTIALS, name: world.name })));
  });

  it('reports a registered token that was revoked before its expiry as rejected', async () => {
    await world.begin({ renewal: 'Manual' });
    await world.run();
    await world.shows('True CredentialValid');
    world.target.invalidate();
    expect(await world.shows('False CredentialRejected')).toContain('Write a credential that the cluster accepts');
    await world.register(world.target.issueToken());
    await world.shows('True CredentialValid');
  });

  it('clears an earlier renewal failure', async () => {
    await world.begin();
    world.target.intercept = (name, reply) => name === 'POST token' && forbid(reply);
    await world.run();
    await world.shows('False CredentialRenewalForbidden');
    await setRenewal('Manual');
    await world.shows('True CredentialValid');
  });

  it.each(['before', 'after'])(
    'keeps the anchor of a renewed token that was copied into the registered Secret %s renewal became Manual',
    async (when) => {
      await world.begin();
      await world.run();
      const token = await world.nextToken();
      if (when === 'before') await world.register(token);
      await setRenewal('Manual');
      await world.wait(20_000);
      if (when === 'after') await world.register(token);
      await world.until(async () => (await world.renewed()) === undefined);
      await world.wait(5 * MINUTE_MS, 5_000);
      expect([world.target.accepts(token), world.target.probedWith]).toEqual([true, token]);
    },
  );

  it('rejects a registered token of another user', async () => {
    const { renewed } = await beginRenewed(31_536_000);
    const supplied = textOf(await world.hub.admin.get(Secrets, { namespace: CREDENTIALS, name: world.name }));
    const issued = world.target.issued.get(supplied);
    if (issued !== undefined) world.target.issued.set(supplied, { ...issued, username: 'system:serviceaccount:kube-system:admin' });
    await setRenewal('Manual');
    expect(await world.shows('False CredentialNotRetired')).toContain('another user');
    expect(await world.renewedToken()).toBe(renewed);
  });
});

describe('credential with renewal Auto', () => {
  it('recovers with the registered token immediately after Purser was down for longer than the lifetime', async () => {
    await world.begin({ lifetime: '1h' });
    const replica = await world.run({ isProbing: false });
    const before = await world.nextToken();
    await world.wait(5_000);
    await replica.stop();
    world.clock.advance(3 * HOUR_MS);
    world.target.requests.length = 0;
    await world.run({ isProbing: false });
    expect(world.target.accepts(await world.nextToken(before))).toBe(true);
    expect(world.target.requests.every(({ bearer }) => bearer !== before)).toBe(true);
  });

  it("renews with the renewed token if its expiry has passed only by Purser's clock, and the registered one is rejected", async () => {
    await world.begin({ lifetime: '1h' });
    await world.register(world.target.issueToken(60));
    const replica = await world.run({ isProbing: false });
    const before = await world.nextToken();
    await world.wait(5_000);
    await replica.stop();
    world.clock.advance(3 * HOUR_MS);
    world.target.skewMs = -150 * MINUTE_MS;
    await world.run({ isProbing: false });
    expect(world.target.accepts(await world.nextToken(before))).toBe(true);
  });
});
