import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ManagedTokenSets } from '../../src/api/resources.ts';
import { allOrFirst, onlyExhaustive } from '../support/scaled.ts';
import { complete, SetWorld } from './set-world.ts';

let world: SetWorld;

beforeAll(async () => {
  world = await SetWorld.start();
});
beforeEach(() => world.tokens.begin());
afterEach(() => world.tokens.end());
afterAll(() => world.tokens.close());

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `c${String(index).padStart(2, '0')}`);

/** Starts with a complete set of this many clusters. */
async function begin(count: number, maxConcurrent = 10): Promise<void> {
  await world.register(numbered(count));
  for (const name of numbered(count)) await world.tokens.allow(name, { name: `${world.namespace}-${name}` });
  await world.tokens.run({ hasSets: true });
  await world.create('fleet', { maxConcurrent });
  await world.until(complete(count));
}

const account = (name: string) => ({ spec: { template: { spec: { serviceAccount: { namespace: 'deploy', name } } } } });

/** Returns the number of ManagedTokens for a service account. */
const changedTo = async (name: string) => (await world.children()).filter(({ spec }) => spec.serviceAccount.name === name).length;

const eventReasons = async () => (await world.events()).map(({ type, reason }) => `${type} ${reason}`);

describe('rollout of a ManagedTokenSet', () => {
  it('stops the rollout after a third of a wave fails, and resumes it with a corrected template', async () => {
    await begin(6, 2);
    await world.patch(account('absent'));
    await world.tokens.until(async () => (await world.summary()).endsWith('Progressing=False RolloutStopped'));
    expect(await changedTo('absent')).toBeLessThanOrEqual(2);
    const { status } = await world.get();
    const progressing = status?.conditions?.find(({ type }) => type === 'Progressing');
    expect(progressing?.message).toMatch(/Cluster c\d\d failed with (Pending|ServiceAccountNotFound)/);
    expect(await eventReasons()).toEqual(['Warning RolloutStopped']);
    await world.tokens.pass(60_000, 5_000);
    expect(await changedTo('absent')).toBeLessThanOrEqual(2);
    await world.patch(account('deployer'));
    await world.until(complete(6));
  });

  onlyExhaustive(() => {
    it('ignores clusters that failed before the rollout started', async () => {
      await begin(4, 1);
      await world.tokens.forbid(`${world.namespace}-c00`);
      await world.tokens.forbid(`${world.namespace}-c01`);
      await world.patch({ spec: { template: { spec: { expirationSeconds: 7200 } } } });
      await world.until(complete(2));
    });
  });

  it('creates ManagedTokens of new clusters while the rollout is stopped', async () => {
    await begin(3, 1);
    await world.patch(account('absent'));
    await world.tokens.until(async () => (await world.summary()).endsWith('Progressing=False RolloutStopped'));
    await world.register(['new']);
    await world.tokens.allow('new', { name: `${world.namespace}-new` });
    await world.tokens.until(async () => (await world.names()).includes('fleet-new'));
  });

  it.each(
    allOrFirst([
      ['service account', account('deployerr')],
      ['requester', { spec: { template: { spec: { requesterServiceAccountName: 'defualt' } } } }],
    ]),
  )('stops the rollout, and keeps all ManagedTokens, if the template names a %s without permission', async (_, mistake) => {
    await world.register(numbered(4));
    for (const name of numbered(4)) await world.tokens.allow(`${name}/deploy/deployer`, { name: `${world.namespace}-${name}` });
    await world.tokens.run({ hasSets: true });
    await world.create();
    await world.until(complete(4));
    const uids = (await world.children()).map(({ metadata }) => metadata.uid);
    await world.patch(mistake);
    await world.tokens.until(async () => (await world.summary()).endsWith('Progressing=False RolloutStopped'));
    const { status } = await world.get();
    expect(status).toMatchObject({ clusters: 4, updated: 0, failing: 4, failures: numbered(4).map(() => ({ reason: 'Forbidden' })) });
    expect(await eventReasons()).toEqual(['Warning RolloutStopped']);
    await world.tokens.pass(120_000, 5_000);
    expect((await world.children()).map(({ metadata }) => metadata.uid)).toEqual(uids);
    expect(await changedTo('deployer')).toBe(4);
    await world.label('c00', { env: 'test' });
    await world.tokens.until(async () => (await world.names()).join() === 'fleet-c01,fleet-c02,fleet-c03');
    await world.tokens.forbid(`${world.namespace}-c01`);
    await world.tokens.until(async () => (await world.names()).join() === 'fleet-c02,fleet-c03');
    await world.patch({
      spec: { template: { spec: { requesterServiceAccountName: 'default', ...account('deployer').spec.template.spec } } },
    });
    await world.until(complete(2));
  });

  it('writes nothing after the set is deleted', async () => {
    await begin(6, 1);
    await world.patch({ spec: { template: { spec: { expirationSeconds: 7200 } } } });
    await world.tokens.until(async () => (await world.children()).some(({ spec }) => spec.expirationSeconds === 7200));
    await world.admin.delete(ManagedTokenSets, { namespace: world.namespace, name: 'fleet' });
    await world.tokens.until(async () => (await world.names()).length === 0);
    world.tokens.calls.clear();
    await world.tokens.pass(30_000, 1_000);
    expect(world.tokens.sent().hub.filter((call) => call.includes('managedtoken'))).toEqual([]);
  });
});

describe('removal from a ManagedTokenSet', () => {
  it('pauses if more than ten and more than a third of the ManagedTokens would be removed, and resumes only for the correct confirmation', async () => {
    await begin(12);
    await world.patch({ spec: { clusterSelector: { matchLabels: { env: 'tset' } } } });
    await world.until('0/0/0/0 Ready=True NoClusters Progressing=False RemovalPaused');
    await world.tokens.pass(120_000, 5_000);
    expect(await world.names()).toHaveLength(12);
    expect(await eventReasons()).toEqual(['Warning RemovalPaused']);
    await world.patch({ metadata: { annotations: { 'tokens.purser.dev/confirm-removal': '12-wrong' } } });
    await world.tokens.pass(60_000, 5_000);
    expect(await world.names()).toHaveLength(12);
    await world.confirmRemoval();
    await world.until('0/0/0/0 Ready=True NoClusters Progressing=False Complete');
    expect(await world.names()).toEqual([]);
  });

  onlyExhaustive(() => {
    it('pauses again for re-created ManagedTokens with the names of an earlier confirmation', async () => {
      await begin(12);
      for (let removal = 0; removal < 2; removal++) {
        await world.patch({ spec: { clusterSelector: { matchLabels: { env: 'tset' } } } });
        await world.until('0/0/0/0 Ready=True NoClusters Progressing=False RemovalPaused');
        await world.confirmRemoval();
        await world.until('0/0/0/0 Ready=True NoClusters Progressing=False Complete');
        await world.patch({ spec: { clusterSelector: { matchLabels: { env: 'prod' } } } });
        await world.until(complete(12));
      }
    });
  });

  onlyExhaustive(() => {
    it('removes no ManagedTokens when the selector is corrected', async () => {
      await begin(12);
      const uids = (await world.children()).map(({ metadata }) => metadata.uid);
      await world.patch({ spec: { clusterSelector: { matchLabels: { env: 'tset' } } } });
      await world.tokens.until(async () => (await world.summary()).endsWith('RemovalPaused'));
      await world.patch({ spec: { clusterSelector: { matchLabels: { env: 'prod' } } } });
      await world.until(complete(12));
      expect((await world.children()).map(({ metadata }) => metadata.uid)).toEqual(uids);
    });
  });

  onlyExhaustive(() => {
    it('removes ten ManagedTokens at once without a pause', async () => {
      await begin(11);
      for (const name of numbered(10)) await world.label(name, { env: 'test' });
      await world.until(complete(1));
      expect(await world.names()).toEqual(['fleet-c10']);
    });
  });
});
