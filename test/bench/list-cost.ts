// What a list of clusters costs who serves it.

import { Agent, get } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { cpuSeconds, rounded } from './process-usage.ts';
import { ADMIN, ALICE, ALICES, type RegistryWorld, type Served } from './registry-world.ts';

/** So many clusters in all lists that what the kernel counts in, ten milliseconds, does not matter. */
const LISTED = 200_000;
const MIN_LISTS = 20;
const SMALL_LISTS = 300;
/** kube-apiserver takes long for each. */
const HUB_SHARE = 1 / 4;

/** Lists of all clusters beside those of the hub and of a buffer of the same length, and lists of what Alice sees. */
export async function compareLists({ hub, facade, clusters }: RegistryWorld, floor: Served): Promise<object> {
  const lists = Math.max(MIN_LISTS, Math.ceil(LISTED / clusters));
  const fullMs = {
    facade: await cpuPerList(facade, { token: ADMIN, lists }),
    floor: await cpuPerList(floor, { token: ADMIN, lists }),
    hub: await cpuPerList(hub, { token: ADMIN, lists: Math.ceil(lists * HUB_SHARE) }),
  };
  const smallMs = {
    hubBySelector: await cpuPerList(hub, { token: ADMIN, lists: SMALL_LISTS, query: `?${ALICES}` }),
    facadeByRights: await cpuPerList(facade, { token: ALICE, lists: SMALL_LISTS }),
    facadeBySelector: await cpuPerList(facade, { token: ADMIN, lists: SMALL_LISTS, query: `?${ALICES}` }),
  };
  return { fullMs, smallMs };
}

/** How long the list of all clusters is, in bytes. */
export async function listBytes(server: Served): Promise<number> {
  const agent = new Agent({ rejectUnauthorized: false });
  const bytes = await read(server, ADMIN, agent);
  agent.destroy();
  return bytes;
}

interface Lists {
  readonly token: string;
  readonly lists: number;
  readonly query?: string;
}

/** Milliseconds of CPU for one list, one after the other on one connection. */
async function cpuPerList({ url, path, pid }: Served, { token, lists, query = '' }: Lists): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  const readAll = async () => {
    for (let count = 0; count < lists; count++) await read({ url, path: path + query }, token, agent);
  };
  // A program that runs for days has long been compiled.
  await readAll();
  const before = await cpuSeconds(pid);
  await readAll();
  const used = (await cpuSeconds(pid)) - before;
  agent.destroy();
  return rounded((used * 1_000) / lists);
}

/** Reads an answer whole, and says how long it was. A busy hub may not answer the façade at first. */
async function read(server: Pick<Served, 'url' | 'path'>, token: string, agent: Agent): Promise<number> {
  for (;;) {
    const { status, bytes } = await readOnce(server, token, agent);
    if (status === 200) return bytes;
    if (status !== 503) throw new Error(`${server.path} answered ${status}`);
    await delay(1_000);
  }
}

async function readOnce({ url, path }: Pick<Served, 'url' | 'path'>, token: string, agent: Agent) {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; bytes: number }>();
  get(url + path, { agent, headers: { authorization: `Bearer ${token}`, accept: 'application/json' } }, (answer) => {
    let bytes = 0;
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    answer.on('end', () => resolve({ status: answer.statusCode ?? 0, bytes }));
  }).on('error', reject);
  return await promise;
}
