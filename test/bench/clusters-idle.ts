// Cost of idle healthy clusters: `node test/bench/clusters-idle.ts [CLUSTERS] [SECONDS] [SECONDS BEFORE]`. Runs a real hub, stub targets
// and Purser as separate processes, and measures Purser. Prints JSON.

import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import { Clusters, Secrets } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { createInformer } from '../../src/kube/informer.ts';
import { systemClock as clock } from '../../src/std/clock.ts';
import { startRealCluster } from '../support/real-cluster.ts';
import { startChild } from './child-process.ts';
import { adminOf, base64, NAMESPACE, seedHub } from './hub.ts';
import { measureUsage, round } from './process-usage.ts';
import { type Purser, startPurser } from './purser-process.ts';

const READY_MS = 300_000;

interface Fleet {
  readonly urls: readonly string[];
  readonly ca: string;
}

interface Extent {
  readonly clusters: number;
  readonly seconds: number;
  /** Time between the readiness of all clusters and the measurement, in seconds. */
  readonly before: number;
}

async function bench({ clusters, ...extent }: Extent): Promise<object> {
  const hub = await startRealCluster();
  const client = await adminOf(hub);
  try {
    const targets = await startChild<Fleet>('test/support/stub-targets-process.ts', [String(clusters)]);
    await seedHub(client);
    const { urls, ca } = targets.message;
    for (const [index, url] of urls.entries()) await register(client, `cluster-${index}`, url, ca);
    const purser = await startPurser(await hub.kubeconfig('admin'));
    const figures = await measure(client, purser, { clusters, ...extent });
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

async function measure(client: KubeClient, purser: Purser, { clusters, seconds, before }: Extent) {
  const informer = createInformer({ client, resource: Clusters, clock, random: Math.random });
  const writes: number[] = [];
  const watching = informer.changes$.subscribe(({ type }) => type === 'updated' && writes.push(performance.now()));
  const secrets = createInformer({ client, resource: Secrets, selection: { namespace: NAMESPACE }, clock, random: Math.random });
  const renewals: number[] = [];
  watching.add(
    secrets.changes$.subscribe(({ type, key }) => type === 'updated' && key.endsWith('-renewed') && renewals.push(performance.now())),
  );
  const startedAt = performance.now();
  const notReady = () =>
    informer.store.list().flatMap(({ status }) => (status?.conditions?.[0]?.status === 'True' ? [] : [firstMessage(status)]));
  while (informer.store.size < clusters || notReady().length > 0) {
    await purser.assertRunning();
    if (performance.now() - startedAt > READY_MS)
      throw new Error(`${notReady().length} clusters are not Ready: ${[...new Set(notReady())].slice(0, 5).join(' ')}`);
    await delay(100);
  }
  const readySeconds = round((performance.now() - startedAt) / 1_000);
  await delay(before * 1_000);
  const usage = await measureUsage(purser.pid);
  const restsFrom = performance.now();
  await delay(seconds * 1_000);
  const used = await usage();
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
  return { clusters, seconds, readySeconds, ...figures, notReadyAtEnd: notReady().length };
}

function firstMessage(status: Cluster['status']): string {
  return status?.conditions?.[0]?.message ?? 'no condition.';
}

function maxWithin(instants: readonly number[], windowMs: number): number {
  return Math.max(0, ...instants.map((start) => instants.filter((at) => at >= start && at < start + windowMs).length));
}

// Within a minute and a half, the garbage collector frees the memory of the first probes.
const [clusters = '1000', seconds = '300', before = String(Math.min(Number(seconds), 90))] = process.argv.slice(2);
console.log(JSON.stringify(await bench({ clusters: Number(clusters), seconds: Number(seconds), before: Number(before) }), null, 2));
process.exit();
