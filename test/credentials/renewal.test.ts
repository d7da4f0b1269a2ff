import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Secrets } from '../../src/api/resources.ts';
import { CREDENTIALS } from '../tokens/token-world.ts';
import { CredentialWorld } from './credential-world.ts';

const MINUTE_MS = 60_000;
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
const requests = () => world.target.requests.map(({ name }) => name);

describe('credential controller', () => {
  it('replaces a supplied token immediately, and leaves the registered Secret unchanged', async () => {
    await world.begin();
    const before = await registered();
    await world.run();
    const token = await world.nextToken();
    expect(world.target.accepts(token)).toBe(true);
    expect(await registered()).toEqual(before);
    const secret = await world.renewed();
    expect(secret?.metadata).toMatchObject({
      labels: { 'registry.purser.dev/renewed': 'true' },
      ownerReferences: [{ kind: 'Secret', name: world.name, uid: before.metadata.uid }],
    });
    expect(Object.keys(secret?.data ?? {}).sort()).toEqual(['ca.crt', 'cluster', 'server', 'token']);
    const [anchor] = world.target.anchors.values();
    expect(anchor?.metadata.name).toMatch(/^purser-credential-[0-9a-f]{32}$/);
    expect(anchor?.metadata.labels).toMatchObject({ 'tokens.purser.dev/managed-by': 'purser' });
    await world.shows('True CredentialValid: The credential is valid until');
    await world.until(async () => (await world.events()).includes('Normal CredentialRenewed'));
  });

  it('probes the cluster with the new token', async () => {
    await world.begin();
    await world.run();
    const token = await world.nextToken();
    await world.until(() => world.target.probedWith === token);
    await world.shows('True ClusterReady', 'Ready');
  });

  it('sends at most six requests to the target and one write to the hub for each renewal, and none while idle', async () => {
    await world.begin({ lifetime: '1h' });
    await world.run({ isProbing: false });
    const first = await world.nextToken();
    world.target.requests.length = 0;
    await world.wait((await world.renewAt()) - world.clock.now() - 1_000, 20_000);
    expect(requests()).toEqual([]);
    const before = Number((await world.renewed())?.metadata.resourceVersion);
    const second = await world.nextToken(first);
    const after = Number((await world.renewed())?.metadata.resourceVersion);
    await world.wait(2 * MINUTE_MS, 5_000);
    expect(requests()).toEqual([
      'POST selfsubjectreviews',
      'POST secrets',
      'POST token',
      'POST selfsubjectreviews',
      'POST selfsubjectreviews',
      'DELETE secrets',
    ]);
    expect(Number((await world.renewed())?.metadata.resourceVersion)).toBe(after);
    expect(after).toBeGreaterThan(before);
    expect([world.target.accepts(first), world.target.accepts(second)]).toEqual([false, true]);
    expect(world.target.anchors.size).toBe(1);
  });

  it('keeps the replaced token valid for the overlap', async () => {
    await world.begin({ lifetime: '1h', overlap: '5m' });
    await world.run({ isProbing: false });
    const first = await world.nextToken();
    await world.renewal();
    await world.wait(290_000, 5_000);
    expect(world.target.accepts(first)).toBe(true);
    await world.wait(20_000);
    expect(world.target.accepts(first)).toBe(false);
  });

  it('renews each obtained token only at half-life if the cluster grants ten minutes instead of a week', async () => {
    await world.begin();
    world.target.grantedSeconds = 600;
    await world.run({ isProbing: false });
    await world.nextToken();
    for (let round = 0; round < 3; round++) {
      const before = world.target.requests.filter(({ name }) => name === 'POST token').length;
      await world.renewal();
      expect(world.target.requests.filter(({ name }) => name === 'POST token').length).toBe(before + 1);
    }
  });

  it('renews a ten-minute token before it expires', async () => {
    await world.begin();
    await world.register(world.target.issueToken(600));
    await world.run();
    await world.nextToken();
    await world.wait(15 * MINUTE_MS, 10_000);
    await world.shows('True ClusterReady', 'Ready');
  });

  it('prefers a new token in the registered Secret, and renews it immediately', async () => {
    await world.begin();
    await world.run();
    const before = await world.nextToken();
    await world.wait(2 * MINUTE_MS, 5_000);
    world.target.invalidate();
    const supplied = world.target.issueToken();
    await world.register(supplied);
    const after = await world.nextToken(before);
    expect(world.target.requests.findLast(({ name }) => name === 'POST token')?.bearer).toBe(supplied);
    expect(world.target.accepts(after)).toBe(true);
    await world.wait(2 * MINUTE_MS, 5_000);
    expect(world.target.anchors.size).toBe(1);
  });

  it('does not renew a credential with renewal Manual', async () => {
    await world.begin({ renewal: 'Manual' });
    await world.run({ isProbing: false });
    await world.wait(MINUTE_MS);
    expect([requests(), await world.renewed()]).toEqual([[], undefined]);
  });

  it('does not renew the token of a user that is not a service account', async () => {
    await world.begin();
    await world.register(world.target.issueToken(3_600, { username: 'jane' }));
    await world.run();
    await world.shows('True CredentialValid');
    await world.wait(MINUTE_MS);
    expect(await world.renewed()).toBeUndefined();
  });

  it('reviews an opaque token of another user once, and does not renew it', async () => {
    await world.begin();
    world.target.changes = { isOpaque: true, username: 'jane' };
    await world.register(world.target.issueToken());
    await world.run({ isProbing: false });
    await world.wait(5 * MINUTE_MS, 5_000);
    expect(requests()).toEqual(['POST selfsubjectreviews']);
  });

  it('renews opaque tokens, and deletes the anchors that Purser recorded for them', async () => {
    await world.begin({ lifetime: '1h' });
    world.target.changes = { isOpaque: true };
    await world.register(world.target.issueToken());
    await world.run({ isProbing: false });
    const first = await world.nextToken();
    await world.renewal();
    await world.wait(2 * MINUTE_MS, 5_000);
    expect([world.target.accepts(first), world.target.anchors.size]).toEqual([false, 1]);
  });

  it('renews the token of a Secret that two Clusters share only once, with the shorter lifetime', async () => {
    await world.begin({ lifetime: '2h' });
    await world.register(world.target.issueToken(), [world.name, `${world.name}-b`]);
    await world.addCluster(`${world.name}-b`, { lifetime: '1h' });
    await world.run({ isProbing: false });
    const token = await world.nextToken();
    await world.wait(10_000);
    expect(requests().filter((name) => name === 'POST token')).toHaveLength(1);
    expect(world.target.issued.get(token)?.expiresAt).toBeLessThanOrEqual(world.clock.now() + 60 * MINUTE_MS);
  });

  it('ignores the renewal settings of a Cluster that the Secret does not name', async () => {
    await world.begin();
    await world.addCluster('intruder', { renewal: 'Manual' });
    await world.run({ isProbing: false });
    await world.nextToken();
  });

  it('rejects a Cluster that refers to a Secret with a renewed token', async () => {
    await world.begin();
    await world.run();
    await world.nextToken();
    const { name } = world;
    await world.addCluster('direct', undefined, `${name}-renewed`);
    await world.until(async () => (await world.condition('Authorized', 'direct')).startsWith('False CredentialMissing'));
    expect(await world.condition('Authorized', 'direct')).toContain('is reserved for a renewed token');
  });
});
