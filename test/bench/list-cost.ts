// Cost of a cluster list for its server.

import { Agent, get } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { cpuSeconds, round } from './process-usage.ts';
import { ADMIN, ALICE, ALICE_SELECTOR, type ListServer, type RegistryWorld } from './registry-world.ts';

/** Total number of listed clusters, large enough to make the kernel's 10 ms resolution insignificant. */
const LISTED = 200_000;
const MIN_LISTS = 20;
const SMALL_LISTS = 300;
/** Share of the lists that kube-apiserver serves; each takes kube-apiserver a long time. */
const HUB_SHARE = 1 / 4;

/** Compares lists of all clusters with those of the hub and of a static body, and lists of the clusters that Alice sees. */
export async function compareLists({ hub, facade, clusters }: RegistryWorld, floor: ListServer): Promise<object> {
  const lists = Math.max(MIN_LISTS, Math.ceil(LISTED / clusters));
  const fullMs = {
    facade: await measureList(facade, { token: ADMIN, lists }),
    floor: await measureList(floor, { token: ADMIN, lists }),
    hub: await measureList(hub, { token: ADMIN, lists: Math.ceil(lists * HUB_SHARE) }),
  };
  const smallMs = {
    hubBySelector: await measureList(hub, { token: ADMIN, lists: SMALL_LISTS, query: `?${ALICE_SELECTOR}` }),
    facadeByPermissions: await measureList(facade, { token: ALICE, lists: SMALL_LISTS }),
    facadeBySelector: await measureList(facade, { token: ADMIN, lists: SMALL_LISTS, query: `?${ALICE_SELECTOR}` }),
  };
  return { fullMs, smallMs };
}

/** Returns the length of the list of all clusters, in bytes. */
export async function measureListBytes(server: ListServer): Promise<number> {
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

/** Measures the CPU time per list in milliseconds; lists are sequential on one connection. */
async function measureList({ url, path, pid }: ListServer, { token, lists, query = '' }: Lists): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  const readAll = async () => {
    for (let count = 0; count < lists; count++) await read({ url, path: path + query }, token, agent);
  };
  // Compiles hot code before the measurement.
  await readAll();
  const before = await cpuSeconds(pid);
  await readAll();
  const used = (await cpuSeconds(pid)) - before;
  agent.destroy();
  return round((used * 1_000) / lists);
}

/** Reads a complete response, and returns its length. Retries 503, because a busy hub may not respond to the façade at first. */
async function read(server: Pick<ListServer, 'url' | 'path'>, token: string, agent: Agent): Promise<number> {
  for (;;) {
    const { status, bytes } = await readOnce(server, token, agent);
    if (status === 200) return bytes;
    if (status !== 503) throw new Error(`${server.path} returned ${status}`);
    await delay(1_000);
  }
}

async function readOnce({ url, path }: Pick<ListServer, 'url' | 'path'>, token: string, agent: Agent) {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; bytes: number }>();
  get(url + path, { agent, headers: { authorization: `Bearer ${token}`, accept: 'application/json' } }, (response) => {
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    response.on('end', () => resolve({ status: response.statusCode ?? 0, bytes }));
  }).on('error', reject);
  return await promise;
}
