// What a fleet of healthy clusters costs while nothing happens: `node test/bench/clusters-idle.ts [CLUSTERS] [SECONDS]`.
// A real hub, targets that are always well, and Purser are processes of their own; what is counted is Purser's. Prints JSON.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import { Clusters, Namespaces, Secrets } from '../../src/api/resources.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { createInformer } from '../../src/kube/informer.ts';
import { loadKubeConfig } from '../../src/kube/kube-config.ts';
import { applyAll, readManifests } from '../../src/kube/manifests.ts';
import { untilServed } from '../../src/kube/served.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock as clock } from '../../src/std/clock.ts';
import { startRealCluster } from '../support/real-cluster.ts';
import { measureUsage, rounded } from './process-usage.ts';
import { nodeOptions } from './purser-process.ts';

const NAMESPACE = 'purser-system';
const READY_MS = 300_000;

interface Bench {
  readonly folder: string;
  readonly children: ChildProcess[];
}

interface Fleet {
  readonly urls: readonly string[];
  readonly ca: string;
}

async function bench(clusters: number, seconds: number): Promise<object> {
  const hub = await startRealCluster();
  const world: Bench = { folder: await mkdtemp(join(tmpdir(), 'purser-bench-')), children: [] };
  try {
    const fleet = await started<Fleet>(world, 'test/support/stub-targets-process.ts', [String(clusters)]);
    const path = await hub.kubeconfig('admin');
    const client = new KubeClient(createTransport(await loadKubeConfig(path), { clock }), 'bench');
    await furnish(client, fleet);
    const figures = await measure(client, await startPurser(world, path), { clusters, seconds });
    await client.transport.close();
    return figures;
  } finally {
    await end(world);
    await hub.stop();
  }
}

async function started<T>({ children }: Bench, program: string, args: readonly string[]): Promise<T> {
  const child = fork(program, args);
  children.push(child);
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`${program} ended`)));
  const [message] = (await Promise.race([once(child, 'message'), ended])) as [T];
  ended.catch(() => {});
  return message;
}

/** As `npm start` does. */
async function startPurser({ children }: Bench, kubeconfig: string): Promise<ChildProcess> {
  const env = { ...process.env, KUBECONFIG: kubeconfig, PURSER_LOG_LEVEL: 'error' };
  const options = ['run', '--allow-loopback', '--facade-port', '0', '--metrics-port', '0'];
  const child = fork('src/start.mjs', options, { env, execArgv: [...(await nodeOptions())] });
  children.push(child);
  return child;
}

async function end({ children, folder }: Bench): Promise<void> {
  // Purser first, which would miss the others.
  for (const child of children.toReversed().filter(({ exitCode }) => exitCode === null)) {
    const ended = once(child, 'exit');
    child.kill();
    await ended;
  }
  await rm(folder, { recursive: true, force: true });
}

async function furnish(client: KubeClient, { urls, ca }: Fleet): Promise<void> {
  await applyAll(client, await readManifests('crds'));
  await client.create(Namespaces, { metadata: { name: NAMESPACE } });
  await untilServed(client, [Clusters], { clock, random: Math.random, signal: AbortSignal.timeout(20_000) });
  for (const [index, url] of urls.entries()) await register(client, `cluster-${index}`, url, ca);
}

async function register(client: KubeClient, name: string, serverAddress: string, ca: string): Promise<void> {
  const data = { token: base64(`credential-of-${name}`), server: base64(serverAddress) };
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

async function measure(client: KubeClient, purser: ChildProcess, { clusters, seconds }: { clusters: number; seconds: number }) {
  const informer = createInformer({ client, resource: Clusters, clock, random: Math.random });
  const writes: number[] = [];
  const watching = informer.changes$.subscribe(({ type }) => type === 'updated' && writes.push(performance.now()));
  const startedAt = performance.now();
  const notReady = () =>
    informer.store.list().flatMap(({ status }) => (status?.conditions?.[0]?.status === 'True' ? [] : [saying(status)]));
  while (informer.store.size < clusters || notReady().length > 0) {
    if (purser.exitCode !== null) throw new Error(`Purser ended with ${purser.exitCode}`);
    if (performance.now() - startedAt > READY_MS)
      throw new Error(`${notReady().length} clusters do not get ready: ${[...new Set(notReady())].slice(0, 5).join(' ')}`);
    await delay(100);
  }
  const readySeconds = rounded((performance.now() - startedAt) / 1_000);
  // The memory that the first probes took becomes free meanwhile.
  await delay(Math.min(seconds, 90) * 1_000);
  const usage = await measureUsage(purser.pid as number);
  const restsFrom = performance.now();
  await delay(seconds * 1_000);
  const used = await usage();
  watching.unsubscribe();
  // No longer than it should be, whatever the timer and the readings took.
  const counted = writes.filter((at) => at > restsFrom && at <= restsFrom + seconds * 1_000);
  const figures = { statusWrites: counted.length, mostWritesInTenSeconds: mostWithin(counted, 10_000), ...used };
  return { clusters, seconds, readySeconds, ...figures, notReadyAtTheEnd: notReady().length };
}

function saying(status: Cluster['status']): string {
  return status?.conditions?.[0]?.message ?? 'nothing is known.';
}

function mostWithin(instants: readonly number[], windowMs: number): number {
  return Math.max(0, ...instants.map((start) => instants.filter((at) => at >= start && at < start + windowMs).length));
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

const [clusters = '1000', seconds = '300'] = process.argv.slice(2);
console.log(JSON.stringify(await bench(Number(clusters), Number(seconds)), null, 2));
process.exit();
