import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Clusters, ManagedTokenSets, ManagedTokens, ServiceAccounts } from '../../src/api/resources.ts';
import { allOrFirst, onlyExhaustive } from '../support/scaled.ts';
import { complete, SetWorld } from './set-world.ts';

let world: SetWorld;

beforeAll(async () => {
  world = await SetWorld.start();
});
beforeEach(() => world.tokens.begin());
afterEach(() => world.tokens.end());
afterAll(() => world.tokens.close());

/** Lets the requester issue for these clusters. */
async function allow(names: readonly string[]): Promise<void> {
  for (const name of names) await world.tokens.allow(name, { name: `${world.namespace}-${name}` });
}

async function begin(names: readonly string[]): Promise<void> {
  await world.register(names);
  await allow(names);
  await world.tokens.run({ hasSets: true });
}

/** Returns the writes of ManagedTokens. */
function writes(): readonly string[] {
  return world.tokens.sent().hub.filter((call) => /^(PATCH|POST|PUT|DELETE) managedtokens(\/[^/]+)?$/.test(call));
}

describe('set controller', () => {
  it('creates one ManagedToken, controlled by the set, for each selected Cluster', async () => {
    await begin(['a', 'b']);
    await world.register(['c'], { env: 'test' });
    await allow(['c']);
    await world.create('fleet', {
      metadata: { labels: { cluster: '{{cluster}}' }, annotations: { 'example.com/env': 'is {{label "env"}}' } },
      spec: { secret: { name: '{{cluster}}-deployer', labels: { env: '{{label "env"}}' } } },
    });
    await world.until(complete(2));

    const [a, b, ...rest] = await world.children();
    expect([a?.metadata.name, b?.metadata.name, rest]).toEqual(['fleet-a', 'fleet-b', []]);
    expect(a?.spec).toMatchObject({ clusterName: 'a', secret: { name: 'a-deployer', labels: { env: 'prod' } } });
    expect(a?.metadata.labels).toEqual({ cluster: 'a' });
    expect(a?.metadata.annotations?.['example.com/env']).toBe('is prod');
    const { metadata } = await world.get();
    expect(a?.metadata.ownerReferences).toEqual([
      expect.objectContaining({ kind: 'ManagedTokenSet', name: 'fleet', uid: metadata.uid, controller: true }),
    ]);
    expect((await world.tokens.secret('a-deployer'))?.metadata.labels?.['env']).toBe('prod');
  });

  it('sends no request to the hub while idle', async () => {
    await begin(['a', 'b']);
    await world.create();
    await world.until(complete(2));
    await world.tokens.pass(5_000, 500);
    world.tokens.calls.clear();
    await world.tokens.pass(120_000, 5_000);
    expect(world.tokens.sent().hub).toEqual([]);
  });

  it('changes each ManagedToken with one write after a change to the template', async () => {
    await begin(['a', 'b']);
    await world.create('fleet', { metadata: { labels: { old: 'x', kept: 'y' } } });
    await world.until(complete(2));
    await world.tokens.pass(2_000, 500);
    world.tokens.calls.clear();
    await world.patch({ spec: { template: { spec: { expirationSeconds: 7200 } } } });
    await world.tokens.until(async () => (await world.children()).every(({ spec }) => spec.expirationSeconds === 7200));
    await world.until(complete(2));
    expect(writes().toSorted()).toEqual(['PATCH managedtokens/fleet-a', 'PATCH managedtokens/fleet-b']);
  });

  it('removes labels, annotations and fields that the template no longer has', async () => {
    await begin(['a']);
    await world.create('fleet', { metadata: { labels: { old: 'x', kept: 'y' } }, spec: { secret: { labels: { old: 'x', kept: 'y' } } } });
    await world.until(complete(1));
    await world.admin.patch(ManagedTokens, { namespace: world.namespace, name: 'fleet-a' }, { metadata: { labels: { theirs: 'z' } } });
    await world.tokens.pass(5_000, 500);
    world.tokens.calls.clear();
    await world.patch({ spec: { template: { metadata: { labels: { old: null } }, spec: { secret: { labels: { old: null } } } } } });
    await world.tokens.until(async () => (await world.children())[0]?.metadata.labels?.['old'] === undefined);
    const [child] = await world.children();
    expect([child?.metadata.labels, child?.spec.secret.labels]).toEqual([{ kept: 'y', theirs: 'z' }, { kept: 'y' }]);
    await world.until(complete(1));
    expect(writes()).toEqual(['PATCH managedtokens/fleet-a']);
  });

  it.each(
    allOrFirst([
      ['changes', { labels: { kept: 'other' }, annotations: { 'example.com/note': 'other' } }],
      ['removes', { labels: { kept: null }, annotations: { 'example.com/note': null } }],
    ]),
  )('restores labels and annotations of the template with one write after a user %s them', async (_, changed) => {
    await begin(['a']);
    const metadata = { labels: { kept: 'y' }, annotations: { 'example.com/note': 'n'.repeat(300) } };
    await world.create('fleet', { metadata });
    await world.until(complete(1));
    await world.tokens.pass(5_000, 500);
    world.tokens.calls.clear();
    const name = { namespace: world.namespace, name: 'fleet-a' };
    await world.admin.patch(ManagedTokens, name, { metadata: { ...changed, labels: { ...changed.labels, theirs: 'z' } } });
    const isRestored = async () => {
      const [child] = await world.children();
      const note = child?.metadata.annotations?.['example.com/note'];
      return child?.metadata.labels?.['kept'] === 'y' && note === metadata.annotations['example.com/note'];
    };
    await world.tokens.until(isRestored);
    await world.tokens.pass(30_000, 1_000);
    expect(writes()).toEqual(['PATCH managedtokens/fleet-a']);
    expect((await world.children())[0]?.metadata.labels).toEqual({ kept: 'y', theirs: 'z' });
  });

  it('restores fields that a user changes or adds, and keeps rotate requests', async () => {
    await begin(['a']);
    await world.create();
    await world.until(complete(1));
    await world.admin.patch(
      ManagedTokens,
      { namespace: world.namespace, name: 'fleet-a' },
      {
        metadata: { annotations: { 'tokens.purser.dev/rotate': 'now' } },
        spec: { clusterName: 'elsewhere', audiences: ['other', 'https://kubernetes.default.svc'], secret: { annotations: { a: 'b' } } },
      },
    );
    await world.tokens.until(async () => (await world.children())[0]?.spec.clusterName === 'a');
    await world.until(complete(1));
    const [child] = await world.children();
    expect([child?.spec.audiences, child?.spec.secret.annotations]).toEqual([['https://kubernetes.default.svc'], undefined]);
    expect(child?.metadata.annotations?.['tokens.purser.dev/rotate']).toBe('now');
  });

  it('writes the new value of a label of the Cluster into the Secret', async () => {
    await begin(['a']);
    await world.create('fleet', { spec: { secret: { labels: { region: '{{label "region"}}' } } } });
    await world.until(complete(1));
    const before = world.tokens.clock.now();
    await world.label('a', { region: 'eu' });
    await world.tokens.until(async () => (await world.tokens.secret('fleet-a'))?.metadata.labels?.['region'] === 'eu');
    expect(world.tokens.clock.now() - before).toBeLessThanOrEqual(2_000);
  });

  it('removes the ManagedToken 15 s after its Cluster stops matching', async () => {
    await begin(['a', 'b']);
    await world.create();
    await world.until(complete(2));
    const before = world.tokens.clock.now();
    await world.label('b', { env: 'test' });
    await world.tokens.until(async () => (await world.names()).join() === 'fleet-a');
    expect(world.tokens.clock.now() - before).toBeGreaterThanOrEqual(15_000);
    await world.until(complete(1));
    expect(await world.tokens.secret('fleet-b')).toBeUndefined();
  });

  it('keeps the ManagedToken of a Cluster that matches again within seconds', async () => {
    await begin(['a', 'b']);
    await world.create();
    await world.until(complete(2));
    const uids = (await world.children()).map(({ metadata }) => metadata.uid);
    await world.label('b', { env: 'test' });
    await world.until('1/1/1/0 Ready=True AllReady Progressing=True RollingOut');
    await world.label('b', { env: 'prod' });
    await world.until(complete(2));
    await world.tokens.pass(60_000, 1_000);
    expect((await world.children()).map(({ metadata }) => metadata.uid)).toEqual(uids);
  });

  it('removes the ManagedToken of a deleted Cluster, and of one that the requester may no longer issue tokens for', async () => {
    await begin(['a', 'b', 'c']);
    await world.create();
    await world.until(complete(3));
    await world.admin.delete(Clusters, { name: 'a' });
    await world.tokens.forbid(`${world.namespace}-b`);
    await world.until(complete(1));
    expect(await world.names()).toEqual(['fleet-c']);
  });

  onlyExhaustive(() => {
    it('removes the ManagedToken of a deleted Cluster that a finalizer keeps', async () => {
      await begin(['a', 'b']);
      await world.create();
      await world.until(complete(2));
      await world.admin.patch(Clusters, { name: 'a' }, { metadata: { finalizers: ['example.com/keep'] } });
      await world.admin.delete(Clusters, { name: 'a' });
      await world.until(complete(1));
      expect(await world.names()).toEqual(['fleet-b']);
      await world.admin.patch(Clusters, { name: 'a' }, { metadata: { finalizers: null } });
    });
  });

  onlyExhaustive(() => {
    it('removes a ManagedToken with the set as its owner and a name that belongs to no cluster', async () => {
      await begin(['a']);
      const { metadata } = await world.create();
      await world.until(complete(1));
      const { apiVersion, kind, spec } = await world.tokens.get('fleet-a');
      const owner = { apiVersion, kind: 'ManagedTokenSet', name: 'fleet', uid: metadata.uid ?? '', controller: true };
      const forged = { name: 'other-a', namespace: world.namespace, ownerReferences: [owner] };
      await world.admin.create(ManagedTokens, {
        apiVersion,
        kind,
        metadata: forged,
        spec: { ...spec, secret: { ...spec.secret, name: 'x' } },
      });
      await world.until('1/1/1/0 Ready=True AllReady Progressing=True RollingOut');
      await world.until(complete(1));
      expect(await world.names()).toEqual(['fleet-a']);
    });

    it('reports a Cluster only once the requester may issue tokens for it', async () => {
      await world.register(['a', 'hidden']);
      await allow(['a']);
      await world.tokens.run({ hasSets: true });
      await world.create();
      await world.until(complete(1));
      expect(JSON.stringify([await world.get(), await world.events()])).not.toContain('hidden');
      await allow(['hidden']);
      await world.until(complete(2));
    });

    it('reports NameConflict for a ManagedToken of another owner, and does not change it', async () => {
      await begin(['a', 'b']);
      await world.tokens.create('fleet-a', { clusterName: 'b' });
      await world.create();
      await world.until('2/1/1/1 Ready=False NotAllReady Progressing=False Complete');
      const { status } = await world.get();
      expect(status?.failures).toEqual([expect.objectContaining({ clusterName: 'a', reason: 'NameConflict' })]);
      expect((await world.tokens.get('fleet-a')).spec.clusterName).toBe('b');
      await world.admin.delete(ManagedTokens, { namespace: world.namespace, name: 'fleet-a' });
      await world.until(complete(2));
    });

    it('reports NameConflict for one of two sets whose ManagedTokens have the same name', async () => {
      await begin(['b-c', 'c']);
      await world.create('a', {
        clusterSelector: { matchExpressions: [{ key: 'x', operator: 'DoesNotExist' }], matchLabels: { env: 'prod' } },
      });
      await world.until(complete(2), 'a');
      await world.create('a-b', { spec: { audiences: ['other'] } });
      await world.until('2/1/1/1 Ready=False NotAllReady Progressing=False Complete', 'a-b');
      const { status } = await world.get('a-b');
      expect(status?.failures?.map(({ clusterName, reason }) => [clusterName, reason])).toEqual([['c', 'NameConflict']]);
      expect(await world.names()).toEqual(['a-b-b-c', 'a-b-c', 'a-c']);
      await world.until(complete(2), 'a');
      expect((await world.events('a-b')).map(({ reason }) => reason)).toEqual(['NameConflict']);
    });

    it('reports a Secret that two clusters of a set would share', async () => {
      await begin(['a-b', 'a']);
      await world.label('a', { x: 'b-c' });
      await world.label('a-b', { x: 'c' });
      await world.create('fleet', { spec: { secret: { name: '{{cluster}}-{{label "x"}}' } } });
      await world.until('2/1/2/1 Ready=False NotAllReady Progressing=False Complete');
      expect((await world.get()).status?.failures?.map(({ reason }) => reason)).toEqual(['SecretConflict']);
    });

    it('reports TemplateInvalid for a cluster whose labels render no valid name, and serves the other clusters', async () => {
      await begin(['a', 'b']);
      await world.label('a', { x: 'y' });
      await world.create('fleet', { spec: { secret: { name: '{{cluster}}-{{label "x"}}' } } });
      await world.until('2/1/1/1 Ready=False NotAllReady Progressing=False Complete');
      expect((await world.get()).status?.failures).toEqual([expect.objectContaining({ clusterName: 'b', reason: 'TemplateInvalid' })]);
      await world.label('b', { x: 'z' });
      await world.until(complete(2));
    });
  });

  it('reports a set that selects no Cluster', async () => {
    await begin([]);
    await world.create();
    await world.until('0/0/0/0 Ready=True NoClusters Progressing=False Complete');
  });

  it('reports a requester that does not exist, until it is created', async () => {
    await begin(['a']);
    await world.create('fleet', { spec: { requesterServiceAccountName: 'deployr' } });
    await world.until('0/0/0/0 Ready=False RequesterNotFound Progressing=False RequesterNotFound');
    await world.admin.create(ServiceAccounts, { metadata: { namespace: world.namespace, name: 'deployr' } });
    await world.until('0/0/0/0 Ready=True NoClusters Progressing=False Complete');
  });

  it('rejects a set in a namespace with credentials', async () => {
    await begin(['a']);
    const { namespace } = world.tokens;
    world.tokens.namespace = 'purser-system';
    await world.create();
    await world.tokens.until(async () => (await world.get()).status?.conditions?.length === 2);
    const { status } = await world.get();
    expect(status?.conditions?.map(({ status: is, reason }) => `${is} ${reason}`)).toEqual(['False InvalidSpec', 'False InvalidSpec']);
    expect(await world.names()).toEqual([]);
    world.tokens.namespace = namespace;
  });

  it('removes all ManagedTokens when the set is deleted', async () => {
    await begin(['a', 'b']);
    await world.create();
    await world.until(complete(2));
    await world.admin.delete(ManagedTokenSets, { namespace: world.namespace, name: 'fleet' });
    await world.tokens.until(async () => (await world.names()).length === 0);
    await world.tokens.pass(5_000, 500);
    expect(await world.names()).toEqual([]);
  });
});
