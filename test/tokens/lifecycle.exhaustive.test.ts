// Restarts, competing writers, rejections by the hub, and failing clusters.

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ClusterRole, ClusterRoles, CustomResourceDefinitions, ManagedTokens, Namespaces, Secrets } from '../../src/api/resources.ts';
import { applyAll, readManifests } from '../../src/kube/manifests.ts';
import { allOrFirst, onlyExhaustive } from '../support/scaled.ts';
import { startRelay } from './relay.ts';
import { base64, RECORD_KEY, TokenWorld } from './token-world.ts';

const MINUTE = 60_000;

let world: TokenWorld;
let role: ClusterRole;
const ci = () => ({ namespace: world.namespace, name: 'ci' });

beforeAll(async () => {
  world = await TokenWorld.start(2);
  role = await world.hub.admin.get(ClusterRoles, { name: 'purser-controller-tokens' });
});
beforeEach(() => world.begin());
afterEach(async () => {
  await world.hub.admin.patch(ClusterRoles, { name: 'purser-controller-tokens' }, { rules: role.rules });
  await world.end();
});
afterAll(() => world.close());

async function issueToken(): Promise<string> {
  await world.create();
  await world.waitUntilReady();
  await world.waitForReconcile();
  await world.pass(5_000);
  world.calls.clear();
  return await world.tokenText();
}

/** Removes a permission of the controller on the hub. */
async function removePermission(resource: string, verbs: readonly string[]): Promise<void> {
  const rules = (role.rules ?? []).map((rule) =>
    rule.resources?.includes(resource) ? { ...rule, verbs: rule.verbs.filter((verb) => !verbs.includes(verb)) } : rule,
  );
  await world.hub.admin.patch(
    ClusterRoles,
    { name: 'purser-controller-tokens' },
    { rules: rules.filter(({ verbs: left }) => left.length > 0) },
  );
}

const grants = () => world.sent().target.filter((call) => call.endsWith('/token')).length;

describe('token controller after a restart', () => {
  it('sends no request when nothing is due', async () => {
    const before = await world.run({ settings: { verifyIntervalMs: 15 * MINUTE } });
    const names = ['a', 'b', 'c', 'd'];
    for (const [index, name] of names.entries()) await world.create(name, { revocation: index % 2 === 0 ? 'None' : 'BoundSecret' });
    for (const name of names) await world.waitUntilReady(name);
    for (const name of names) await world.waitForReconcile(name);
    await before.stop();
    world.running = [];
    const stored = await snapshot();
    world.calls.clear();
    const after = await world.run({ settings: { verifyIntervalMs: 15 * MINUTE } });
    await world.until(async () => new Set(after.outcomes.map(({ key }) => key)).size === names.length);

    expect(world.sent()).toEqual({ hub: [], target: [] });
    expect(await snapshot()).toEqual(stored);
  });

  it('re-creates a lost record key, logs no part of the key, and writes nothing else', async () => {
    const before = await world.run();
    await issueToken();
    await before.stop();
    world.running = [];
    await world.hub.admin.delete(Secrets, RECORD_KEY);
    const after = await world.run();
    await world.until(async () => after.outcomes.length > 0);
    const key = (await world.hub.admin.get(Secrets, RECORD_KEY)).data?.['key'] ?? '';

    expect(world.sent()).toEqual({ hub: ['POST secrets'], target: [] });
    expect(Buffer.from(key, 'base64')).toHaveLength(32);
    expect([...before.logged, ...after.logged].filter((line) => line.includes(key.slice(0, 12)))).toEqual([]);
  });

  it('repairs a lost status without issuing a token', async () => {
    const before = await world.run();
    const first = await issueToken();
    const { status } = await world.get();
    await before.stop();
    world.running = [];
    await world.hub.admin.patchStatus(ManagedTokens, ci(), { status: null });
    await world.run();
    await world.waitUntilReady();
    const { conditions: _, ...after } = (await world.get()).status ?? {};
    // The signed digest is recorded again with the next token.
    const { conditions: __, tokenDigest: ___, tokenSignature: ____, ...expected } = status ?? {};

    expect([after, await world.tokenText(), grants()]).toEqual([expected, first, 0]);
  });
});

describe('token controller that was stopped', () => {
  it.each(allOrFirst(['BoundSecret', 'None']))(
    'leaves the Secret of a force-deleted ManagedToken with revocation %s to garbage collection',
    async (revocation) => {
      const controller = await world.run();
      await world.create('ci', { revocation });
      await world.waitUntilReady();
      await controller.stop();
      world.running = [];
      if (revocation === 'BoundSecret') await world.patch('ci', { metadata: { finalizers: null } });
      await world.hub.admin.delete(ManagedTokens, ci());

      await world.until(async () => (await world.secret()) === undefined);
    },
  );
});

describe('token controller with two leaders at once', () => {
  it('converges to one token', async () => {
    await world.run();
    await world.run();
    const first = await issueToken();
    await world.pass(49 * MINUTE);
    const second = await world.waitForNewToken(first);
    await world.until(async () => (await world.get()).status?.rotations === 1);
    await world.waitForReconcile();
    await world.pass(MINUTE, 5_000);
    await world.waitForReconcile();

    expect(grants()).toBeLessThanOrEqual(2);
    expect(await world.tokenText()).toBe(second);
    expect(await world.isAccepted(second)).toBe(true);
    expect(await world.conditions()).toBe('Ready=True Issued RotationFailing=False Issued');
  });
});

describe('token controller while the hub rejects writes', () => {
  it('backs off issuing while the Secret cannot be written, and recovers', async () => {
    await removePermission('secrets', ['create', 'update']);
    await world.run();
    await world.create();
    await world.until(async () => (await world.conditions()) === 'Ready=False SecretWriteFailed RotationFailing=undefined');
    await world.pass(10 * MINUTE, 1_000);
    expect(grants()).toBeGreaterThan(1);
    expect(grants()).toBeLessThan(9);
    await world.hub.admin.patch(ClusterRoles, { name: 'purser-controller-tokens' }, { rules: role.rules });
    await world.pass(6 * MINUTE, 5_000);
    await world.waitUntilReady();
  });

  it('rotates by the record in the Secret while the status cannot be written', async () => {
    await world.run();
    const first = await issueToken();
    await removePermission('managedtokens/status', ['update']);
    await world.pass(49 * MINUTE);
    const second = await world.waitForNewToken(first);
    await world.pass(20 * MINUTE, 30_000);
    expect([await world.tokenText(), grants()]).toEqual([second, 1]);
    await world.pass(30 * MINUTE, 30_000);
    await world.waitForNewToken(second);
    expect(grants()).toBe(2);
    await world.hub.admin.patch(ClusterRoles, { name: 'purser-controller-tokens' }, { rules: role.rules });
    await world.pass(6 * MINUTE, 5_000);
    await world.until(async () => (await world.get()).status?.rotations === 2);
  });
});

describe('token controller and another writer of the Secret', () => {
  it('renews the token even if another client changes the Secret constantly', async () => {
    await world.run();
    const first = await issueToken();
    const storming = new AbortController();
    const storm = (async () => {
      for (let edit = 0; !storming.signal.aborted; edit++) {
        await world.hub.admin.patch(Secrets, ci(), { metadata: { annotations: { 'example.com/edit': String(edit) } } });
        await delay(20);
      }
    })();
    await world.pass(49 * MINUTE);
    const renewed = world.waitForNewToken(first);
    for (let minute = 0; minute < 10 && (await world.tokenText()) === first; minute++) await world.pass(MINUTE, 1_000);
    await renewed;
    storming.abort();
    await storm;
    expect(grants()).toBeLessThan(8);
    expect(await world.isAccepted(await world.tokenText())).toBe(true);
  });
});

describe('token controller and a terminating namespace', () => {
  it('creates no Secret in a terminating namespace, and does not delay its deletion', async () => {
    await world.run();
    await world.create('ci', { revocation: 'BoundSecret' });
    await world.waitUntilReady();
    const { namespace } = world;
    await world.hub.admin.delete(Namespaces, { name: namespace });
    await world.until(async () => {
      const { items } = await world.hub.admin.list(Namespaces);
      return !items.some(({ metadata }) => metadata.name === namespace);
    });
    expect(grants()).toBe(1);
  });
});

describe('token controller and deleted CRDs', () => {
  it('reissues all tokens after the CRDs are re-created, and changes no foreign object', async () => {
    const controller = await world.run();
    await issueToken();
    const theirs = await world.hub.admin.create(Secrets, {
      metadata: { namespace: world.namespace, name: 'theirs' },
      type: 'Opaque',
      data: { a: base64('b') },
    });
    await world.hub.admin.delete(CustomResourceDefinitions, { name: 'managedtokens.tokens.purser.dev' });
    await world.until(async () => (await world.secret()) === undefined);
    await applyAll(world.hub.admin, await readManifests('crds'));
    await world.pass(60_000, 1_000);
    await world.until(() =>
      world.create().then(
        () => true,
        () => false,
      ),
    );
    await world.waitUntilReady();

    expect(await world.secret('theirs')).toEqual(theirs);
    expect(controller.logged.filter((line) => line.includes('"reason":"Defect"'))).toEqual([]);
  });
});

onlyExhaustive(() => {
  describe('token controller with a cluster that hangs with 60 tokens due', () => {
    it('rotates the tokens of another cluster in time', async () => {
      const relay = await startRelay(world.target.url);
      const { admin, ca } = world.target;
      const [bad, good] = [`${world.cluster}-a`, `${world.cluster}-b`];
      await world.register(bad, { admin, ca, url: relay.url });
      await world.register(good, world.targets[1]);
      await world.allow(bad, { name: `${world.namespace}-a` });
      await world.allow(good, { name: `${world.namespace}-b` });
      const controller = await world.run();
      const rotation = { renewBefore: '50%', suspend: false };
      await createAll('bad', 60, { rotation, clusterName: bad });
      await createAll('good', 20, { rotation, clusterName: good });
      await world.until(async () => (await rotations()).length === 80);
      await world.waitForReconcile('good-0');
      relay.silence();
      const before = controller.outcomes.length;
      world.clock.advance(40 * MINUTE);
      const dueAt = world.clock.now();
      await world.until(async () => (await rotations()).filter((count) => count === 1).length === 20);
      const late = controller.outcomes.slice(before).filter(({ key }) => key.includes('/good-'));

      expect(late.length).toBeGreaterThanOrEqual(20);
      expect(Math.max(...late.map(({ startedAt }) => startedAt - dueAt))).toBeLessThan(5_000);
      expect((await rotations()).filter((count) => count === 1)).toHaveLength(20);
      relay.close();
    });

    async function createAll(prefix: string, count: number, spec: Parameters<TokenWorld['create']>[1]): Promise<void> {
      for (let made = 0; made < count; made += 20) {
        await Promise.all(Array.from({ length: 20 }, (_, index) => world.create(`${prefix}-${made + index}`, spec)));
      }
    }

    /** Returns the number of renewals of each token. */
    async function rotations(): Promise<readonly number[]> {
      const { items } = await world.hub.admin.list(ManagedTokens, { namespace: world.namespace });
      return items.flatMap(({ status }) => (status?.rotations === undefined ? [] : [status.rotations]));
    }
  });
});

async function snapshot(): Promise<readonly string[]> {
  const [tokens, secrets] = await Promise.all([world.hub.admin.list(ManagedTokens), world.hub.admin.list(Secrets)]);
  return [...tokens.items, ...secrets.items].map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).sort();
}
