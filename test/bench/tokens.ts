// Cost of the façade: tokens directly from a real kube-apiserver, through Purser, and through a bare proxy, in
// turns: `node test/bench/tokens.ts [CONNECTIONS] [SECONDS] [ROUNDS]`. Prints figures as JSON.

import { writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import type { RealCluster } from '../support/real-cluster.ts';
import { type Helper, startHelper } from './helper-process.ts';
import { cpuSeconds, pidOf, rounded } from './process-usage.ts';
import { startPurser } from './purser-process.ts';
import { startTokenWorld } from './token-world.ts';

/** Code is compiled by how often it runs, not by how long: before about as many, a token costs twice as much. */
const WARM_TOKENS = { go: 2_000, node: 20_000 };
const ACCOUNT_PATH = '/api/v1/namespaces/deploy/serviceaccounts/deployer/token';
const BODY = JSON.stringify({ kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', spec: { audiences: ['bench'] } });
const HEADERS = { authorization: 'Bearer admintoken', 'content-type': 'application/json' };

interface Load {
  readonly connections: number;
  readonly seconds: number;
}

/** A way to a token. */
interface Way {
  readonly pool: Pool;
  readonly path: string;
  /** Of the process whose processor time counts. */
  readonly pid: number;
  readonly warmTokens: number;
}

interface Round {
  readonly tokens: number;
  readonly tokensPerSecond: number;
  /** Milliseconds of processor time for each token. */
  readonly cpuMs: number;
}

async function bench(load: Load, rounds: number): Promise<object> {
  // Without audit logs: they would make kube-apiserver dearer, and the façade cheap beside it.
  const world = await startTokenWorld({ audit: false });
  const purser = await startPurser(world.kubeconfig);
  const proxy = await startProxy(world.target);
  const { facade = '' } = await purser.ready;
  const { connections } = load;
  const untrusted = { connections, connect: { rejectUnauthorized: false } };
  const pool = new Pool(world.target.url, { connections, connect: { ca: world.target.ca } });
  const kube = { pool, path: ACCOUNT_PATH, pid: await pidOf(`--secure-port=${world.target.port}`), warmTokens: WARM_TOKENS.go };
  const orchestrator = `/orchestrator/target${ACCOUNT_PATH}`;
  const ways: readonly Way[] = [
    kube,
    { pool: new Pool(facade, untrusted), path: orchestrator, pid: purser.pid, warmTokens: WARM_TOKENS.node },
    { pool: new Pool(proxy.said, untrusted), path: ACCOUNT_PATH, pid: proxy.pid, warmTokens: WARM_TOKENS.node },
  ];
  try {
    for (const way of ways) await warmUp(way, load);
    const played: Round[][] = ways.map(() => []);
    for (let round = 0; round < rounds; round++) for (const [index, way] of ways.entries()) played[index]?.push(await play(way, load));
    const [direct, through, floor] = played.map(median) as [Round, Round, Round];
    return figures(load, { direct, through, floor });
  } finally {
    await Promise.all(ways.map((way) => way.pool.close()));
    await proxy.stop();
    await purser.stop();
    await world.stop();
  }
}

/** Says where it listens. */
async function startProxy(target: RealCluster): Promise<Helper<string>> {
  const caPath = join(target.folder, 'proxy-ca.crt');
  await writeFile(caPath, target.ca);
  return await startHelper(join(import.meta.dirname, 'bare-proxy-process.ts'), [target.url, caPath]);
}

async function warmUp(way: Way, load: Load): Promise<void> {
  for (let tokens = 0; tokens < way.warmTokens; ) tokens += (await play(way, load)).tokens;
}

async function play({ pool, path, pid }: Way, { connections, seconds }: Load): Promise<Round> {
  const before = await cpuSeconds(pid);
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
  return { tokens, tokensPerSecond: tokens / tookSeconds, cpuMs: (((await cpuSeconds(pid)) - before) * 1_000) / tokens };
}

function median(rounds: readonly Round[]): Round {
  const middle = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
  return {
    tokens: middle(rounds.map(({ tokens }) => tokens)),
    tokensPerSecond: middle(rounds.map(({ tokensPerSecond }) => tokensPerSecond)),
    cpuMs: middle(rounds.map(({ cpuMs }) => cpuMs)),
  };
}

function figures(load: Load, { direct, through, floor }: Readonly<Record<'direct' | 'through' | 'floor', Round>>): object {
  const shown = ({ tokensPerSecond, cpuMs }: Round) => ({ tokensPerSecond: rounded(tokensPerSecond), cpuMsPerToken: rounded(cpuMs) });
  const percentOf = (part: number, whole: number) => rounded((part / whole) * 100);
  return {
    ...load,
    // Others on the machine make every token dearer: caches are shared.
    loadAverage: loadavg().map(rounded),
    direct: shown(direct),
    facade: shown(through),
    bareProxy: shown(floor),
    cpuPercentOfKube: percentOf(through.cpuMs, direct.cpuMs),
    bareProxyPercentOfKube: percentOf(floor.cpuMs, direct.cpuMs),
    throughputPercentOfDirect: percentOf(through.tokensPerSecond, direct.tokensPerSecond),
    throughputPercentOfBareProxy: percentOf(through.tokensPerSecond, floor.tokensPerSecond),
  };
}

const [connections = '16', seconds = '8', rounds = '3'] = process.argv.slice(2);
console.log(JSON.stringify(await bench({ connections: Number(connections), seconds: Number(seconds) }, Number(rounds)), null, 2));
process.exit();
