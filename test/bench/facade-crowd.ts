// Cost of many clients of the façade, and the waiting time of a new client: `node test/bench/facade-crowd.ts [CLUSTERS] [WATCHERS]`. Runs
// a real kube-apiserver and Purser as separate processes. Prints JSON. To measure the memory of the image, set LD_PRELOAD and
// MALLOC_CONF as in the Dockerfile.

import { connect as connectPlain, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:tls';
import { startChild } from './child-process.ts';
import { addressOf, Http2Watches, type Watch } from './http2-watches.ts';
import { inParallel } from './in-parallel.ts';
import { memoryOf, round } from './process-usage.ts';
import { nodeOptions } from './purser-process.ts';
import { type ListServer, type RegistryWorld, startRegistryWorld } from './registry-world.ts';

const CALLERS = 50;
const NEWCOMERS = 10;
/** Loopback address of new clients; attackers share the default address. */
const NEWCOMERS_ADDRESS = '127.0.0.2';
const PATIENCE_MS = 240_000;

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`);
const callers = new Map(
  ['crowd', 'watches', 'silent', 'tokens', 'lists', 'flood', 'rest']
    .flatMap((prefix) => names(prefix, prefix === 'crowd' ? CALLERS : NEWCOMERS))
    .map((name) => [`${name}-token`, { name, uid: name, groups: ['system:masters'] }]),
);

/** Connection that sends one request, and optionally does not read the response. */
class Client {
  readonly #socket: Socket;
  #first = '';
  bytes = 0;
  /** Resolves with the response status, or with 0 if the connection closes without one. */
  readonly status: Promise<number>;

  constructor({ url }: Pick<ListServer, 'url'>, request: { token: string; target: string; localAddress?: string; reads?: boolean }) {
    const { token, target, localAddress, reads = true } = request;
    const { promise, resolve } = Promise.withResolvers<number>();
    this.status = promise;
    const port = Number(new URL(url).port);
    this.#socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...(localAddress && { localAddress }) })
      .on('secureConnect', () => this.#socket.write(`GET ${target} HTTP/1.1\r\nHost: f\r\nAuthorization: Bearer ${token}\r\n\r\n`))
      .on('data', (chunk: Buffer) => {
        this.bytes += chunk.length;
        if (this.#first.length < 12) this.#first += chunk.toString('latin1', 0, 12);
        resolve(Number(this.#first.slice(9, 12)));
        if (!reads) this.#socket.pause();
      })
      .on('error', () => {})
      .on('close', () => resolve(0));
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** Measures the time until new clients with new tokens receive a page of the list. */
async function measureNewcomers(world: RegistryWorld, prefix: string): Promise<object> {
  const times: number[] = [];
  const codes: number[] = [];
  for (const name of names(prefix, NEWCOMERS)) {
    const startedAt = performance.now();
    const client = new Client(world.facade, {
      token: `${name}-token`,
      target: `${world.facade.path}?limit=1`,
      localAddress: NEWCOMERS_ADDRESS,
    });
    codes.push(await client.status);
    times.push(performance.now() - startedAt);
    client.close();
  }
  return { slowestMs: round(Math.max(...times)), served: codes.filter((code) => code === 200).length };
}

/** Returns functions that open watches over HTTP/1.1, each on its own connection, and that close all of them. */
function createHttp1Clients(world: RegistryWorld) {
  const clients: Client[] = [];
  return {
    open: (index: number, target: string): Watch => {
      const client = new Client(world.facade, { token: `crowd${index % CALLERS}-token`, target, localAddress: addressOf(index) });
      clients.push(client);
      return client;
    },
    close: () => {
      for (const client of clients) client.close();
    },
  };
}

/** Returns functions that open watches over HTTP/2, up to 100 on one connection, and that close all of them. */
function createHttp2Clients(world: RegistryWorld) {
  const watches = new Http2Watches(world.facade.url, CALLERS, (caller) => `crowd${caller}-token`);
  return { open: (index: number, target: string) => watches.open(index, target), close: () => watches.close() };
}

/** Opens watches of many callers; measures memory after all initial events were received, and after all watches were closed. */
async function measureWatches(world: RegistryWorld, watchers: number, { open, close }: ReturnType<typeof createHttp1Clients>) {
  const { rssMegabytes: restMegabytes } = await memoryOf(world.facade.pid);
  const clients: Watch[] = [];
  const codes = new Map<number, number>();
  await inParallel(Array.from({ length: watchers }), async (_, index) => {
    const client = open(index, `${world.facade.path}?watch=true&timeoutSeconds=3000`);
    clients.push(client);
    const code = await client.status;
    codes.set(code, (codes.get(code) ?? 0) + 1);
  });
  const newcomers = await measureNewcomers(world, 'watches');
  const isComplete = () => clients.every(({ bytes }) => bytes > (codes.size > 1 ? 0 : world.clusters * 1_000));
  for (let waited = 0; waited < PATIENCE_MS && !isComplete(); waited += 500) await delay(500);
  await delay(2_000);
  const memory = await memoryOf(world.facade.pid);
  close();
  await delay(20_000);
  const { rssMegabytes: afterMegabytes } = await memoryOf(world.facade.pid);
  const kilobytes = ((memory.rssMegabytes - restMegabytes) / watchers) * 1_000;
  return { watchers, codes: Object.fromEntries(codes), newcomers, ...memory, kilobytes, afterMegabytes };
}

/** Measures the memory of an open response from a bare HTTPS server, in kilobytes. */
async function measureBareStreams(connections: number): Promise<number> {
  const server = await startChild<string>(join(import.meta.dirname, 'bare-stream-process.ts'), [], await nodeOptions());
  const { rssMegabytes: restMegabytes } = await memoryOf(server.pid);
  const clients: Client[] = [];
  await inParallel(Array.from({ length: connections }), async () => {
    const client = new Client({ url: server.message }, { token: 'none', target: '/' });
    clients.push(client);
    await client.status;
  });
  await delay(2_000);
  const { rssMegabytes } = await memoryOf(server.pid);
  for (const client of clients) client.close();
  await server.stop();
  return ((rssMegabytes - restMegabytes) / connections) * 1_000;
}

/** Measures new clients while silent connections are open; reopens these connections as soon as they are closed. */
async function holdSilentConnections(world: RegistryWorld): Promise<object> {
  const port = Number(new URL(world.facade.url).port);
  const sockets = new Set<Socket>();
  let isOver = false;
  const open = () => {
    if (isOver) return;
    const socket = connectPlain(port, '127.0.0.1').on('error', () => {});
    sockets.add(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      setTimeout(open, 10);
    });
  };
  for (let count = 0; count < 4_000; count++) open();
  await delay(2_000);
  const newcomers = await measureNewcomers(world, 'silent');
  isOver = true;
  for (const socket of sockets) socket.destroy();
  return newcomers;
}

/** Measures new clients while `atOnce` other clients send requests continuously. */
async function flood(world: RegistryWorld, prefix: string, atOnce: number, token: () => string): Promise<object> {
  const over = new AbortController();
  const codes = new Map<number, number>();
  const work = Array.from({ length: atOnce }, async () => {
    while (!over.signal.aborted) {
      const client = new Client(world.facade, { token: token(), target: `${world.facade.path}?limit=1` });
      const code = await client.status;
      codes.set(code, (codes.get(code) ?? 0) + 1);
      client.close();
    }
  });
  await delay(2_000);
  const newcomers = await measureNewcomers(world, prefix);
  over.abort();
  await Promise.all(work);
  return { ...newcomers, codes: Object.fromEntries(codes) };
}

/** Measures a full list of a new client while other clients do not read the full lists that they requested. */
async function requestUnreadLists(world: RegistryWorld): Promise<object> {
  const clients = names('crowd', 4).flatMap((name) =>
    Array.from({ length: 32 }, () => new Client(world.facade, { token: `${name}-token`, target: world.facade.path, reads: false })),
  );
  await Promise.all(clients.map(({ status }) => status));
  const startedAt = performance.now();
  const full = new Client(world.facade, { token: 'lists0-token', target: world.facade.path, localAddress: NEWCOMERS_ADDRESS });
  const code = await full.status;
  const fullListMs = round(performance.now() - startedAt);
  for (const client of [full, ...clients]) client.close();
  return { slowestMs: fullListMs, served: code === 200 ? 1 : 0 };
}

async function bench(clusters: number, watchers: number): Promise<object> {
  const world = await startRegistryWorld(clusters, { callers, options: ['--facade-rate', '100'] });
  try {
    const { rssMegabytes: restMegabytes } = await memoryOf(world.facade.pid);
    const rest = await measureNewcomers(world, 'rest');
    // HTTP/2 comes first, because the kernel reports the maximum memory since the start of the process.
    const http2Watches = await measureWatches(world, watchers, createHttp2Clients(world));
    const watches = await measureWatches(world, watchers, createHttp1Clients(world));
    const bareKilobytes = await measureBareStreams(watchers);
    console.error(JSON.stringify({ restMegabytes, rest, http2Watches, watches, bareKilobytes }));
    const silent = await holdSilentConnections(world);
    let count = 0;
    const tokens = await flood(world, 'tokens', 64, () => `random-${(count += 1)}`);
    const lists = await requestUnreadLists(world);
    const oneCaller = await flood(world, 'flood', 64, () => 'crowd0-token');
    return { clusters, restMegabytes, rest, http2Watches, watches, bareKilobytes, silent, tokens, lists, oneCaller };
  } finally {
    await world.stop();
  }
}

const [clusters = '700', watchers = '10000'] = process.argv.slice(2);
console.log(JSON.stringify(await bench(Number(clusters), Number(watchers)), null, 2));
process.exit();
