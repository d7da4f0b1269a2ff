// Cost of idle clusters: `node test/bench/clusters-idle.ts [CLUSTERS] [SECONDS] [SECONDS BEFORE] [SILENT] [SLOW]`. SILENT of the clusters send
// no responses, and SLOW of them respond after three seconds. Runs a real hub, stub targets and Purser as separate processes, and measures
// Purser. Prints JSON.

import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import { Clusters, Secrets } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { createInformer } from '../../src/kube/informer.ts';
import { systemClock as clock } from '../../src/std/clock.ts';
import { startRealCluster } from '../support/real-cluster.ts';
import { startChild } from './child-process.ts';
import { adminOf, base64, NAMESPACE, seedHub } from './hub.ts';
import { inParallel } from './in-parallel.ts';
import { measureUsage, round } from './process-usage.ts';
import { type Purser, startPurser } from './purser-process.ts';

const READY_MS = 300_000;

interface Fleet {
  readonly urls: readonly string[];
  /** URL of the report on probes. */
  readonly report: string;
  readonly ca: string;
}

interface Extent {
  readonly clusters: number;
  /** Number of clusters that send no responses. */
  readonly silent: number;
  /** Number of clusters that respond slowly. */
  readonly slow: number;
  readonly seconds: number;
  /** Time between the readiness of all clusters and the measurement, in seconds. */
  readonly before: number;
}

async function bench(extent: Extent): Promise<object> {
  const { clusters, silent, slow } = extent;
  const hub = await startRealCluster();
  const client = await adminOf(hub);
  try {
    const targets = await startChild<Fleet>('test/support/stub-targets-process.ts', [clusters, silent, slow].map(String));
    await seedHub(client);
    const { urls, ca, report } = targets.message;
    await inParallel(urls, async (url, index) => await register(client, `cluster-${index}`, url, ca));
    const purser = await startPurser(await hub.kubeconfig('admin'));
    await purser.ready;
    const figures = await measure(client, purser, { ...extent, report });
    // Purser stops first, because it would report the missing targets.
    await purser.stop();
    await targets.stop();
    return figures;
  } finally {
    await client.transport.close();
    await hub.stop();
  }
}

async function register(client: KubeClient, name: string, serverAddress: string, ca: string): Promise<void> {
  const pins = { server: base64(serverAddress), 'ca.crt': base64(ca), cluster: base64(name) };
  const data = { token: base64(`credential-of-${name}`), ...pins };
  await client.create(Secrets, { metadata: { namespace: NAMESPACE, name }, type: 'Opaque', data });
  const cluster: Cluster = {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name },
    spec: {
      orchestratorApiEndpoints: { caBundle: base64(ca), serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress }] },
      authInfo: { controller: { kind: 'Secret', namespace: NAMESPACE, name } },
    },
  };
  await client.create(Clusters, cluster);
}

async function measure(
  client: KubeClient,
  purser: Purser,
  { clusters, silent, slow, seconds, before, report }: Extent & Pick<Fleet, 'report'>,
) {
  const healthy = new Set(Array.from({ length: clusters - silent - slow }, (_, index) => `cluster-${index}`));
  const informer = createInformer({ client, resource: Clusters, clock, random: Math.random });
  const writes: number[] = [];
  const losses: number[] = [];
  const watching = informer.changes$.subscribe((change) => {
    if (change.type !== 'updated') return;
    writes.push(performance.now());
    if (healthy.has(change.object.metadata.name) && isReady(change.previous) && !isReady(change.object)) losses.push(performance.now());
  });
  const secrets = createInformer({ client, resource: Secrets, selection: { namespace: NAMESPACE }, clock, random: Math.random });
  const renewals: number[] = [];
  watching.add(
    secrets.changes$.subscribe(({ type, key }) => type === 'updated' && key.endsWith('-renewed') && renewals.push(performance.now())),
  );
  const startedAt = performance.now();
  const notReady = () =>
    informer.store
      .list()
      .filter(({ metadata }) => healthy.has(metadata.name))
      .flatMap((cluster) => (isReady(cluster) ? [] : [firstMessage(cluster.status)]));
  while (informer.store.size < clusters || notReady().length > 0) {
    await purser.assertRunning();
    if (performance.now() - startedAt > READY_MS)
      throw new Error(`${notReady().length} clusters are not Ready: ${[...new Set(notReady())].slice(0, 5).join(' ')}`);
    await delay(100);
  }
  const readySeconds = round((performance.now() - startedAt) / 1_000);
  await delay(before * 1_000);
  await readProbes(report);
  const usage = await measureUsage(purser.pid);
  const restsFrom = performance.now();
  await delay(seconds * 1_000);
  const used = await usage();
  const probes = await readProbes(report);
  watching.unsubscribe();
  // Exactly `seconds`, without the time of the timer and the measurements.
  const isCounted = (at: number) => at > restsFrom && at <= restsFrom + seconds * 1_000;
  const counted = writes.filter(isCounted);
  const renewed = renewals.filter(isCounted);
  const figures = {
    statusWrites: counted.length,
    maxWritesInTenSeconds: maxWithin(counted, 10_000),
    renewals: renewed.length,
    maxRenewalsInTenSeconds: maxWithin(renewed, 10_000),
    ...used,
  };
  return {
    clusters,
    silent,
    slow,
    seconds,
    readySeconds,
    ...figures,
    probes,
    notReady: losses.filter(isCounted).length + notReady().length,
  };
}

/** Returns the probes of the healthy clusters since the last call. */
async function readProbes(report: string): Promise<unknown> {
  return await (await fetch(report)).json();
}

function isReady({ status }: Cluster): boolean {
  return status?.conditions?.[0]?.status === 'True';
}

function firstMessage(status: Cluster['status']): string {
  return status?.conditions?.[0]?.message ?? 'no condition.';
}

function maxWithin(instants: readonly number[], windowMs: number): number {
  return Math.max(0, ...instants.map((start) => instants.filter((at) => at >= start && at < start + windowMs).length));
}

// Within a minute and a half, the garbage collector frees the memory of the first probes.
const [clusters = 1_000, seconds = 300, before = Math.min(seconds, 90), silent = 0, slow = 0] = process.argv.slice(2).map(Number);
console.log(JSON.stringify(await bench({ clusters, silent, slow, seconds, before }), null, 2));
process.exit();
