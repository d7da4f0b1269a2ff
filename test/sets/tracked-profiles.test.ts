import { describe, expect, it } from '@jest/globals';
import type { ClusterProfile } from '../../src/api/cluster-profile.ts';
import type { Stored } from '../../src/api/resources.ts';
import type { Page } from '../../src/kube/client.ts';
import { TrackedProfiles } from '../../src/sets/tracked-profiles.ts';
import { aSet } from './set-builder.ts';

const SET = aSet();

function aProfile(name: string, { controllerUid = SET.metadata.uid } = {}): Stored<ClusterProfile> {
  const owner = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedTokenSet', name: 'fleet', uid: controllerUid, controller: true };
  const provider = {
    name: 'secretreader',
    cluster: { server: 'https://a.test', extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { clusterName: name } }] },
  };
  return {
    metadata: { name, namespace: 'team-a', uid: `uid-${name}`, resourceVersion: '1', ownerReferences: [owner] },
    spec: { clusterManager: { name: 'purser' } },
    status: { accessProviders: [provider] },
  };
}

async function* pages(...lists: readonly (readonly Stored<ClusterProfile>[])[]): AsyncGenerator<Page<ClusterProfile>> {
  for (const items of lists) yield { items, resourceVersion: '1' };
}

describe('TrackedProfiles', () => {
  it('keeps the digests of ClusterProfiles with a cluster, and only the identity of other ClusterProfiles', async () => {
    const tracked = new TrackedProfiles();
    await tracked.replace(pages([aProfile('fleet-a'), aProfile('fleet-x')]), SET, new Set(['fleet-a']));
    expect([...tracked.controlled].map(([name, { digests }]) => [name, digests.main !== ''])).toEqual([
      ['fleet-a', true],
      ['fleet-x', false],
    ]);
  });

  it('ignores ClusterProfiles of other sets unless they have the name of a cluster of the set', async () => {
    const tracked = new TrackedProfiles();
    const others = [aProfile('fleet-a', { controllerUid: 'other' }), aProfile('other-a', { controllerUid: 'other' })];
    await tracked.replace(pages(others), SET, new Set(['fleet-a']));
    expect([[...tracked.foreign], tracked.controlled.size]).toEqual([['fleet-a'], 0]);
  });

  it('tracks at most 1,000 ClusterProfiles to remove', async () => {
    const tracked = new TrackedProfiles();
    const surplus = Array.from({ length: 1_500 }, (_, index) => aProfile(`fleet-${index}`));
    await tracked.replace(pages(surplus.slice(0, 800), surplus.slice(800)), SET, new Set());
    expect([tracked.controlled.size, tracked.isPartial]).toEqual([1_000, true]);
    await tracked.replace(pages(surplus.slice(0, 10)), SET, new Set());
    expect([tracked.controlled.size, tracked.isPartial]).toEqual([10, false]);
  });

  it("keeps the time of Purser's own write, and takes the digests of the ClusterProfile in the list", async () => {
    const tracked = new TrackedProfiles();
    tracked.controlled.set('fleet-a', { uid: 'uid-fleet-a', digests: { main: 'm', status: 's' }, writtenAt: 7 });
    await tracked.replace(pages([aProfile('fleet-a')]), SET, new Set(['fleet-a']));
    expect(tracked.controlled.get('fleet-a')).toMatchObject({ writtenAt: 7, digests: { main: expect.stringMatching('sha256:') } });
  });

  it('records a write that the hub changed until the next list', async () => {
    const tracked = new TrackedProfiles();
    tracked.observe(aProfile('fleet-a'), SET, 7);
    const digests = tracked.controlled.get('fleet-a')?.digests ?? { main: '', status: '' };
    expect(tracked.recordOverride('fleet-a', digests)).toBe(false);
    expect(tracked.recordOverride('fleet-a', { ...digests, status: 's' })).toBe(true);
    expect([tracked.isOverridden('fleet-a', { ...digests, status: 's' }), tracked.isOverridden('fleet-a', digests)]).toEqual([true, false]);
    await tracked.replace(pages([aProfile('fleet-a')]), SET, new Set(['fleet-a']));
    expect(tracked.isOverridden('fleet-a', { ...digests, status: 's' })).toBe(false);
  });

  it('treats a ClusterProfile that has another controller in a later list as foreign', () => {
    const tracked = new TrackedProfiles();
    tracked.observe(aProfile('fleet-a'), SET);
    tracked.observe(aProfile('fleet-a', { controllerUid: 'other' }), SET);
    expect([[...tracked.foreign], tracked.controlled.size]).toEqual([['fleet-a'], 0]);
  });

  it('requests another list after a failed list', async () => {
    const tracked = new TrackedProfiles();
    tracked.listedAt = 7;
    const failing = (async function* () {
      yield { items: [aProfile('fleet-a')], resourceVersion: '1' };
      throw new Error('expired');
    })();
    await expect(tracked.replace(failing, SET, new Set())).rejects.toThrow('expired');
    expect(tracked.listedAt).toBeUndefined();
  });
});
