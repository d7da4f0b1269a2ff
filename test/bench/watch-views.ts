// Cost of watches of 50 callers who see different clusters: `node test/bench/watch-views.ts [WATCHERS] [EVENTS]`. Runs a real kube-apiserver
// and Purser as separate processes. Prints JSON.

import { setTimeout as delay } from 'node:timers/promises';
import { ClusterRoleBindings, ClusterRoles, Clusters } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { Http2Watches } from './http2-watches.ts';
import { inParallel } from './in-parallel.ts';
import { cpuSeconds, memoryOf, round } from './process-usage.ts';
import { nameOf, type RegistryWorld, startRegistryWorld } from './registry-world.ts';

const CALLERS = 50;
/** Number of clusters that each caller sees, and no other caller. */
const VISIBLE = 14;
const CLUSTERS = CALLERS * VISIBLE;
const PATIENCE_MS = 240_000;
/** Events before the measurement, after which hot code is compiled. */
const WARM_EVENTS = CLUSTERS;

const userOf = (caller: number) => `viewer-${caller}`;
const callers = new Map(
  Array.from({ length: CALLERS }, (_, caller) => [`${userOf(caller)}-token`, { name: userOf(caller), uid: userOf(caller), groups: [] }]),
);

/** Grants each caller permission to see the clusters of its view: every fiftieth one. */
async function grantViews(client: KubeClient): Promise<void> {
  for (let caller = 0; caller < CALLERS; caller++) {
    const name = userOf(caller);
    const resourceNames = Array.from({ length: VISIBLE }, (_, index) => nameOf(caller + index * CALLERS));
    const rules = [{ apiGroups: ['registry.purser.dev'], resources: ['clusters'], verbs: ['get'], resourceNames }];
    await client.create(ClusterRoles, { metadata: { name }, rules });
    const group = 'rbac.authorization.k8s.io';
    const roleRef = { apiGroup: group, kind: 'ClusterRole', name };
    await client.create(ClusterRoleBindings, { metadata: { name }, roleRef, subjects: [{ apiGroup: group, kind: 'User', name }] });
  }
}

async function measure({ client, facade }: RegistryWorld, watchers: number, events: number): Promise<object> {
  const watches = new Http2Watches(facade.url, CALLERS, (caller) => `${userOf(caller)}-token`);
  const { rssMegabytes: before } = await memoryOf(facade.pid);
  await inParallel(Array.from({ length: watchers }), async (_, index) => {
    const status = await watches.open(index, `${facade.path}?watch=true&timeoutSeconds=3000`).status;
    if (status !== 200) throw new Error(`a watch returned ${status}`);
  });
  let delivered = watchers * VISIBLE;
  await waitForEvents(watches, delivered);
  let touched = 0;
  const touchMany = async (count: number) => {
    await inParallel(Array.from({ length: count }), async () => await touch(client, touched++));
    // Each cluster is visible to one caller.
    delivered += (count * watchers) / CALLERS;
    await waitForEvents(watches, delivered);
  };
  await touchMany(WARM_EVENTS);
  await delay(2_000);
  const { rssMegabytes: after } = await memoryOf(facade.pid);
  const cpuBefore = await cpuSeconds(facade.pid);
  await touchMany(events);
  const seconds = (await cpuSeconds(facade.pid)) - cpuBefore;
  watches.close();
  return {
    watchers,
    events,
    microseconds: round((seconds * 1_000_000 * CALLERS) / (events * watchers)),
    kilobytes: round(((after - before) * 1_000) / watchers),
    rssMegabytes: after,
  };
}

/** Changes the cluster with a number, so that consecutive numbers are clusters of different callers. */
async function touch(client: KubeClient, count: number): Promise<void> {
  const labels = { touched: String(count) };
  await client.patch(Clusters, { name: nameOf(count % CLUSTERS) }, { metadata: { labels } }, { timeoutMs: PATIENCE_MS });
}

async function waitForEvents(watches: Http2Watches, count: number): Promise<void> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  while (watches.events < count) {
    if (performance.now() > giveUpAt) throw new Error(`received ${watches.events} of ${count} events`);
    await delay(10);
  }
}

async function bench(watchers: number, events: number): Promise<object> {
  const world = await startRegistryWorld(CLUSTERS, { callers });
  try {
    await grantViews(world.client);
    return await measure(world, watchers, events);
  } finally {
    await world.stop();
  }
}

const [watchers = '10000', events = '2000'] = process.argv.slice(2);
console.log(JSON.stringify(await bench(Number(watchers), Number(events))));
process.exit();
