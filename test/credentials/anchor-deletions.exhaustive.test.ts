// Anchors of replaced tokens: each is deleted after its own overlap, and none is left behind.

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Secrets } from '../../src/api/resources.ts';
import { toOwnAnchorName } from '../../src/targets/own-anchors.ts';
import { onlyExhaustive } from '../support/scaled.ts';
import { CREDENTIALS } from '../tokens/token-world.ts';
import { CredentialWorld, textOf } from './credential-world.ts';
import { forbid } from './scripted-cluster.ts';

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

/** Renews a number of times, and returns the tokens. */
async function renewals(count: number): Promise<readonly string[]> {
  const tokens = [await world.nextToken()];
  while (tokens.length <= count) tokens.push(await world.renewal());
  return tokens;
}

const acceptedOf = (tokens: readonly string[]) => tokens.filter((token) => world.target.accepts(token));

describe('credential controller', () => {
  it('deletes the anchor of a replaced token half a lifetime after its replacement if the overlap is longer', async () => {
    await world.begin({ lifetime: '10m', overlap: '24h' });
    await world.run({ isProbing: false });
    const tokens = await renewals(6);
    await world.wait(MINUTE_MS);
    expect(acceptedOf(tokens.slice(0, -3))).toEqual([]);
    expect(world.target.anchors.size).toBe(acceptedOf(tokens).length);
  });

  it('deletes the anchor of a replaced token after its overlap even if the next renewal comes first', async () => {
    await world.begin({ overlap: '20m' });
    await world.run({ isProbing: false });
    const first = await world.nextToken();
    await world.register(world.target.issueToken());
    const second = await world.nextToken(first);
    await world.wait(15 * MINUTE_MS, 10_000);
    await world.register(world.target.issueToken());
    const third = await world.nextToken(second);
    await world.wait(4 * MINUTE_MS, 10_000);
    expect(acceptedOf([first, second, third])).toEqual([first, second, third]);
    await world.wait(2 * MINUTE_MS, 10_000);
    expect(acceptedOf([first, second, third])).toEqual([second, third]);
    await world.wait(15 * MINUTE_MS, 10_000);
    expect(acceptedOf([first, second, third])).toEqual([third]);
  });

  onlyExhaustive(() => {
    it('deletes the oldest anchors early if more tokens are replaced than the record can list', async () => {
      await world.begin({ lifetime: '720h', overlap: '24h' });
      await world.run({ isProbing: false });
      const tokens = [await world.nextToken()];
      for (let round = 0; round < 11; round++) {
        await world.register(world.target.issueToken());
        tokens.push(await world.nextToken(tokens.at(-1)));
      }
      await world.wait(MINUTE_MS);
      expect(acceptedOf(tokens)).toEqual(tokens.slice(-acceptedOf(tokens).length));
      expect(acceptedOf(tokens).length).toBeLessThanOrEqual(9);
      expect(world.target.anchors.size).toBe(acceptedOf(tokens).length);
      await world.wait(24 * 60 * MINUTE_MS, 10 * MINUTE_MS);
      await world.wait(MINUTE_MS);
      expect([acceptedOf(tokens).length, world.target.anchors.size]).toEqual([1, 1]);
    });

    it('keeps anchors in the record, and continues to renew, while the target forbids their deletion', async () => {
      await world.begin({ lifetime: '10m' });
      world.target.intercept = (name, reply) => name === 'DELETE secrets' && forbid(reply);
      await world.run();
      const tokens = await renewals(12);
      expect(acceptedOf([tokens.at(-1) ?? ''])).toHaveLength(1);
      expect(await world.shows('False CredentialNotRevoked')).toContain('cannot');
      world.target.intercept = () => false;
      await world.renewal();
      await world.wait(11 * MINUTE_MS, 10_000);
      expect(world.target.anchors.size).toBeLessThanOrEqual(2);
      await world.shows('True CredentialValid');
    });

    it('deletes the anchor of the renewed token after the registered Secret was re-created', async () => {
      await world.begin();
      await world.run({ isProbing: false });
      const first = await world.nextToken();
      const registered = await world.hub.admin.get(Secrets, { namespace: CREDENTIALS, name: world.name });
      await world.hub.admin.delete(Secrets, { namespace: CREDENTIALS, name: world.name });
      await world.register(textOf(registered));
      const second = await world.nextToken(first);
      await world.wait(2 * MINUTE_MS, 5_000);
      expect([acceptedOf([first, second]), world.target.anchors.size]).toEqual([[second], 1]);
    });

    it('deletes the anchor of a renewed token whose Secret was lost before the next renewal', async () => {
      await world.begin({ lifetime: '1h' });
      await world.run({ isProbing: false });
      const first = await world.nextToken();
      await world.wait((await world.renewAt()) - world.clock.now() - 1_000, 30_000);
      await world.hub.admin.delete(Secrets, { namespace: CREDENTIALS, name: `${world.name}-renewed` });
      const second = await world.nextToken(first);
      await world.wait(2 * MINUTE_MS, 5_000);
      expect([acceptedOf([first, second]), world.target.anchors.size]).toEqual([[second], 1]);
    });

    it('deletes the anchor whose record was lost while no process ran', async () => {
      await world.begin({ lifetime: '1h' });
      const stopped = await world.run({ isProbing: false });
      const lost = await renewals(2);
      await world.wait(2 * MINUTE_MS, 5_000);
      await stopped.stop();
      await world.hub.admin.delete(Secrets, { namespace: CREDENTIALS, name: `${world.name}-renewed` });
      expect(acceptedOf(lost)).toEqual(lost.slice(-1));
      await world.run({ isProbing: false });
      const token = await world.nextToken();
      expect(acceptedOf(lost)).toEqual(lost.slice(-1));
      await world.wait(2 * MINUTE_MS, 5_000);
      expect([acceptedOf([...lost, token]), world.target.anchors.size]).toEqual([[token], 1]);
    });

    it('deletes anchors that a restored record does not list if the token in the record was revoked', async () => {
      await world.begin({ lifetime: '1h' });
      const stopped = await world.run({ isProbing: false });
      await world.nextToken();
      const backup = await world.renewed();
      const [second, third] = [await world.renewal(), await world.renewal()];
      await world.wait(2 * MINUTE_MS, 5_000);
      await stopped.stop();
      const {
        uid: _,
        resourceVersion: __,
        ...metadata
      } = backup?.metadata ?? { namespace: CREDENTIALS, name: '', uid: '', resourceVersion: '' };
      await world.hub.admin.delete(Secrets, { namespace: CREDENTIALS, name: metadata.name });
      await world.hub.admin.create(Secrets, { metadata, type: 'Opaque', data: backup?.data ?? {} });
      expect(acceptedOf([textOf(backup), second, third])).toEqual([third]);
      await world.run();
      const token = await world.nextToken(textOf(backup));
      await world.wait(2 * MINUTE_MS, 5_000);
      expect([acceptedOf([third, token]), world.target.anchors.size]).toEqual([[token], 1]);
    });

    it('renews a token for the first time even if the target forbids listing anchors', async () => {
      await world.begin();
      world.target.intercept = (name, reply) => name === 'GET secrets' && forbid(reply);
      await world.run({ isProbing: false });
      expect(world.target.accepts(await world.nextToken())).toBe(true);
    });

    it('re-creates the anchor of an interrupted renewal that a former service account of the same name owns', async () => {
      await world.begin();
      const { uid } = (await world.hub.admin.get(Secrets, { namespace: CREDENTIALS, name: world.name })).metadata;
      const name = toOwnAnchorName(uid, '');
      const labels = { 'tokens.purser.dev/managed-by': 'purser' };
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ServiceAccount', name: 'purser', uid: 'former-account-uid' }];
      const metadata = { namespace: 'purser-system', name, uid: 'former', resourceVersion: '1', labels, ownerReferences };
      world.target.anchors.set(name, { metadata });
      await world.run({ isProbing: false });
      expect(world.target.accepts(await world.nextToken())).toBe(true);
      expect([...world.target.anchors.values()].map((anchor) => anchor.metadata.uid)).toEqual([expect.not.stringMatching('former')]);
    });

    it('finds the anchor of an interrupted renewal again even if the registered token changed in the meantime', async () => {
      await world.begin();
      world.target.intercept = (name, reply) => name === 'POST token' && forbid(reply);
      const crashed = await world.run({ isProbing: false });
      await world.until(() => world.target.anchors.size === 1);
      await crashed.stop();
      world.target.intercept = () => false;
      await world.register(world.target.issueToken());
      await world.run({ isProbing: false });
      await world.nextToken();
      await world.wait(2 * MINUTE_MS, 5_000);
      expect(world.target.anchors.size).toBe(1);
    });
  });
});
