// Cost of the delivery of watch events for their server.

import { setTimeout as delay } from 'node:timers/promises';
import { Clusters } from '../../src/api/resources.ts';
import { inParallel } from './in-parallel.ts';
import { cpuSeconds, measureUsage, round } from './process-usage.ts';
import { ADMIN, ALICE, grantNext, type ListServer, nameOf, type RegistryWorld } from './registry-world.ts';
import { PATIENCE_MS, WatchCrowd } from './watch-crowd.ts';

const SINGLE_EVENTS = 100;
const BURST_EVENTS = 500;

/** Compares watches of the façade with those of the hub. */
export async function compareWatches(world: RegistryWorld, watchers: number): Promise<object> {
  const hub = await measureDelivery(world, world.hub, watchers);
  const facade = await measureDelivery(world, world.facade, watchers);
  return {
    microseconds: { hub: hub.microseconds, facade: facade.microseconds },
    withWatchers: facade.usage,
    permissionMs: await measurePermissionLatency(world),
  };
}

async function measureDelivery(world: RegistryWorld, server: ListServer, watchers: number) {
  const crowd = new WatchCrowd();
  const resourceVersion = await crowd.currentVersion(server, ADMIN);
  await crowd.open(server, { watchers, token: ADMIN, resourceVersion });
  // Excludes the cost of connecting.
  await delay(2_000);
  const usage = await measureUsage(server.pid);
  const single = await measureCpu(server, SINGLE_EVENTS * watchers, async () => {
    for (let count = 1; count <= SINGLE_EVENTS; count++) {
      await touch(world, count);
      await crowd.waitForEvents(count * watchers);
    }
  });
  const burst = await measureCpu(server, BURST_EVENTS * watchers, async () => {
    await inParallel(Array.from({ length: BURST_EVENTS }), (_, index) => touch(world, SINGLE_EVENTS + index + 1));
    await crowd.waitForEvents((SINGLE_EVENTS + BURST_EVENTS) * watchers);
  });
  const used = await usage();
  crowd.close();
  return { microseconds: { single, burst }, usage: used };
}

/** Measures the CPU time of an action per delivered event, in microseconds. */
async function measureCpu({ pid }: ListServer, deliveries: number, act: () => Promise<void>): Promise<number> {
  const before = await cpuSeconds(pid);
  await act();
  return round((((await cpuSeconds(pid)) - before) * 1_000_000) / deliveries);
}

async function touch({ client, clusters }: RegistryWorld, count: number): Promise<void> {
  const labels = { touched: `${count}-${performance.now().toFixed(0)}` };
  await client.patch(Clusters, { name: nameOf(count % clusters) }, { metadata: { labels } }, { timeoutMs: PATIENCE_MS });
}

/** Measures the time until a watch shows a cluster after permission for it was granted. */
async function measurePermissionLatency({ client, facade, visible }: RegistryWorld): Promise<number> {
  const crowd = new WatchCrowd();
  await crowd.open(facade, { watchers: 1, token: ALICE });
  await crowd.waitForEvents(visible);
  const startedAt = performance.now();
  await grantNext(client, { visible });
  await crowd.waitForEvents(visible + 1);
  crowd.close();
  return round(performance.now() - startedAt);
}
