// Drift of Secrets and status is repaired with at most one new token, and with none while the old one is valid.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ManagedTokens, type Secret, Secrets } from '../../src/api/resources.ts';
import { allOrFirst, onlyExhaustive } from '../support/scaled.ts';
import { base64, TokenWorld, text } from './token-world.ts';

const MINUTE = 60_000;
const ISSUED = ['POST serviceaccounts/deployer/token'];

let world: TokenWorld;
let first: string;
const ci = () => ({ namespace: world.namespace, name: 'ci' });

beforeAll(async () => {
  world = await TokenWorld.start();
});
beforeEach(async () => {
  await world.begin();
  await world.run();
  await world.create();
  await world.waitUntilReady();
  await world.pass(5_000);
  await world.waitForReconcile();
  first = await world.tokenText();
  world.calls.clear();
});
afterEach(() => world.end());
afterAll(() => world.close());

describe('token controller and drift of a Secret', () => {
  it('re-creates a deleted Secret with one new token', async () => {
    await world.hub.admin.delete(Secrets, ci());
    const second = await world.waitForNewToken(first);
    await world.waitUntilReady();
    await world.waitForReconcile();

    expect([await world.isAccepted(second), world.sent().target]).toEqual([true, ISSUED]);
    await world.expectEvents(['Normal Issued', 'Normal SecretMissing']);
  });

  it.each(
    allOrFirst([
      ['another JWT', base64('eyJhbGciOiJub25lIn0.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6YTpiIn0.c2ln')],
      ['nonsense', base64('invalid')],
      ['nothing', ''],
      ['no text at all', Buffer.from([0xff, 0xfe, 0, 1]).toString('base64')],
    ]),
  )('issues exactly one token after the token was replaced by %s', async (_, token) => {
    await world.hub.admin.patch(Secrets, ci(), { data: { token } });
    await world.until(async () => world.sent().target.length > 0);
    await world.waitUntilReady();
    await world.until(async () => world.isAccepted(await world.tokenText()));
    await world.waitForReconcile();

    expect(world.sent().target).toEqual(ISSUED);
  });

  it.each([
    ['the keys', { data: null }, ISSUED],
    ['a key that is not the token', { data: { 'ca.crt': null } }, []],
    ['a value that is not the token', { data: { server: base64('https://evil.example.com') } }, []],
    ['an additional key', { data: { extra: base64('x') } }, []],
    ["one of Purser's annotations", { metadata: { annotations: { 'tokens.purser.dev/renew-at': 'never' } } }, []],
    ['the digest', { metadata: { annotations: { 'tokens.purser.dev/token-digest': 'sha256:0' } } }, ISSUED],
    ['the record', { metadata: { annotations: { 'tokens.purser.dev/issued-for': '{}' } } }, ISSUED],
    ['the expiry, a year ahead', { metadata: { annotations: { 'tokens.purser.dev/expires-at': '2027-12-01T00:00:00Z' } } }, []],
    ["Purser's label", { metadata: { labels: { 'tokens.purser.dev/managed-by': null } } }, []],
  ])('repairs a changed Secret: %s', async (_, patch, issued) => {
    const before = await world.secret();
    await world.hub.admin.patch(Secrets, ci(), patch);
    await world.until(async () => {
      const after = await world.secret();
      return after?.metadata.resourceVersion !== before?.metadata.resourceVersion && sameShape(before, after);
    });
    await world.waitForReconcile();
    await world.waitUntilReady();

    expect(world.sent().target).toEqual(issued);
    if (issued.length === 0) expect(await world.tokenText()).toBe(first);
    expect(await world.isAccepted(await world.tokenText())).toBe(true);
  });

  it('re-creates a Secret that another client made immutable', async () => {
    await world.hub.admin.patch(Secrets, ci(), { immutable: true });
    await world.until(async () => (await world.secret())?.immutable !== true);
    await world.waitUntilReady();
    await world.waitForReconcile();

    expect([await world.tokenText(), world.sent().target]).toEqual([first, []]);
  });

  it('keeps labels and annotations of another client during a rotation', async () => {
    await world.hub.admin.patch(Secrets, ci(), { metadata: { labels: { theirs: 'a' }, annotations: { 'their/note': 'b' } } });
    await world.patch('ci', { metadata: { annotations: { 'tokens.purser.dev/rotate': 'now' } } });
    await world.waitForNewToken(first);
    const secret = await world.secret();

    expect(secret?.metadata.labels).toMatchObject({ theirs: 'a', 'tokens.purser.dev/managed-by': 'purser' });
    expect(secret?.metadata.annotations).toMatchObject({ 'their/note': 'b' });
  });

  it('rewrites the Secret without a new token after outputs, labels or annotations change', async () => {
    const secret = { outputs: ['Token', 'Kubeconfig'], labels: { tier: 'ci' }, annotations: { 'example.com/owner': 'team' } };
    await world.patch('ci', { spec: { secret } });
    await world.until(async () => (await world.secret())?.data?.['kubeconfig'] !== undefined);
    const { metadata } = (await world.secret()) ?? {};
    expect(metadata?.labels).toMatchObject({ tier: 'ci' });
    await world.patch('ci', { spec: { secret: { outputs: ['Token'], labels: null, annotations: null } } });
    await world.until(async () => (await world.secret())?.data?.['kubeconfig'] === undefined);
    const after = (await world.secret())?.metadata;

    expect([after?.labels?.['tier'], after?.annotations?.['example.com/owner']]).toEqual([undefined, undefined]);
    expect([await world.tokenText(), world.sent().target]).toEqual([first, ['POST tokenreviews']]);
  });

  it('writes the Secret with the new name before deleting the Secret with the old name', async () => {
    await world.patch('ci', { spec: { secret: { name: 'renamed' } } });
    await world.until(async () => (await world.tokenText('renamed')) === first && (await world.secret()) === undefined);
    await world.until(async () => (await world.get()).status?.secretName === 'renamed');

    expect(world.sent()).toEqual({
      hub: ['GET secrets/ci', 'POST secrets', 'DELETE secrets/ci', 'PUT managedtokens/ci/status'],
      target: [],
    });
  });
});

onlyExhaustive(() => {
  describe('token controller and a new name that a foreign Secret has', () => {
    const theirs = (labels: Readonly<Record<string, string>>) => ({
      metadata: { namespace: world.namespace, name: 'theirs', labels },
      type: 'Opaque',
      data: { mine: base64('do not touch') },
    });

    it.each([
      ["without Purser's label", {}],
      ["with Purser's label", { 'tokens.purser.dev/managed-by': 'purser' }],
    ])('keeps the token in the old Secret until its expiry: %s', async (_, labels) => {
      const made = await world.hub.admin.create(Secrets, theirs(labels));
      await world.patch('ci', { spec: { secret: { name: 'theirs' } } });
      await world.until(async () => (await world.conditions()) === 'Ready=False SecretConflict RotationFailing=undefined');
      expect(await world.tokenText()).toBe(first);
      await world.pass(61 * MINUTE, 30_000);
      await world.until(async () => (await world.secret())?.data?.['token'] === undefined);
      await world.waitForReconcile();

      expect([await world.secret('theirs'), world.sent().target.length <= 1]).toEqual([made, true]);
      await world.hub.admin.delete(Secrets, { namespace: world.namespace, name: 'theirs' });
      await world.pass(70_000, 10_000);
      await world.waitUntilReady();
      await world.until(async () => (await world.secret()) === undefined);
      expect(await world.isAccepted(await world.tokenText('theirs'))).toBe(true);
    });

    it('removes the old Secret after a withdrawal', async () => {
      await world.hub.admin.create(Secrets, theirs({}));
      await world.patch('ci', { spec: { secret: { name: 'theirs' } } });
      await world.until(async () => (await world.conditions()) === 'Ready=False SecretConflict RotationFailing=undefined');
      await world.forbid();
      await world.pass(40_000, 1_000);
      await world.until(async () => (await world.secret()) === undefined);
      expect(await world.secret('theirs')).toBeDefined();
    });
  });

  describe('token controller and drift of the status', () => {
    it('restores an edited status from the Secret without a new token', async () => {
      const before = await world.get();
      const status = { expirationTimestamp: '2035-01-01T00:00:00Z', rotations: 77, conditions: [] };
      await world.hub.admin.patchStatus(ManagedTokens, ci(), { status });
      await world.until(async () => (await world.get()).status?.rotations === 0);
      const { conditions: _, ...rest } = (await world.get()).status ?? {};
      const { conditions: __, ...expected } = before.status ?? {};

      expect([rest, await world.tokenText(), world.sent().target]).toEqual([expected, first, []]);
    });

    it('issues a token for a ManagedToken that was restored with its status but without its Secret', async () => {
      const { metadata, spec, status } = await world.get();
      await world.hub.admin.delete(ManagedTokens, ci());
      await world.until(async () => (await world.secret()) === undefined);
      await world.pass(15_000);
      world.calls.clear();
      await world.create('restored', { ...spec, secret: { ...spec.secret, name: 'restored' } }, { labels: metadata.labels ?? {} });
      await world.hub.admin.patchStatus(ManagedTokens, { namespace: world.namespace, name: 'restored' }, { status });
      await world.waitUntilReady('restored');
      await world.until(async () => (await world.tokenText('restored')) !== '');

      expect(await world.isAccepted(await world.tokenText('restored'))).toBe(true);
      expect(world.sent().target).toEqual(ISSUED);
    });
  });
});

/** Returns whether a Secret has the same keys, labels and annotations as before, and a valid record. */
function sameShape(before: Secret | undefined, after: Secret | undefined): boolean {
  return JSON.stringify(shapeOf(before)) === JSON.stringify(shapeOf(after));
}

function shapeOf(secret: Secret | undefined): readonly unknown[] {
  const { labels, annotations = {} } = secret?.metadata ?? {};
  const ours = (name: string) => annotations[`tokens.purser.dev/${name}`] ?? '';
  const isSane = Date.parse(ours('renew-at')) > 0 && ours('token-digest').length > 20 && !ours('expires-at').startsWith('2027-12');
  return [
    Object.keys(secret?.data ?? {}).sort(),
    text(secret, 'server'),
    labels,
    Object.keys(annotations).sort(),
    ours('issued-for'),
    isSane,
  ];
}
