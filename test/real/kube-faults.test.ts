// Informers and elections while a real API server stops, dies and falls silent.

import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Subscription } from 'rxjs';
import { type ConfigMap, ConfigMaps, Namespaces } from '../../src/api/resources.ts';
import { isExpired, KubeClient } from '../../src/kube/client.ts';
import { createInformer, type Informer } from '../../src/kube/informer.ts';
import { loadKubeConfig } from '../../src/kube/kube-config.ts';
import { createElection } from '../../src/kube/lease.ts';
import { createTransport, type Transport } from '../../src/kube/transport.ts';
import { StatusError } from '../../src/kubernetes/status.ts';
import { systemClock } from '../../src/std/clock.ts';
import { eventually } from '../contract/eventually.ts';
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts';

const clock = systemClock;
const namespace = 'faults';
const subscriptions: Subscription[] = [];
const candidates: ChildProcess[] = [];
let cluster: RealCluster;
let transport: Transport;
let client: KubeClient;

beforeAll(async () => {
  cluster = await startRealCluster();
  transport = createTransport(await loadKubeConfig(await cluster.kubeconfig('somebody', ['system:masters'])), { clock, timeoutMs: 5_000 });
  client = new KubeClient(transport, 'tests');
  await client.create(Namespaces, { metadata: { name: namespace } });
}, 120_000);

afterEach(() => {
  for (const child of candidates.splice(0)) child.kill('SIGKILL');
  for (const subscription of subscriptions.splice(0)) subscription.unsubscribe();
});

afterAll(async () => {
  await transport?.close();
  await cluster?.stop();
}, 60_000);

interface Followed {
  readonly informer: Informer<ConfigMap>;
  readonly problems: unknown[];
}

async function follow(idleMs: number): Promise<Followed> {
  const problems: unknown[] = [];
  const informer = createInformer({ client, resource: ConfigMaps, selection: { namespace }, clock, random: () => 0, idleMs });
  subscriptions.push(
    informer.problems$.subscribe(({ error }) => problems.push(error)),
    informer.changes$.subscribe(),
  );
  await eventually(async () => expect(informer.synced).toBe(true));
  return { informer, problems };
}

/** Whether the store holds what the server does. */
async function expectTruth({ informer }: Followed): Promise<void> {
  const { items } = await client.listAll(ConfigMaps, { namespace });
  const versions = (objects: readonly ConfigMap[]) => objects.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).sort();
  await eventually(async () => expect(versions(informer.store.list())).toEqual(versions(items)));
}

async function churn(prefix: string): Promise<void> {
  for (let n = 0; n < 20; n += 1) {
    const name = `${prefix}-${n}`;
    await client.create(ConfigMaps, { metadata: { namespace, name } });
    if (n % 3 === 0) await client.delete(ConfigMaps, { namespace, name });
    if (n % 3 === 1) await client.patch(ConfigMaps, { namespace, name }, { data: { n: String(n) } });
  }
}

describe('an informer', () => {
  it.each(['stop', 'kill'] as const)(
    'finds the truth again after the API server restarts (%s) and its version has expired',
    async (how) => {
      const followed = await follow(10_000);
      // A new server remembers no history: the version that we hold is older than what it starts with.
      await client.create(Namespaces, { metadata: { name: `between-${how}` } });
      await cluster.restart(how);
      await churn(how);
      await expectTruth(followed);
      expect(followed.problems.filter(isExpired)).toHaveLength(1);
    },
    120_000,
  );

  it('lists again when the history that it wants to go on from has been compacted', async () => {
    const followed = await follow(10_000);
    // Written to others, so that the informer's own version falls behind what is kept.
    for (let n = 0; n < 5; n += 1) await client.create(Namespaces, { metadata: { name: `compacted-${n}` } });
    await cluster.compact();
    await cluster.restart('kill');
    await churn('compacted');
    await expectTruth(followed);
    expect(followed.problems.filter(isExpired)).toHaveLength(1);
  }, 120_000);

  it('notices a watch that fell silent and goes on without a list', async () => {
    const followed = await follow(3_000);
    await churn('before');
    await expectTruth(followed);
    cluster.pause();
    await eventually(async () => expect(followed.problems.length).toBeGreaterThan(0));
    cluster.resume();
    await churn('after');
    await expectTruth(followed);
    expect(followed.problems.filter((problem) => problem instanceof StatusError)).toEqual([]);
  }, 60_000);
});

describe('a list', () => {
  it('starts over when its pages were compacted on the way', async () => {
    const pages = client.pages(ConfigMaps, { namespace, limit: 1 });
    const { value: first } = await pages.next();
    expect(first?.items).toHaveLength(1);
    await churn('pages');
    await cluster.compact();
    // The cache of the server goes back further than etcd, until it is restarted.
    await cluster.restart('stop');
    await expect(pages.next()).rejects.toMatchObject({ reason: 'Expired' });
    await expect(client.listAll(ConfigMaps, { namespace, limit: 5 })).resolves.toBeDefined();
  }, 60_000);
});

interface Candidate {
  readonly process: ChildProcess;
  /** What it has told: whether it leads. */
  readonly told: boolean[];
}

async function candidate(identity: string): Promise<Candidate> {
  const kubeconfig = await cluster.kubeconfig('somebody', ['system:masters']);
  const program = join(import.meta.dirname, '../support/candidate-process.ts');
  const child = fork(program, [kubeconfig, namespace, identity], { execArgv: ['--disable-warning=ExperimentalWarning'] });
  const told: boolean[] = [];
  child.on('message', (leads: boolean) => told.push(leads));
  candidates.push(child);
  return { process: child, told };
}

describe('an election', () => {
  it('passes from a process that is stopped to another, and the first finds out when it goes on', async () => {
    const first = await candidate('first');
    await eventually(async () => expect(first.told.at(-1)).toBe(true));
    const second = await candidate('second');
    await eventually(async () => expect(second.told).toEqual([false]));
    first.process.kill('SIGSTOP');
    await eventually(async () => expect(second.told).toEqual([false, true]));
    first.process.kill('SIGCONT');
    await eventually(async () => expect(first.told).toEqual([false, true, false]));
    expect(second.told).toEqual([false, true]);
  }, 60_000);

  it('ends while the API server is silent, and is won again after', async () => {
    const election = createElection({ client, namespace, name: 'leader', identity: 'a', clock, random: () => 0 });
    const seen: boolean[] = [];
    subscriptions.push(election.leads$.subscribe((leads) => seen.push(leads)));
    await eventually(async () => expect(election.leads).toBe(true));
    cluster.pause();
    const pausedAt = clock.now();
    await eventually(async () => expect(seen.at(-1)).toBe(false));
    expect(clock.now() - pausedAt).toBeLessThan(8_000);
    cluster.resume();
    await eventually(async () => expect(seen).toEqual([false, true, false, true]));
    await election.release();
  }, 60_000);
});
