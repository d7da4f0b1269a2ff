// Metrics of the controller of ManagedTokenSets: namespaces over a budget, and ClusterProfiles.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ClusterProfiles } from '../../src/api/resources.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';
import { parseExposition } from '../support/exposition.ts';
import { onlyExhaustive } from '../support/scaled.ts';
import { installProfiles, untilProfiles } from './profile-world.ts';
import { complete, SetWorld } from './set-world.ts';

let world: SetWorld;
let metrics: Metrics;

beforeAll(async () => {
  world = await SetWorld.start();
  await installProfiles(world);
});
beforeEach(async () => {
  const none = { list: () => [], has: () => false };
  metrics = new Metrics({ build: { version: '', node: '' }, tokens: none, sets: none, clusters: none });
  await world.tokens.begin();
});
afterEach(() => world.tokens.end());
afterAll(() => world.tokens.close());

/** Returns the samples of a metric in the namespace of the test, as labels without namespace and name, and values. */
async function samplesOf(name: string): Promise<readonly string[]> {
  const { samples } = parseExposition((await Array.fromAsync(metrics.text())).join('')).get(name) ?? {};
  return [...(samples ?? [])].flatMap(([key, value]) => {
    const { namespace, name: _, ...labels } = Object.fromEntries(JSON.parse(key) as [string, string][]);
    return namespace === world.namespace ? [`${Object.values(labels).join()} ${value}`] : [];
  });
}

/** Runs the controller until the sets of the namespace exceed the budget of reviews. */
async function exceedBudget(): Promise<void> {
  await world.tokens.run({ hasSets: true, setMetrics: metrics });
  await world.create('fleet', { spec: { requesterServiceAccountName: 'absent' } });
  // Each run looks up the requester, which the informer does not have.
  for (let change = 1; change <= 320; change++) {
    await world.patch({ spec: { rollout: { maxConcurrent: change } } });
    await world.tokens.pass(1);
  }
  await world.tokens.until(async () => (await samplesOf('purser_namespace_over_budget')).join() === 'reviews 1');
}

describe('metrics of the set controller', () => {
  onlyExhaustive(() => {
    it('names the namespace whose sets exceed the budget of reviews, until they are within it again', async () => {
      await exceedBudget();
      await world.tokens.pass(600_000, 10_000);
      expect(await samplesOf('purser_namespace_over_budget')).toEqual([]);
    });
  });

  onlyExhaustive(() => {
    it('names no namespace over a budget after the controller stops', async () => {
      await exceedBudget();
      for (const controller of world.tokens.running.splice(0)) await controller.stop();
      expect(await samplesOf('purser_namespace_over_budget')).toEqual([]);
    });
  });

  it('exports the number of published and conflicting ClusterProfiles, and no samples after the controller stops', async () => {
    const names = ['a', 'b', 'c'];
    await world.register(names);
    for (const name of names) await world.tokens.allow(name, { name: `${world.namespace}-${name}` });
    const spec = { displayName: 'theirs', clusterManager: { name: 'theirs' } };
    await world.admin.create(ClusterProfiles, { metadata: { namespace: world.namespace, name: 'fleet-a' }, spec });
    await world.tokens.run({ hasSets: true, setMetrics: metrics });
    await world.create('fleet', { clusterProfiles: true });
    await untilProfiles(world, ['fleet-b', 'fleet-c']);
    await world.tokens.until(async () => (await world.summary()).startsWith(`${complete(3)} ClusterProfilesPublished=False NameConflict`));
    expect(await samplesOf('purser_clusterprofiles')).toEqual(['published 2', 'rejected 0', 'conflicting 1']);
    for (const controller of world.tokens.running.splice(0)) await controller.stop();
    expect(await samplesOf('purser_clusterprofiles')).toEqual([]);
  });
});
