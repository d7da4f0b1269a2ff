// Cost of the façade: tokens directly from a real kube-apiserver, through Purser, through a bare proxy, and through a proxy in Go, in
// turns: `node test/bench/tokens.ts [CONNECTIONS] [SECONDS] [ROUNDS]`. Prints figures as JSON.

import { writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { reverseProxyBinary } from '../support/kube-binaries.ts';
import type { RealCluster } from '../support/real-cluster.ts';
import { type ChildProcess, startBinary, startChild } from './child-process.ts';
import { cpuSeconds, pidOf, round } from './process-usage.ts';
import { startPurser } from './purser-process.ts';
import { startTokenWorld } from './token-world.ts';

/** Number of tokens after which hot code is compiled; before, a token costs twice as much CPU time. */
const WARM_TOKENS = { go: 2_000, node: 20_000 };
const ACCOUNT_PATH = '/api/v1/namespaces/deploy/serviceaccounts/deployer/token';
const BODY = JSON.stringify({ kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', spec: { audiences: ['bench'] } });
const HEADERS = { authorization: 'Bearer admintoken', 'content-type': 'application/json' };

interface Load {
  readonly connections: number;
  readonly seconds: number;
}

/** Server that issues tokens. */
interface TokenServer {
  readonly pool: Pool;
  readonly path: string;
  /** Process whose CPU time is measured. */
  readonly pid: number;
  readonly warmTokens: number;
}

interface Round {
  readonly tokens: number;
  readonly tokensPerSecond: number;
  /** CPU time per token, in milliseconds. */
  readonly cpuMs: number;
}

async function bench(load: Load, rounds: number): Promise<object> {
  // Without audit logs, which would raise the cost of kube-apiserver and so favor the façade.
  const world = await startTokenWorld({ audit: false });
  const purser = await startPurser(world.kubeconfig);
  const proxy = await startProxy(world.target);
  const goProxy = await startGoProxy(world.target);
  const { facade = '' } = await purser.ready;
  const { connections } = load;
  const untrusted = { connections, connect: { rejectUnauthorized: false } };
  const pool = new Pool(world.target.url, { connections, connect: { ca: world.target.ca } });
  const kube = { pool, path: ACCOUNT_PATH, pid: await pidOf(`--secure-port=${world.target.port}`), warmTokens: WARM_TOKENS.go };
  const orchestrator = `/orchestrator/target${ACCOUNT_PATH}`;
  const servers: readonly TokenServer[] = [
    kube,
    { pool: new Pool(facade, untrusted), path: orchestrator, pid: purser.pid, warmTokens: WARM_TOKENS.node },
    { pool: new Pool(proxy.message, untrusted), path: ACCOUNT_PATH, pid: proxy.pid, warmTokens: WARM_TOKENS.node },
    { pool: new Pool(goProxy.message, untrusted), path: ACCOUNT_PATH, pid: goProxy.pid, warmTokens: WARM_TOKENS.go },
  ];
  try {
    for (const server of servers) await warmUp(server, load);
    const results: Round[][] = servers.map(() => []);
    for (let n = 0; n < rounds; n++) for (const [index, server] of servers.entries()) results[index]?.push(await runRound(server, load));
    const [direct, through, floor, go] = results.map(median) as [Round, Round, Round, Round];
    return figures(load, { direct, through, floor, go });
  } finally {
    await Promise.all(servers.map((server) => server.pool.close()));
    await proxy.stop();
    await goProxy.stop();
    await purser.stop();
    await world.stop();
  }
}

/** Starts the bare proxy; its message is its URL. */
async function startProxy(target: RealCluster): Promise<ChildProcess<string>> {
  const caPath = join(target.folder, 'proxy-ca.crt');
  await writeFile(caPath, target.ca);
  return await startChild(join(import.meta.dirname, 'bare-proxy-process.ts'), [target.url, caPath]);
}

/** Starts the reverse proxy in Go; its message is its URL. */
async function startGoProxy(target: RealCluster): Promise<ChildProcess<string>> {
  const path = reverseProxyBinary();
  if (path === undefined) throw new Error('The reverse proxy in Go was not found. Run `npm run kube:build`.');
  const { certificate, key } = issueServerCertificate(createAuthority(Date.now()), LOOPBACK_NAMES, Date.now());
  const files = { 'go-proxy-ca.crt': target.ca, 'go-proxy.crt': certificate, 'go-proxy.key': key };
  const paths = Object.keys(files).map((name) => join(target.folder, name));
  for (const [index, text] of Object.values(files).entries()) await writeFile(paths[index] as string, text, { mode: 0o600 });
  return await startBinary(path, [target.url, ...paths]);
}

async function warmUp(server: TokenServer, load: Load): Promise<void> {
  for (let tokens = 0; tokens < server.warmTokens; ) tokens += (await runRound(server, load)).tokens;
}

async function runRound({ pool, path, pid }: TokenServer, { connections, seconds }: Load): Promise<Round> {
  const before = await cpuSeconds(pid);
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;
  let tokens = 0;
  const caller = async () => {
    while (performance.now() < endsAt) {
      const { statusCode, body } = await pool.request({ method: 'POST', path, headers: HEADERS, body: BODY });
      const text = await body.text();
      if (statusCode !== 201) throw new Error(`${path} returned ${statusCode}: ${text}`);
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

function figures(load: Load, { direct, through, floor, go }: Readonly<Record<'direct' | 'through' | 'floor' | 'go', Round>>): object {
  const toFigures = ({ tokensPerSecond, cpuMs }: Round) => ({ tokensPerSecond: round(tokensPerSecond), cpuMsPerToken: round(cpuMs) });
  const percentOf = (part: number, whole: number) => round((part / whole) * 100);
  return {
    ...load,
    // Other processes on the machine raise the cost of every token, because they share its caches.
    loadAverage: loadavg().map(round),
    direct: toFigures(direct),
    facade: toFigures(through),
    bareProxy: toFigures(floor),
    goProxy: toFigures(go),
    cpuPercentOfKube: percentOf(through.cpuMs, direct.cpuMs),
    bareProxyPercentOfKube: percentOf(floor.cpuMs, direct.cpuMs),
    cpuRatioToGoProxy: round(through.cpuMs / go.cpuMs),
    throughputPercentOfDirect: percentOf(through.tokensPerSecond, direct.tokensPerSecond),
    throughputPercentOfBareProxy: percentOf(through.tokensPerSecond, floor.tokensPerSecond),
  };
}

const [connections = '16', seconds = '8', rounds = '3'] = process.argv.slice(2);
console.log(JSON.stringify(await bench({ connections: Number(connections), seconds: Number(seconds) }, Number(rounds)), null, 2));
process.exit();
