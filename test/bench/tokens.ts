// What the façade costs: tokens straight from a real kube-apiserver, and through Purser, in turns:
// `node test/bench/tokens.ts [CONNECTIONS] [SECONDS] [ROUNDS]`. Purser is a process of its own. Prints figures as JSON.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import { Clusters, Namespaces, Secrets, ServiceAccounts } from '../../src/api/resources.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { loadKubeConfig } from '../../src/kube/kube-config.ts';
import { applyAll, readManifests } from '../../src/kube/manifests.ts';
import { untilServed } from '../../src/kube/served.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock as clock } from '../../src/std/clock.ts';
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts';
import { cpuSeconds, rounded } from './process-usage.ts';

const NAMESPACE = 'purser-system';
const READY_MS = 60_000;
/** Purser's code is compiled by how often it runs, not by how long: before about as many, a token costs twice as much. */
const WARM_TOKENS = { direct: 2_000, facade: 20_000 };
const ACCOUNT_PATH = '/api/v1/namespaces/deploy/serviceaccounts/deployer/token';
const BODY = JSON.stringify({ kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', spec: { audiences: ['bench'] } });
const HEADERS = { authorization: 'Bearer admintoken', 'content-type': 'application/json' };

interface Load {
  readonly connections: number;
  readonly seconds: number;
}

interface Round {
  readonly tokens: number;
  readonly tokensPerSecond: number;
  /** Milliseconds of processor time for each token. */
  readonly kubeMs: number;
  readonly purserMs: number;
}

interface Served {
  readonly facade: string;
  readonly child: ChildProcess;
}

async function bench(load: Load, rounds: number): Promise<object> {
  const cluster = await startRealCluster({ controllers: false });
  try {
    await furnish(cluster);
    const purser = await startPurser(cluster);
    const pids = { kube: pidOf(`--secure-port=${cluster.port}`), purser: purser.child.pid as number };
    const direct = new Pool(cluster.url, { connections: load.connections, connect: { ca: cluster.ca } });
    const facade = new Pool(purser.facade, { connections: load.connections, connect: { rejectUnauthorized: false } });
    const ways = [
      { pool: direct, path: ACCOUNT_PATH, warmTokens: WARM_TOKENS.direct },
      { pool: facade, path: `/orchestrator/target${ACCOUNT_PATH}`, warmTokens: WARM_TOKENS.facade },
    ];
    for (const way of ways) await warmUp(way, load, pids);
    const played: Round[][] = [[], []];
    for (let round = 0; round < rounds; round++)
      for (const [index, way] of ways.entries()) played[index]?.push(await play(way, load, pids));
    await Promise.all([direct.close(), facade.close()]);
    await end(purser.child);
    return figures(load, median(played[0] ?? []), median(played[1] ?? []));
  } finally {
    await cluster.stop();
  }
}

async function furnish(cluster: RealCluster): Promise<void> {
  const client = new KubeClient(createTransport(await loadKubeConfig(await cluster.kubeconfig('admin')), { clock }), 'bench');
  await applyAll(client, await readManifests('crds'));
  for (const name of [NAMESPACE, 'deploy']) await client.create(Namespaces, { metadata: { name } });
  await client.create(ServiceAccounts, { metadata: { namespace: 'deploy', name: 'deployer' } });
  await untilServed(client, [Clusters], { clock, random: Math.random, signal: AbortSignal.timeout(20_000) });
  const data = { token: base64('admintoken'), server: base64(cluster.url) };
  await client.create(Secrets, { metadata: { namespace: NAMESPACE, name: 'target' }, type: 'Opaque', data });
  const target: Cluster = {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'target' },
    spec: {
      orchestratorApiEndpoints: {
        caBundle: base64(cluster.ca),
        serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: cluster.url }],
      },
      authInfo: { controller: { kind: 'Secret', namespace: NAMESPACE, name: 'target' } },
    },
  };
  await client.create(Clusters, target);
  await client.transport.close();
}

/** As `npm start` does, with further options of Node, such as `--cpu-prof`, if there are any. */
async function startPurser(cluster: RealCluster): Promise<Served> {
  const more = process.env['PURSER_NODE_OPTIONS']?.split(' ') ?? [];
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as { readonly scripts: { readonly start: string } };
  const readyFile = join(cluster.folder, 'ready.json');
  const env = { ...process.env, KUBECONFIG: await cluster.kubeconfig('admin') };
  const options = ['run', '--allow-loopback', '--facade-port', '0', '--metrics-port', '0', '--facade-rate', '0', '--ready-file', readyFile];
  const child = fork('src/start.mjs', options, {
    env,
    execArgv: [...(scripts.start.match(/--\S+/g) ?? []), ...more],
    // The audit log is part of the work, and goes where logs go.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const giveUpAt = performance.now() + READY_MS;
  while (performance.now() < giveUpAt && child.exitCode === null) {
    const ready = await readFile(readyFile, 'utf8').catch(() => '');
    if (ready !== '') return { child, facade: (JSON.parse(ready) as { readonly facade: string }).facade };
    await delay(100);
  }
  throw new Error(`Purser does not get ready (${child.exitCode})`);
}

interface Way {
  readonly pool: Pool;
  readonly path: string;
  readonly warmTokens: number;
}

interface Pids {
  readonly kube: number;
  readonly purser: number;
}

async function warmUp(way: Way, load: Load, pids: Pids): Promise<void> {
  for (let tokens = 0; tokens < way.warmTokens; ) tokens += (await play(way, load, pids)).tokens;
}

async function play({ pool, path }: Way, { connections, seconds }: Load, pids: Pids): Promise<Round> {
  const before = { kube: await cpuSeconds(pids.kube), purser: await cpuSeconds(pids.purser) };
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;
  let tokens = 0;
  const caller = async () => {
    while (performance.now() < endsAt) {
      const { statusCode, body } = await pool.request({ method: 'POST', path, headers: HEADERS, body: BODY });
      const text = await body.text();
      if (statusCode !== 201) throw new Error(`${path} answered ${statusCode}: ${text}`);
      tokens += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, caller));
  const tookSeconds = (performance.now() - startedAt) / 1_000;
  const perToken = (spent: number) => (spent * 1_000) / tokens;
  return {
    tokens,
    tokensPerSecond: tokens / tookSeconds,
    kubeMs: perToken((await cpuSeconds(pids.kube)) - before.kube),
    purserMs: perToken((await cpuSeconds(pids.purser)) - before.purser),
  };
}

function median(rounds: readonly Round[]): Round {
  const middle = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
  return {
    tokens: middle(rounds.map(({ tokens }) => tokens)),
    tokensPerSecond: middle(rounds.map(({ tokensPerSecond }) => tokensPerSecond)),
    kubeMs: middle(rounds.map(({ kubeMs }) => kubeMs)),
    purserMs: middle(rounds.map(({ purserMs }) => purserMs)),
  };
}

function figures(load: Load, direct: Round, facade: Round): object {
  return {
    ...load,
    // Others on the machine make every token dearer: caches are shared.
    loadAverage: loadavg().map(rounded),
    direct: { tokensPerSecond: rounded(direct.tokensPerSecond), kubeMsPerToken: rounded(direct.kubeMs) },
    facade: {
      tokensPerSecond: rounded(facade.tokensPerSecond),
      kubeMsPerToken: rounded(facade.kubeMs),
      purserMsPerToken: rounded(facade.purserMs),
    },
    cpuPercentOfKube: rounded((facade.purserMs / direct.kubeMs) * 100),
    throughputPercentOfDirect: rounded((facade.tokensPerSecond / direct.tokensPerSecond) * 100),
  };
}

/** The process that was started with this option. */
function pidOf(option: string): number {
  const pid = readdirSync('/proc').find((entry) => /^\d+$/.test(entry) && argumentsOf(entry).includes(option));
  if (pid === undefined) throw new Error(`no process with ${option}`);
  return Number(pid);
}

function argumentsOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill();
  await ended;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

const [connections = '16', seconds = '8', rounds = '3'] = process.argv.slice(2);
console.log(JSON.stringify(await bench({ connections: Number(connections), seconds: Number(seconds) }, Number(rounds)), null, 2));
process.exit();
