import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ClusterProfiles, CustomResourceDefinitions, ManagedTokens, Secrets } from '../../src/api/resources.ts';
import { onlyExhaustive } from '../support/scaled.ts';
import { type Health, healthOf, installProfiles, profiles, published, reportHealth, untilProfiles } from './profile-world.ts';
import { SetWorld } from './set-world.ts';

let world: SetWorld;

beforeEach(() => world.tokens.begin());
afterEach(() => world.tokens.end());

const HEALTHY: Health = { status: 'True', reason: 'ClusterReady', since: '2026-01-01T00:00:00Z' };
const SICK: Health = { status: 'False', reason: 'Timeout', since: '2026-01-01T01:00:00Z' };

/** Fields that let an attacker receive tokens. */
const ATTACK = {
  server: 'https://attacker.test',
  'proxy-url': 'https://attacker.test',
  'insecure-skip-tls-verify': true,
  'tls-server-name': 'attacker.test',
};

/** Registers healthy Clusters that the requester may issue for, and runs the controllers. */
async function begin(...names: readonly string[]): Promise<void> {
  await world.register(names);
  for (const name of names) {
    await reportHealth(world, name, HEALTHY);
    await world.tokens.allow(name, { name: `${world.namespace}-${name}` });
  }
  await world.tokens.run({ hasSets: true });
}

const encoded = (text: string) => Buffer.from(text).toString('base64');
const nameOf = (name: string) => ({ namespace: world.namespace, name });
const read = (name = 'fleet-a') => world.admin.get(ClusterProfiles, nameOf(name));
const sentProfiles = () => world.tokens.sent().hub.filter((call) => call.includes('clusterprofiles'));
const patchStatus = (status: object) => world.admin.patchStatus(ClusterProfiles, nameOf('fleet-a'), { status });
/** Waits for the next list. */
const untilListed = () => world.tokens.pass(295_000, 5_000);
const untilPublished = (state: string) => world.tokens.until(async () => (await published(world)) === state);

describe('ClusterProfiles of a set', () => {
  beforeAll(async () => {
    world = await SetWorld.start();
    await installProfiles(world);
  });
  afterAll(() => world.tokens.close());

  it('publishes address, certificates, Secret, version and health of each cluster with a ready token', async () => {
    await begin('a', 'b');
    const { metadata } = await world.create('fleet', { spec: { secret: { name: '{{cluster}}-x' } }, clusterProfiles: true });
    await untilProfiles(world, ['fleet-a', 'fleet-b']);
    await untilPublished('True Published');
    const profile = await read();
    expect(profile.metadata).toMatchObject({
      labels: { 'x-k8s.io/cluster-manager': 'purser' },
      ownerReferences: [expect.objectContaining({ kind: 'ManagedTokenSet', uid: metadata.uid, controller: true })],
    });
    expect(profile.spec).toEqual({ displayName: 'a', clusterManager: { name: 'purser' } });
    const { url, ca } = world.tokens.target;
    expect(profile.status).toEqual({
      version: { kubernetes: 'v1.36.4' },
      conditions: [
        {
          type: 'ControlPlaneHealthy',
          status: 'True',
          reason: 'ClusterReady',
          message: 'Tokens can be issued for the cluster.',
          lastTransitionTime: HEALTHY.since,
        },
      ],
      accessProviders: [
        {
          name: 'secretreader',
          cluster: {
            server: url,
            'certificate-authority-data': Buffer.from(ca).toString('base64'),
            extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { clusterName: 'a-x' } }],
          },
        },
      ],
    });
    await world.tokens.tokenText('a-x');
    expect(await world.tokens.leaks([JSON.stringify(await profiles(world))])).toEqual([]);
  });

  it('writes a new ClusterProfile with two requests, and sends none while idle', async () => {
    await begin('a');
    await world.create('fleet', { clusterProfiles: true });
    await untilProfiles(world, ['fleet-a']);
    expect(sentProfiles()).toEqual(['POST clusterprofiles', 'PATCH clusterprofiles/fleet-a/status']);
    await untilPublished('True Published');
    await world.tokens.pass(40_000, 500);
    world.tokens.calls.clear();
    await world.tokens.pass(120_000, 5_000);
    expect(world.tokens.sent().hub).toEqual([]);
  });

  it('creates no ClusterProfile before the token is ready', async () => {
    await begin('a');
    await world.create('fleet', { spec: { serviceAccount: { namespace: 'deploy', name: 'absent' } }, clusterProfiles: true });
    await untilPublished('True Published');
    await world.tokens.pass(60_000, 1_000);
    expect(await profiles(world)).toEqual([]);
  });

  it('publishes the health of a Cluster at most every 30 s, ignores its heartbeats, and keeps its ClusterProfile in an outage', async () => {
    await begin('a');
    await world.create('fleet', { clusterProfiles: true });
    await untilProfiles(world, ['fleet-a']);
    const before = world.tokens.clock.now();
    world.tokens.calls.clear();
    await reportHealth(world, 'a', SICK);
    await world.tokens.until(async () => healthOf((await read()).status) === 'ControlPlaneHealthy=False Timeout');
    expect(world.tokens.clock.now() - before).toBeGreaterThanOrEqual(29_000);
    expect(JSON.stringify((await read()).status?.conditions)).not.toContain('10.0.0.1');
    expect(sentProfiles()).toEqual(['PATCH clusterprofiles/fleet-a/status']);
    await world.tokens.pass(60_000, 1_000);
    world.tokens.calls.clear();
    await reportHealth(world, 'a', { ...SICK, heartbeat: '2026-01-01T02:00:00Z' });
    await world.tokens.pass(60_000, 1_000);
    expect(sentProfiles()).toEqual([]);
  });

  onlyExhaustive(() => {
    it('keeps the ClusterProfile of a token that is no longer ready', async () => {
      await begin('a');
      await world.create('fleet', { clusterProfiles: true });
      await untilProfiles(world, ['fleet-a']);
      const { uid } = (await read()).metadata;
      await world.patch({ spec: { template: { spec: { serviceAccount: { name: 'absent' } } } } });
      await world.tokens.until(async () => (await world.get()).status?.ready === 0);
      await world.tokens.pass(60_000, 1_000);
      expect((await read()).metadata.uid).toBe(uid);
    });
  });

  it('sends no request for a ClusterProfile after a rotation', async () => {
    await begin('a');
    await world.create('fleet', { clusterProfiles: true });
    await untilProfiles(world, ['fleet-a']);
    await world.tokens.pass(40_000, 500);
    const before = await world.tokens.tokenText('fleet-a');
    world.tokens.calls.clear();
    await world.tokens.patch('fleet-a', { metadata: { annotations: { 'tokens.purser.dev/rotate': '1' } } });
    await world.tokens.waitForNewToken(before, 'fleet-a');
    await world.tokens.pass(40_000, 500);
    expect([sentProfiles(), world.tokens.sent().hub.filter((call) => call.startsWith('GET secrets'))]).toEqual([[], []]);
  });

  it('publishes the pinned address even if a user changes the Secret, and after a restart', async () => {
    await begin('a');
    await world.create('fleet', { clusterProfiles: true });
    await untilProfiles(world, ['fleet-a']);
    const { status } = await read();
    // A suspended ManagedToken does not repair its Secret.
    await world.patch({ spec: { template: { spec: { rotation: { suspend: true } } } } });
    await world.tokens.until(async () => (await world.tokens.get('fleet-a')).spec.rotation.suspend);
    await world.tokens.pass(5_000, 1_000);
    const data = { server: encoded('https://attacker.test'), 'ca.crt': encoded('PEM') };
    await world.admin.patch(Secrets, nameOf('fleet-a'), { data });
    await world.tokens.pass(60_000, 1_000);
    expect((await read()).status).toEqual(status);
    for (const each of world.tokens.running.splice(0)) await each.stop();
    await world.tokens.run({ hasSets: true });
    await reportHealth(world, 'a', SICK);
    await world.tokens.pass(60_000, 1_000);
    expect((await read()).status?.accessProviders).toEqual(status?.accessProviders);
    expect((await world.admin.get(Secrets, nameOf('fleet-a'))).data).toMatchObject(data);
  });

  onlyExhaustive(() => {
    it('publishes the new name of a renamed Secret once the Secret exists', async () => {
      await begin('a');
      await world.create('fleet', { clusterProfiles: true });
      await untilProfiles(world, ['fleet-a']);
      await world.patch({ spec: { template: { spec: { secret: { name: '{{cluster}}-moved' } } } } });
      await world.tokens.until(async () => JSON.stringify((await read()).status).includes('"clusterName":"a-moved"'));
      expect(await world.tokens.secret('a-moved')).toBeDefined();
    });
  });

  it('removes the ClusterProfile with the ManagedToken of a Cluster that stops matching', async () => {
    await begin('a', 'b');
    await world.create('fleet', { clusterProfiles: true });
    await untilProfiles(world, ['fleet-a', 'fleet-b']);
    await world.label('b', { env: 'test' });
    await world.tokens.pass(5_000, 500);
    expect(await profiles(world)).toHaveLength(2);
    await untilProfiles(world, ['fleet-a']);
    expect(await world.names()).toEqual(['fleet-a']);
  });

  it('removes all ClusterProfiles and the condition when clusterProfiles becomes false', async () => {
    await begin('a', 'b');
    await world.create('fleet', { clusterProfiles: true });
    await untilProfiles(world, ['fleet-a', 'fleet-b']);
    await untilPublished('True Published');
    await world.patch({ spec: { clusterProfiles: false } });
    await untilProfiles(world, []);
    await untilPublished('');
    expect(await world.names()).toEqual(['fleet-a', 'fleet-b']);
    await world.patch({ spec: { clusterProfiles: true } });
    await untilProfiles(world, ['fleet-a', 'fleet-b']);
  });

  onlyExhaustive(() => {
    it('removes ClusterProfiles after a restart if clusterProfiles became false in the meantime', async () => {
      await begin('a');
      await world.create('fleet', { clusterProfiles: true });
      await untilProfiles(world, ['fleet-a']);
      for (const each of world.tokens.running.splice(0)) await each.stop();
      await world.patch({ spec: { clusterProfiles: false } });
      await world.tokens.run({ hasSets: true });
      await untilProfiles(world, []);
      await untilPublished('');
    });

    it('writes no ClusterProfile after a restart if nothing has changed', async () => {
      await begin('a');
      await world.create('fleet', { clusterProfiles: true });
      await untilProfiles(world, ['fleet-a']);
      await untilPublished('True Published');
      for (const each of world.tokens.running.splice(0)) await each.stop();
      world.tokens.calls.clear();
      await world.tokens.run({ hasSets: true });
      await world.tokens.pass(40_000, 500);
      expect(sentProfiles()).toEqual([]);
    });
  });

  it('restores changes by other clients within five minutes, and keeps conditions of other managers', async () => {
    await begin('a', 'b', 'c');
    await world.create('fleet', { clusterProfiles: true });
    await untilProfiles(world, ['fleet-a', 'fleet-b', 'fleet-c']);
    const joined = { type: 'Joined', status: 'True', reason: 'Joined', message: '', lastTransitionTime: HEALTHY.since };
    await world.admin.applyStatus(ClusterProfiles, { metadata: nameOf('fleet-a'), status: { conditions: [joined] } });
    await world.admin.patch(ClusterProfiles, nameOf('fleet-a'), { spec: { displayName: 'other' } });
    await world.admin.patch(ClusterProfiles, nameOf('fleet-b'), { metadata: { labels: { 'x-k8s.io/cluster-manager': null } } });
    await world.admin.delete(ClusterProfiles, nameOf('fleet-c'));
    await untilListed();
    await world.tokens.until(async () => {
      const [a, b, c] = await profiles(world);
      return a?.spec.displayName === 'a' && b?.metadata.labels !== undefined && c?.status?.accessProviders !== undefined;
    });
    expect((await read()).status?.conditions?.map(({ type }) => type).sort()).toEqual(['ControlPlaneHealthy', 'Joined']);
    await untilPublished('True Published');
  });

  onlyExhaustive(() => {
    it('removes fields that another client adds to the access provider and the condition, and keeps the other entries', async () => {
      await begin('a');
      await world.create('fleet', { clusterProfiles: true });
      await untilProfiles(world, ['fleet-a']);
      await untilPublished('True Published');
      const { status } = await read();
      const other = { name: 'other', cluster: { server: 'https://other.test' } };
      const joined = { type: 'Joined', status: 'True', reason: 'Joined', message: '', lastTransitionTime: HEALTHY.since } as const;
      await patchStatus({
        conditions: [...(status?.conditions ?? []).map((each) => ({ ...each, observedGeneration: 7 })), joined],
        accessProviders: [{ name: 'secretreader', cluster: { ...status?.accessProviders?.[0]?.cluster, ...ATTACK } }, other],
      });
      world.tokens.calls.clear();
      await untilListed();
      await world.tokens.until(async () => !JSON.stringify(await read()).includes('attacker'));
      expect((await read()).status).toEqual({
        ...status,
        conditions: [joined, ...(status?.conditions ?? [])],
        accessProviders: [other, ...(status?.accessProviders ?? [])],
      });
      await world.tokens.pass(600_000, 5_000);
      expect(sentProfiles()).toEqual(['PATCH clusterprofiles/fleet-a/status', 'PATCH clusterprofiles/fleet-a/status']);
      await untilPublished('True Published');
    });

    it('reports a ClusterProfile whose owner reference another client removed, after the next list, and does not change it', async () => {
      await begin('a');
      await world.create('fleet', { clusterProfiles: true });
      await untilProfiles(world, ['fleet-a']);
      await untilPublished('True Published');
      await patchStatus({ accessProviders: [{ name: 'secretreader', cluster: ATTACK }] });
      const { metadata } = await world.admin.patch(ClusterProfiles, nameOf('fleet-a'), { metadata: { ownerReferences: null } });
      await untilListed();
      await untilPublished('False NameConflict');
      await world.tokens.pass(120_000, 5_000);
      expect((await read()).metadata.resourceVersion).toBe(metadata.resourceVersion);
      await world.admin.delete(ClusterProfiles, nameOf('fleet-a'));
      await untilPublished('True Published');
      expect(JSON.stringify(await read())).not.toContain('attacker');
    });

    it('reports a ClusterProfile whose owner reference another client removed, after the next write', async () => {
      await begin('a');
      await world.create('fleet', { clusterProfiles: true });
      await untilProfiles(world, ['fleet-a']);
      await untilPublished('True Published');
      await world.admin.patch(ClusterProfiles, nameOf('fleet-a'), { metadata: { ownerReferences: null } });
      const before = world.tokens.clock.now();
      await reportHealth(world, 'a', SICK);
      await untilPublished('False NameConflict');
      expect(world.tokens.clock.now() - before).toBeLessThanOrEqual(60_000);
    });

    it('leaves ClusterProfiles that the set does not control unchanged, and reports them', async () => {
      await begin('a', 'b', 'c');
      const foreign = { spec: { clusterManager: { name: 'other' } } };
      const labels = { 'x-k8s.io/cluster-manager': 'purser' };
      const { metadata } = await world.admin.create(ClusterProfiles, { ...foreign, metadata: nameOf('fleet-a') });
      await world.admin.create(ClusterProfiles, { ...foreign, metadata: { ...nameOf('fleet-b'), labels } });
      await world.create('fleet', { clusterProfiles: true });
      await untilPublished('False NameConflict');
      await world.tokens.until(async () => (await read('fleet-c')).status !== undefined);
      expect((await read()).metadata).toMatchObject({ uid: metadata.uid, resourceVersion: metadata.resourceVersion });
      await world.admin.delete(ClusterProfiles, nameOf('fleet-a'));
      await world.admin.delete(ClusterProfiles, nameOf('fleet-b'));
      const before = world.tokens.clock.now();
      await untilPublished('True Published');
      expect(world.tokens.clock.now() - before).toBeLessThanOrEqual(65_000);
      await untilProfiles(world, ['fleet-a', 'fleet-b', 'fleet-c']);
    });

    it('reports a ClusterProfile that the hub rejects, and publishes the others', async () => {
      await begin('a', 'b');
      const { metadata } = await world.create();
      const owner = {
        apiVersion: 'tokens.purser.dev/v1alpha1',
        kind: 'ManagedTokenSet',
        name: 'fleet',
        uid: metadata.uid ?? '',
        controller: true,
      };
      const labels = { 'x-k8s.io/cluster-manager': 'purser' };
      const immutable = {
        metadata: { ...nameOf('fleet-a'), labels, ownerReferences: [owner] },
        spec: { clusterManager: { name: 'other' } },
      };
      await world.admin.create(ClusterProfiles, immutable);
      await world.patch({ spec: { clusterProfiles: true } });
      await untilPublished('False WriteFailed');
      await untilProfiles(world, ['fleet-b']);
      expect((await world.get()).status?.conditions?.at(-1)?.message).toContain('ClusterManager is immutable');
      await world.admin.delete(ClusterProfiles, nameOf('fleet-a'));
      await untilProfiles(world, ['fleet-a', 'fleet-b']);
      await untilPublished('True Published');
    });
  });

  onlyExhaustive(() => {
    it('publishes no ClusterProfile for a Cluster that the requester may not issue tokens for', async () => {
      await begin('a');
      await world.register(['hidden']);
      await world.create('fleet', { clusterProfiles: true });
      await untilProfiles(world, ['fleet-a']);
      await world.tokens.pass(10_000, 500);
      expect(JSON.stringify(await profiles(world))).not.toContain('hidden');
    });
  });

  it('removes ClusterProfiles when the set is deleted', async () => {
    await begin('a');
    await world.create('fleet', { clusterProfiles: true });
    await untilProfiles(world, ['fleet-a']);
    await world.delete();
    await untilProfiles(world, []);
  });
});

onlyExhaustive(() => {
  describe('ClusterProfiles on a hub that adds fields', () => {
    beforeAll(async () => {
      world = await SetWorld.start();
      await installProfiles(world, { 'disable-compression': { type: 'boolean', default: true } });
    });
    afterAll(() => world.tokens.close());

    it('reports fields that the hub adds to the access provider, and writes again only after each list', async () => {
      await begin('a');
      await world.create('fleet', { clusterProfiles: true });
      await untilPublished('False WriteFailed');
      expect((await world.get()).status?.conditions?.at(-1)?.message).toContain('Check admission webhooks');
      await world.tokens.pass(40_000, 500);
      world.tokens.calls.clear();
      await world.tokens.pass(240_000, 5_000);
      expect(sentProfiles()).toEqual([]);
      await world.tokens.pass(600_000, 5_000);
      expect(sentProfiles()).toHaveLength(4);
      await reportHealth(world, 'a', SICK);
      await world.tokens.until(async () => healthOf((await read()).status) === 'ControlPlaneHealthy=False Timeout');
    });
  });
});

describe('ClusterProfiles on a hub that does not serve them', () => {
  beforeAll(async () => {
    world = await SetWorld.start();
  });
  afterAll(() => world.tokens.close());

  it('reports the missing CustomResourceDefinition, retries every minute, and publishes once it exists', async () => {
    await begin('a');
    await world.create('fleet', { clusterProfiles: true });
    await untilPublished('False CustomResourceMissing');
    await world.tokens.until(async () => (await world.get()).status?.ready === 1);
    expect((await world.get()).status?.conditions?.at(-1)?.message).toContain('sigs.k8s.io/cluster-inventory-api');
    await installProfiles(world);
    const before = world.tokens.clock.now();
    await untilPublished('True Published');
    expect(world.tokens.clock.now() - before).toBeLessThanOrEqual(65_000);
    await untilProfiles(world, ['fleet-a']);
    await world.admin.delete(CustomResourceDefinitions, { name: 'clusterprofiles.multicluster.x-k8s.io' });
    await untilPublished('False CustomResourceMissing');
    await world.patch({ spec: { clusterProfiles: false } });
    await untilPublished('');
    expect((await world.admin.list(ManagedTokens, { namespace: world.namespace })).items).toHaveLength(1);
  });
});

onlyExhaustive(() => {
  describe('ClusterProfiles without permission', () => {
    beforeAll(async () => {
      world = await SetWorld.start();
      await installProfiles(world);
    });
    afterAll(() => world.tokens.close());

    it('reports the missing permission, and publishes once it is granted', async () => {
      await begin('a');
      const restore = await world.withdrawProfiles(['list']);
      await world.create('fleet', { clusterProfiles: true });
      await untilPublished('False Forbidden');
      expect((await world.get()).status?.conditions?.at(-1)?.message).toContain('cannot list resource "clusterprofiles"');
      await restore();
      await untilProfiles(world, ['fleet-a']);
      await untilPublished('True Published');
    });

    it('updates and removes ClusterProfiles while the hub rejects new ones, for example because of a quota', async () => {
      await begin('b', 'c');
      await world.create('fleet', { clusterProfiles: true });
      await untilProfiles(world, ['fleet-b', 'fleet-c']);
      await untilPublished('True Published');
      const restore = await world.withdrawProfiles(['create']);
      await world.register(['a']);
      await world.tokens.allow('a', { name: `${world.namespace}-a` });
      await untilPublished('False Forbidden');
      await reportHealth(world, 'b', SICK);
      await world.tokens.until(async () => healthOf((await read('fleet-b')).status) === 'ControlPlaneHealthy=False Timeout');
      await world.label('c', { env: 'test' });
      await untilProfiles(world, ['fleet-b']);
      await restore();
      await untilProfiles(world, ['fleet-a', 'fleet-b']);
      await untilPublished('True Published');
    });
  });
});
