// Cost of watches of 50 callers who see different clusters: `node test/bench/watch-views.ts [WATCHERS] [EVENTS]`. The costs of one watch of
// each caller are subtracted. Runs a real kube-apiserver and Purser as separate processes. Prints JSON.

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

/** Watches of all callers, and the events that they have received. */
class Views {
  readonly #world: RegistryWorld;
  readonly #watches: Http2Watches;
  #watchers = 0;
  #delivered = 0;
  #touched = 0;

  constructor(world: RegistryWorld) {
    this.#world = world;
    this.#watches = new Http2Watches(world.facade.url, CALLERS, (caller) => `${userOf(caller)}-token`);
  }

  /** Opens watches up to a total number, and waits for their initial events. */
  async open(total: number): Promise<void> {
    const target = `${this.#world.facade.path}?watch=true&timeoutSeconds=3000`;
    const added = Array.from({ length: total - this.#watchers }, (_, index) => this.#watchers + index);
    await inParallel(added, async (index) => {
      const status = await this.#watches.open(index, target).status;
      if (status !== 200) throw new Error(`a watch returned ${status}`);
    });
    this.#watchers = total;
    await this.#expect(added.length * VISIBLE);
  }

  /** Changes clusters one after the other. Each change is an event for the watches of one caller. Returns the CPU time of the façade per change. */
  async touch(count: number): Promise<number> {
    const { pid } = this.#world.facade;
    const before = await cpuSeconds(pid);
    for (let n = 0; n < count; n++) {
      await touch(this.#world.client, this.#touched++);
      await this.#expect(this.#watchers / CALLERS);
    }
    return ((await cpuSeconds(pid)) - before) / count;
  }

  /** Throws if a watch has received another event, or has ended. */
  async assertExact(): Promise<void> {
    await delay(1_000);
    const { events, ended } = this.#watches;
    if (events !== this.#delivered || ended > 0) throw new Error(`received ${events} of ${this.#delivered} events; ${ended} watches ended`);
  }

  close(): void {
    this.#watches.close();
  }

  async #expect(events: number): Promise<void> {
    this.#delivered += events;
    await this.#watches.waitForEvents(this.#delivered, PATIENCE_MS);
  }
}

async function measure(world: RegistryWorld, watchers: number, events: number): Promise<object> {
  const views = new Views(world);
  await views.open(CALLERS);
  await views.touch(WARM_EVENTS);
  const few = { seconds: await views.touch(events), ...(await memoryOf(world.facade.pid)) };
  await views.open(watchers);
  await views.touch(WARM_EVENTS / CALLERS);
  const startedAt = performance.now();
  const many = { seconds: await views.touch(events), ...(await memoryOf(world.facade.pid)) };
  const milliseconds = (performance.now() - startedAt) / events;
  await views.assertExact();
  views.close();
  const added = watchers - CALLERS;
  return {
    watchers,
    events,
    few,
    many,
    /** Time until all watches have received an event. */
    milliseconds: round(milliseconds),
    microseconds: round(((many.seconds - few.seconds) * 1_000_000 * CALLERS) / added),
    kilobytes: round(((many.rssMegabytes - few.rssMegabytes) * 1_000) / added),
  };
}

/** Changes the cluster with a number, so that consecutive numbers are clusters of different callers. */
async function touch(client: KubeClient, count: number): Promise<void> {
  const labels = { touched: String(count) };
  await client.patch(Clusters, { name: nameOf(count % CLUSTERS) }, { metadata: { labels } }, { timeoutMs: PATIENCE_MS });
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

const [watchers = 10_000, events = 200] = process.argv.slice(2).map(Number);
if (watchers % CALLERS !== 0) throw new Error(`the number of watchers is not a multiple of ${CALLERS}`);
console.log(JSON.stringify(await bench(watchers, events)));
process.exit();
