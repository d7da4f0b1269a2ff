// Cost of the façade: tokens directly from a real kube-apiserver, through Purser, through a bare proxy, and through a proxy in Go, in
// turns, first over HTTP/2 and then over HTTP/1.1: `node test/bench/tokens.ts [CALLERS] [SECONDS] [ROUNDS]`. With HTTP/2 all callers share
// one connection, as in client-go. Prints figures as JSON.

import { writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { buildConnector, Pool } from 'undici';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { reverseProxyBinary } from '../support/kube-binaries.ts';
import type { RealCluster } from '../support/real-cluster.ts';
import { type ChildProcess, startBinary, startChild } from './child-process.ts';
import { cpuSeconds, pidOf, round } from './process-usage.ts';
import { startPurser } from './purser-process.ts';
import { startTokenWorld } from './token-world.ts';

/** Number of tokens of each protocol after which hot code is compiled; before, a token costs twice as much CPU time. */
const WARM_TOKENS = { go: 1_000, node: 10_000 };
/** Time for which connections stay open during the rounds of other servers, in milliseconds. */
const KEEP_ALIVE_MS = 600_000;
const ACCOUNT_PATH = '/api/v1/namespaces/deploy/serviceaccounts/deployer/token';
const BODY = JSON.stringify({ kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', spec: { audiences: ['bench'] } });
const HEADERS = { authorization: 'Bearer admintoken', 'content-type': 'application/json' };

/** Protocol by its name in ALPN. */
type Protocol = 'h2' | 'http/1.1';

interface Load {
  /** Number of requests in progress, each on its own connection with HTTP/1.1. */
  readonly callers: number;
  readonly seconds: number;
}

/** Server that issues tokens. */
interface TokenServer {
  readonly url: string;
  readonly path: string;
  /** Process whose CPU time is measured. */
  readonly pid: number;
  readonly warmTokens: number;
}

/** Connections to a server that use one protocol. */
interface Connections {
  readonly pool: Pool;
  /** Number of connections so far. */
  count: number;
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
  const kubePid = await pidOf(`--secure-port=${world.target.port}`);
  const servers: Readonly<Record<ServerName, TokenServer>> = {
    direct: { url: world.target.url, path: ACCOUNT_PATH, pid: kubePid, warmTokens: WARM_TOKENS.go },
    facade: { url: facade, path: `/orchestrator/target${ACCOUNT_PATH}`, pid: purser.pid, warmTokens: WARM_TOKENS.node },
    bareProxy: { url: proxy.message, path: ACCOUNT_PATH, pid: proxy.pid, warmTokens: WARM_TOKENS.node },
    goProxy: { url: goProxy.message, path: ACCOUNT_PATH, pid: goProxy.pid, warmTokens: WARM_TOKENS.go },
  };
  try {
    const [http2, http1] = [await measure(servers, 'h2', load, rounds), await measure(servers, 'http/1.1', load, rounds)];
    // Other processes on the machine raise the cost of every token, because they share its caches.
    return { ...load, loadAverage: loadavg().map(round), http2, http1 };
  } finally {
    await proxy.stop();
    await goProxy.stop();
    await purser.stop();
    await world.stop();
  }
}

type ServerName = 'direct' | 'facade' | 'bareProxy' | 'goProxy';

async function measure(
  servers: Readonly<Record<ServerName, TokenServer>>,
  protocol: Protocol,
  load: Load,
  rounds: number,
): Promise<object> {
  const named = (Object.keys(servers) as ServerName[]).map((name) => {
    const server = servers[name];
    return { name, server, connections: connect(server.url, protocol, load.callers), results: [] as Round[] };
  });
  try {
    for (const { server, connections } of named) await warmUp(server, connections, load);
    for (let n = 0; n < rounds; n++)
      for (const { server, connections, results } of named) results.push(await runRound(server, connections, load));
    const medians = Object.fromEntries(named.map(({ name, results }) => [name, median(results)])) as Record<ServerName, Round>;
    return { connections: Object.fromEntries(named.map(({ name, connections }) => [name, connections.count])), ...figures(medians) };
  } finally {
    await Promise.all(named.map(({ connections }) => connections.pool.close()));
  }
}

/** Returns connections to a server, which fail unless the server selects the protocol. */
function connect(url: string, protocol: Protocol, callers: number): Connections {
  const allowH2 = protocol === 'h2';
  const dial = buildConnector({ rejectUnauthorized: false, allowH2 });
  const pool = new Pool(url, {
    connections: callers,
    allowH2,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connect: (options, callback) =>
      dial(options, (error, socket) => {
        if (error !== null) return callback(error, null);
        const { alpnProtocol } = socket as TLSSocket;
        if (alpnProtocol !== protocol) return callback(new Error(`${url} selected ${alpnProtocol} instead of ${protocol}`), null);
        connections.count += 1;
        callback(null, socket);
      }),
  });
  const connections = { pool, count: 0 };
  return connections;
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

async function warmUp(server: TokenServer, connections: Connections, load: Load): Promise<void> {
  for (let tokens = 0; tokens < server.warmTokens; ) tokens += (await runRound(server, connections, load)).tokens;
}

async function runRound({ path, pid }: TokenServer, { pool }: Connections, { callers, seconds }: Load): Promise<Round> {
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
  await Promise.all(Array.from({ length: callers }, caller));
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

function figures({ direct, facade, bareProxy, goProxy }: Readonly<Record<ServerName, Round>>): object {
  const toFigures = ({ tokensPerSecond, cpuMs }: Round) => ({ tokensPerSecond: round(tokensPerSecond), cpuMsPerToken: round(cpuMs) });
  const percentOf = (part: number, whole: number) => round((part / whole) * 100);
  return {
    direct: toFigures(direct),
    facade: toFigures(facade),
    bareProxy: toFigures(bareProxy),
    goProxy: toFigures(goProxy),
    cpuPercentOfKube: percentOf(facade.cpuMs, direct.cpuMs),
    bareProxyPercentOfKube: percentOf(bareProxy.cpuMs, direct.cpuMs),
    cpuRatioToGoProxy: round(facade.cpuMs / goProxy.cpuMs),
    throughputPercentOfDirect: percentOf(facade.tokensPerSecond, direct.tokensPerSecond),
    throughputPercentOfBareProxy: percentOf(facade.tokensPerSecond, bareProxy.tokensPerSecond),
  };
}

const [callers = '16', seconds = '8', rounds = '3'] = process.argv.slice(2);
console.log(JSON.stringify(await bench({ callers: Number(callers), seconds: Number(seconds) }, Number(rounds)), null, 2));
process.exit();
