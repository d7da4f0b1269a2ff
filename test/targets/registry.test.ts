import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Clusters } from '../../src/api/resources.ts';
import { systemClock } from '../../src/std/clock.ts';
import { createRegistryInformers } from '../../src/targets/registry.ts';
import { TokenWorld } from '../tokens/token-world.ts';

let world: TokenWorld;

beforeAll(async () => {
  world = await TokenWorld.start();
});
beforeEach(() => world.begin());
afterEach(() => world.end());
afterAll(() => world.close());

describe('createRegistryInformers', () => {
  it('keeps only public annotations of Clusters, and leaves the other annotations unchanged on the hub when the status is written', async () => {
    const { admin } = world.hub;
    const annotations = { 'example.com/filler': 'x'.repeat(200_000), 'public.example.com/region': 'eu' };
    await admin.patch(Clusters, { name: world.cluster }, { metadata: { annotations, labels: { team: 'a' } } });
    const informers = createRegistryInformers({
      client: admin,
      clock: systemClock,
      random: () => 0,
      credentialNamespaces: [],
      annotationPrefixes: ['public.example.com/'],
    });
    const running = informers.clusters.changes$.subscribe();
    await world.until(async () => informers.clusters.synced);
    const kept = informers.clusters.store.get(world.cluster);
    running.unsubscribe();
    if (kept === undefined) throw new Error('The Cluster was not found.');
    const written = await admin.updateStatus(Clusters, { ...kept, status: { version: 'v1.36.4' } });

    expect(kept.metadata).not.toHaveProperty('managedFields');
    expect(kept.metadata).toMatchObject({ annotations: { 'public.example.com/region': 'eu' }, labels: { team: 'a' } });
    expect(Object.keys(kept.metadata.annotations ?? {})).toEqual(['public.example.com/region']);
    expect(written).toMatchObject({ metadata: { annotations, labels: { team: 'a' } }, status: { version: 'v1.36.4' } });
  });
});
