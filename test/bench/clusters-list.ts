// What the cluster list costs beside kube-apiserver's own: `node test/bench/clusters-list.ts [CLUSTERS] [WATCHERS]`.
// A real kube-apiserver, Purser and a bare server are processes of their own; each is counted by the kernel. Prints JSON.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { Agent, get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import { ClusterRoleBindings, ClusterRoles, Clusters, Namespaces } from '../../src/api/resources.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { loadKubeConfig } from '../../src/kube/kube-config.ts';
import { applyAll, readManifests } from '../../src/kube/manifests.ts';
import { untilServed } from '../../src/kube/served.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock as clock } from '../../src/std/clock.ts';
import { startRealCluster } from '../support/real-cluster.ts';
import { inParallel } from './in-parallel.ts';
import { cpuSeconds, measureUsage, rounded } from './process-usage.ts';
import { nodeOptions } from './purser-process.ts';

const HUB_PATH = '/apis/registry.purser.dev/v1alpha1/clusters';
const FACADE_PATH = '/auth/v1/clusters';
const VISIBLE = 100;
/** So many that what the kernel counts in, ten milliseconds, does not matter. */
const LISTED = 200_000;
const MIN_LISTS = 20;
const SMALL_LISTS = 300;
const SINGLE_EVENTS = 100;
const BURST_EVENTS = 500;
const PATIENCE_MS = 300_000;
const ADMIN = 'admintoken';
const ALICE = 'alicetoken';

interface Server {
  readonly url: string;
  readonly path: string;
  readonly pid: number;
}

async function bench(clusters: number, watchers: number): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'purser-bench-'));
  const hub = await startRealCluster();
  const children: ChildProcess[] = [];
  try {
    const kubeconfig = await hub.kubeconfig('admin');
    const client = new KubeClient(createTransport(await loadKubeConfig(kubeconfig), { clock }), 'bench');
    await furnish(client, clusters);
    const apiServer = { url: hub.url, path: HUB_PATH, pid: await pidOf(`--secure-port=${hub.port}`) };
    const facade = await startPurser(children, kubeconfig, folder);
    const size = (await read(apiServer, ADMIN)).bytes;
    const floor = await startFloor(children, (await read(facade, ADMIN)).bytes);
    const lists = await compareLists(apiServer, facade, floor, Math.max(MIN_LISTS, Math.ceil(LISTED / clusters)));
    console.error(JSON.stringify(lists));
    const watches = await compareWatches(client, { apiServer, facade, watchers });
    const memory = await (await measureUsage(facade.pid))();
    await client.transport.close();
    return { clusters, watchers, bytes: { hub: size, facade: (await read(facade, ADMIN)).bytes }, lists, watches, memory };
  } finally {
    for (const child of children) await ended(child);
    await hub.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function furnish(client: KubeClient, clusters: number): Promise<void> {
  await applyAll(client, await readManifests('crds'));
  await client.create(Namespaces, { metadata: { name: 'purser-system' } });
  await untilServed(client, [Clusters], { clock, random: Math.random, signal: AbortSignal.timeout(20_000) });
  const names = Array.from({ length: clusters }, (_, index) => nameOf(index));
  await inParallel(names, async (name, index) => void (await client.create(Clusters, clusterOf(name, index))));
  const rules = [{ apiGroups: ['registry.purser.dev'], resources: ['clusters'], verbs: ['get'], resourceNames: names.slice(0, VISIBLE) }];
  await client.create(ClusterRoles, { metadata: { name: 'bench' }, rules });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'bench' };
  await client.create(ClusterRoleBindings, { metadata: { name: 'bench' }, roleRef, subjects: [{ kind: 'User', name: 'alice' }] });
}

function nameOf(index: number): string {
  return `cluster-${String(index).padStart(5, '0')}`;
}

/** About 2.5 kB as the hub shows it. */
function clusterOf(name: string, index: number): Cluster {
  const labels = { env: index % 2 === 0 ? 'prod' : 'dev', region: `region-${index % 10}`, ...(index < VISIBLE && { slice: 'small' }) };
  const certificate = `-----BEGIN CERTIFICATE-----\n${'TUlJQ2R6Q0NBZCtnQXdJQkFnSVVk'.repeat(36)}\n-----END CERTIFICATE-----\n`;
  const serverEndpoints = ['10.0.0.0/8', '0.0.0.0/0'].map((clientCIDR) => ({
    clientCIDR,
    serverAddress: `https://${name}.example.com:6443`,
  }));
  return {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name, labels },
    spec: { orchestratorApiEndpoints: { caBundle: Buffer.from(certificate).toString('base64'), serverEndpoints } },
  };
}

async function startPurser(children: ChildProcess[], kubeconfig: string, folder: string): Promise<Server> {
  const readyFile = join(folder, 'ready.json');
  // What the controllers do beside it is not the subject.
  const options = ['--components', 'facade', '--facade-port', '0', '--metrics-port', '0', '--facade-rate', '0', '--ready-file', readyFile];
  const env = { ...process.env, KUBECONFIG: kubeconfig, PURSER_LOG_LEVEL: 'error' };
  const child = fork('src/main.ts', options, { env, execArgv: [...(await nodeOptions())] });
  children.push(child);
  for (;;) {
    const ready = await readFile(readyFile, 'utf8').catch(() => '');
    if (ready !== '') return { url: (JSON.parse(ready) as { facade: string }).facade, path: FACADE_PATH, pid: child.pid as number };
    if (child.exitCode !== null) throw new Error(`Purser ended with ${child.exitCode}`);
    await delay(100);
  }
}

async function startFloor(children: ChildProcess[], bytes: number): Promise<Server> {
  const child = fork('test/support/ready-made-process.ts', [String(bytes)]);
  children.push(child);
  const [{ url }] = (await once(child, 'message')) as [{ readonly url: string }];
  return { url, path: '/', pid: child.pid as number };
}

async function pidOf(argument: string): Promise<number> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (line.split('\0').includes(argument)) return Number(pid);
  }
  throw new Error(`no process with ${argument}`);
}

async function compareLists(apiServer: Server, facade: Server, floor: Server, fullLists: number): Promise<object> {
  const full = {
    facade: await cpuPerList(facade, { token: ADMIN, lists: fullLists }),
    floor: await cpuPerList(floor, { token: ADMIN, lists: fullLists }),
    hub: await cpuPerList(apiServer, { token: ADMIN, lists: Math.ceil(fullLists / 4) }),
  };
  console.error(JSON.stringify(full));
  const small = {
    hubBySelector: await cpuPerList(apiServer, { token: ADMIN, lists: SMALL_LISTS, query: '?labelSelector=slice%3Dsmall' }),
    facadeByRights: await cpuPerList(facade, { token: ALICE, lists: SMALL_LISTS }),
    facadeBySelector: await cpuPerList(facade, { token: ADMIN, lists: SMALL_LISTS, query: '?labelSelector=slice%3Dsmall' }),
  };
  return {
    fullMs: full,
    fullToHub: rounded(full.hub / full.facade),
    fullToFloor: rounded(full.facade / full.floor),
    smallMs: small,
    smallToHub: rounded(small.hubBySelector / small.facadeByRights),
  };
}

interface Lists {
  readonly token: string;
  readonly lists: number;
  readonly query?: string;
}

/** Milliseconds of CPU for one list, one after the other on one connection. */
async function cpuPerList(server: Server, { token, lists, query = '' }: Lists): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  // A program that runs for days has long been compiled.
  for (let count = 0; count < lists; count++) await read({ ...server, path: server.path + query }, token, agent);
  const before = await cpuSeconds(server.pid);
  for (let count = 0; count < lists; count++) await read({ ...server, path: server.path + query }, token, agent);
  const used = (await cpuSeconds(server.pid)) - before;
  agent.destroy();
  return rounded((used * 1_000) / lists);
}

/** Reads an answer whole. A busy hub may not answer the façade at first. */
async function read(server: Server, token: string, agent = new Agent({ rejectUnauthorized: false })): Promise<{ bytes: number }> {
  for (;;) {
    const { status, bytes } = await readOnce(server, token, agent);
    if (status === 200) return { bytes };
    if (status !== 503) throw new Error(`${server.path} answered ${status}`);
    await delay(1_000);
  }
}

async function readOnce({ url, path }: Server, token: string, agent: Agent): Promise<{ status: number; bytes: number }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; bytes: number }>();
  get(url + path, { agent, headers: { authorization: `Bearer ${token}`, accept: 'application/json' } }, (answer) => {
    let bytes = 0;
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    answer.on('end', () => resolve({ status: answer.statusCode ?? 0, bytes }));
  }).on('error', reject);
  return promise;
}

interface Watches {
  readonly apiServer: Server;
  readonly facade: Server;
  readonly watchers: number;
}

async function compareWatches(client: KubeClient, { apiServer, facade, watchers }: Watches): Promise<object> {
  const hub = await cpuPerDelivery(client, apiServer, watchers);
  const own = await cpuPerDelivery(client, facade, watchers);
  return {
    microseconds: { hub: hub.microseconds, facade: own.microseconds },
    singleToHub: rounded(own.microseconds.single / hub.microseconds.single),
    burstToHub: rounded(own.microseconds.burst / hub.microseconds.burst),
    withWatchers: own.usage,
    rightsMs: await rightsLatency(client, facade),
  };
}

async function cpuPerDelivery(client: KubeClient, server: Server, watchers: number) {
  const crowd = new Crowd();
  const from = (await client.list(Clusters, { limit: 1 })).resourceVersion;
  await crowd.open(server, { watchers, token: ADMIN, resourceVersion: from });
  // What it takes to connect is not what it takes to deliver.
  await delay(2_000);
  const usage = await measureUsage(server.pid);
  const single = await measured(server, SINGLE_EVENTS * watchers, async () => {
    for (let count = 1; count <= SINGLE_EVENTS; count++) {
      await touch(client, count);
      await crowd.received(count * watchers);
    }
  });
  const burst = await measured(server, BURST_EVENTS * watchers, async () => {
    await inParallel(Array.from({ length: BURST_EVENTS }), (_, index) => touch(client, SINGLE_EVENTS + index + 1));
    await crowd.received((SINGLE_EVENTS + BURST_EVENTS) * watchers);
  });
  const used = await usage();
  crowd.close();
  return { microseconds: { single, burst }, usage: used };
}

/** Microseconds of CPU for one delivery. */
async function measured(server: Server, deliveries: number, act: () => Promise<void>): Promise<number> {
  const before = await cpuSeconds(server.pid);
  await act();
  return rounded((((await cpuSeconds(server.pid)) - before) * 1_000_000) / deliveries);
}

async function touch(client: KubeClient, count: number): Promise<void> {
  await client.patch(
    Clusters,
    { name: nameOf(count) },
    { metadata: { labels: { touched: `${count}-${performance.now().toFixed(0)}` } } },
    { timeoutMs: PATIENCE_MS },
  );
}

/** How long a right that is given takes to show in a watch. */
async function rightsLatency(client: KubeClient, facade: Server): Promise<number> {
  const crowd = new Crowd();
  await crowd.open(facade, { watchers: 1, token: ALICE });
  await crowd.received(VISIBLE);
  const rule = { apiGroups: ['registry.purser.dev'], resources: ['clusters'], verbs: ['get'], resourceNames: [nameOf(VISIBLE + 1)] };
  const startedAt = performance.now();
  await client.patch(ClusterRoles, { name: 'bench' }, [{ op: 'add', path: '/rules/-', value: rule }]);
  await crowd.received(VISIBLE + 1);
  crowd.close();
  return rounded(performance.now() - startedAt);
}

/** Readers of watches, who count lines. */
class Crowd {
  readonly #agent = new Agent({ keepAlive: false, rejectUnauthorized: false });
  #lines = 0;
  #look = () => {};

  async open({ url, path }: Server, { watchers, token, resourceVersion }: { watchers: number; token: string; resourceVersion?: string }) {
    const from = resourceVersion === undefined ? '' : `&resourceVersion=${resourceVersion}`;
    await inParallel(Array.from({ length: watchers }), async () => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const headers = { authorization: `Bearer ${token}` };
      get(`${url}${path}?watch=true&timeoutSeconds=3000${from}`, { agent: this.#agent, headers }, (answer) => {
        answer.on('data', (chunk: Buffer) => this.#count(chunk));
        answer.on('error', () => {});
        if (answer.statusCode === 200) resolve();
        else reject(new Error(`a watch was answered with ${answer.statusCode}`));
      }).on('error', reject);
      await promise;
    });
  }

  async received(lines: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#look = () => this.#lines >= lines && resolve();
    this.#look();
    await Promise.race([promise, delay(PATIENCE_MS).then(() => Promise.reject(new Error(`${this.#lines} of ${lines} events came`)))]);
  }

  close(): void {
    this.#agent.destroy();
  }

  #count(chunk: Buffer): void {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) this.#lines += 1;
    this.#look();
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = once(child, 'exit');
  child.kill();
  await exit;
}

const [clusters = '10000', watchers = '1000'] = process.argv.slice(2);
console.log(JSON.stringify(await bench(Number(clusters), Number(watchers)), null, 2));
process.exit();
