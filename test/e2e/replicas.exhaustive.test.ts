// Two replicas of Purser on one hub: leader election and takeover.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { join } from 'node:path';
import { scheduler } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiResponse, sendRequest } from '../support/api-request.ts';
import { parseExposition } from '../support/exposition.ts';
import { newFolder } from '../support/folders.ts';
import { adminKubeConfig } from '../support/kubeconfig-file.ts';
import { type ClusterRun, startOnCluster } from './local-run.ts';

interface Replica {
  readonly run: ClusterRun;
  readonly metrics: string;
}

let hub: ChildProcess;
/** Sends a request to the hub as its administrator. */
let send: (method: string, path: string, body?: object) => Promise<ApiResponse>;
let kubeconfig: string;
const running = new Set<Replica>();

beforeAll(async () => {
  const folder = await newFolder();
  hub = fork(join(import.meta.dirname, '../support/api-server-process.ts'), [join(folder, 'hub')], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const [{ url, ca }] = (await once(hub, 'message')) as [{ url: string; ca: string }];
  kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, adminKubeConfig(url, ca));
  const headers = { authorization: 'Bearer admintoken', 'content-type': 'application/json' };
  send = async (method, path, body) => {
    const agent = new Agent({ ca });
    const sent = sendRequest({ url, agent }, method, path, { headers, ...(body && { body: JSON.stringify(body) }) });
    return await sent.finally(() => agent.destroy());
  };
  expect((await send('POST', '/api/v1/namespaces', { metadata: { name: 'purser-system' } })).status).toBe(201);
  await Promise.all([start(), start()]);
});

afterAll(async () => {
  await Promise.all([...running].map(({ run }) => run.end('SIGKILL')));
  hub.kill();
});

async function start(): Promise<Replica> {
  const { run, ready } = await launchReplica();
  const replica = { run, metrics: ready.metrics };
  running.add(replica);
  return replica;
}

async function launchReplica(...args: readonly string[]) {
  const readyFile = join(await newFolder(), 'ready.json');
  const run = startOnCluster(kubeconfig, '--install-crds', '--bind-address', '127.0.0.1', '--ready-file', readyFile, ...args);
  const ready = await untilFound(async () => JSON.parse(await readFile(readyFile, 'utf8')) as { metrics: string; facade?: string });
  return { run, ready };
}

function scrape({ metrics }: Replica, token?: string): Promise<Response> {
  return fetch(`${metrics}/metrics`, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });
}

async function leads(replica: Replica): Promise<boolean> {
  const text = await (await scrape(replica, 'admintoken')).text();
  return parseExposition(text).get('purser_leader')?.samples.get('[]') === 1;
}

/** Returns the replicas that lead. */
async function leaders(): Promise<readonly Replica[]> {
  const found = await Promise.all([...running].map(async (replica) => ((await leads(replica)) ? [replica] : [])));
  return found.flat();
}

/** Waits until exactly one replica leads. */
async function leader(): Promise<Replica> {
  return await untilFound(async () => {
    const [first, ...others] = await leaders();
    if (first === undefined || others.length > 0) throw new Error(`${others.length + (first ? 1 : 0)} replicas claim leadership`);
    return first;
  });
}

/** Returns the holder of the Lease. */
async function holder(): Promise<string | undefined> {
  const { body } = await send('GET', '/apis/coordination.k8s.io/v1/namespaces/purser-system/leases/purser');
  return (JSON.parse(body) as { readonly spec: { readonly holderIdentity?: string } }).spec.holderIdentity;
}

async function untilFound<T>(find: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + 60_000;
  for (;;) {
    try {
      return await find();
    } catch (error) {
      if (performance.now() > giveUpAt) throw error;
      await scheduler.wait(100);
    }
  }
}

describe('replica with --components facade', () => {
  it('serves requests without campaigning for leadership', async () => {
    const { run, ready } = await launchReplica('--components', 'facade');
    const isLeader = await leads({ run, metrics: ready.metrics });
    const { stderr } = await run.end('SIGTERM');

    expect(ready.facade).toMatch(/^https:/);
    expect(isLeader).toBe(false);
    expect(stderr).not.toContain('"leads"');
  });
});

describe('two replicas of Purser', () => {
  it('elects one leader, and serves metrics to authorized clients', async () => {
    const { metrics } = await leader();

    expect(await leaders()).toHaveLength(1);
    expect((await scrape({ metrics } as Replica)).status).toBe(401);
    expect((await scrape({ metrics } as Replica, 'alicetoken')).status).toBe(403);
    expect((await fetch(`${metrics}/readyz`)).status).toBe(200);
  });

  it('hands leadership over immediately when the leader stops', async () => {
    const first = await leader();
    await start();
    running.delete(first);
    const former = await holder();
    const { code } = await first.run.end('SIGTERM');

    expect(code).toBe(0);
    // Without a release, the Lease would be held until it expires.
    expect(await holder()).not.toBe(former);
    expect(await leader()).not.toBe(first);
  });

  it('elects another leader after the leader is killed', async () => {
    const first = await leader();
    running.delete(first);
    await first.run.end('SIGKILL');

    expect(await leader()).not.toBe(first);
  });

  it('has one leader again after a frozen leader resumes', async () => {
    const frozen = await leader();
    await start();
    frozen.run.signal('SIGSTOP');
    running.delete(frozen);
    const next = await leader();
    frozen.run.signal('SIGCONT');
    running.add(frozen);

    expect(await leaders()).toEqual([next]);
  });

  it('stays ready while the hub is unreachable, and rejects clients of metrics with 503', async () => {
    const { metrics } = await leader();
    const gone = once(hub, 'exit');
    hub.kill('SIGKILL');
    await gone;
    const scraped = await scrape({ metrics } as Replica, 'bobtoken');

    expect((await fetch(`${metrics}/livez`)).status).toBe(200);
    expect((await fetch(`${metrics}/readyz`)).status).toBe(200);
    expect([scraped.status, scraped.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  });
});
