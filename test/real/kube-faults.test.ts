// Informers and leader elections while a real API server stops, crashes and freezes.

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
  transport = createTransport(await loadKubeConfig(await cluster.kubeconfig('tester', ['system:masters'])), { clock, timeoutMs: 5_000 });
  client = new KubeClient(transport, 'tests');
  await client.create(Namespaces, { metadata: { name: namespace } });
});

afterEach(() => {
  for (const child of candidates.splice(0)) child.kill('SIGKILL');
  for (const subscription of subscriptions.splice(0)) subscription.unsubscribe();
});

afterAll(async () => {
  await transport?.close();
  await cluster?.stop();
});

interface StartedInformer {
  readonly informer: Informer<ConfigMap>;
  readonly problems: unknown[];
}

async function startInformer(idleMs: number): Promise<StartedInformer> {
  const problems: unknown[] = [];
  const informer = createInformer({ client, resource: ConfigMaps, selection: { namespace }, clock, random: () => 0, idleMs });
  subscriptions.push(
    informer.problems$.subscribe(({ error }) => problems.push(error)),
    informer.changes$.subscribe(),
  );
  await eventually(async () => expect(informer.synced).toBe(true));
  return { informer, problems };
}

/** Expects that the store has the same objects as the server. */
async function expectSynced({ informer }: StartedInformer): Promise<void> {
  const { items } = await client.list(ConfigMaps, { namespace });
  const versions = (objects: readonly ConfigMap[]) => objects.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).sort();
  await eventually(async () => expect(versions(informer.store.list())).toEqual(versions(items)));
}

async function writeConfigMaps(prefix: string): Promise<void> {
  for (let n = 0; n < 20; n += 1) {
    const name = `${prefix}-${n}`;
    await client.create(ConfigMaps, { metadata: { namespace, name } });
    if (n % 3 === 0) await client.delete(ConfigMaps, { namespace, name });
    if (n % 3 === 1) await client.patch(ConfigMaps, { namespace, name }, { data: { n: String(n) } });
  }
}

describe('informer', () => {
  it.each(['stop', 'kill'] as const)(
    'resyncs after the API server restarts (%s) and the resource version of the informer has expired',
    async (method) => {
      const started = await startInformer(10_000);
      // A restarted server has no history, so the informer's resource version is too old.
      await client.create(Namespaces, { metadata: { name: `between-${method}` } });
      await cluster.restart(method);
      await writeConfigMaps(method);
      await expectSynced(started);
      expect(started.problems.filter(isExpired)).toHaveLength(1);
    },
  );

  it('relists after the API server has compacted its history', async () => {
    const started = await startInformer(10_000);
    // Writes of another kind make the informer's resource version older than the compacted history.
    for (let n = 0; n < 5; n += 1) await client.create(Namespaces, { metadata: { name: `compacted-${n}` } });
    await cluster.compact();
    await cluster.restart('kill');
    await writeConfigMaps('compacted');
    await expectSynced(started);
    expect(started.problems.filter(isExpired)).toHaveLength(1);
  });

  it('detects a stalled watch and resumes without a list', async () => {
    const started = await startInformer(3_000);
    await writeConfigMaps('before');
    await expectSynced(started);
    cluster.pause();
    await eventually(async () => expect(started.problems.length).toBeGreaterThan(0));
    cluster.resume();
    await writeConfigMaps('after');
    await expectSynced(started);
    expect(started.problems.filter((problem) => problem instanceof StatusError)).toEqual([]);
  });
});

describe('list in pages', () => {
  it('throws Expired after the revision of the pages was compacted', async () => {
    const pages = client.pages(ConfigMaps, { namespace, limit: 1 });
    const { value: first } = await pages.next();
    expect(first?.items).toHaveLength(1);
    await writeConfigMaps('pages');
    await cluster.compact();
    // Until it restarts, the server's cache keeps more history than etcd.
    await cluster.restart('stop');
    await expect(pages.next()).rejects.toMatchObject({ reason: 'Expired' });
  });
});

interface Candidate {
  readonly process: ChildProcess;
  /** Reported changes of leadership. */
  readonly leadership: boolean[];
}

async function startCandidate(identity: string): Promise<Candidate> {
  const kubeconfig = await cluster.kubeconfig('tester', ['system:masters']);
  const program = join(import.meta.dirname, '../support/candidate-process.ts');
  const child = fork(program, [kubeconfig, namespace, identity], { execArgv: ['--disable-warning=ExperimentalWarning'] });
  const leadership: boolean[] = [];
  child.on('message', (leads: boolean) => leadership.push(leads));
  candidates.push(child);
  return { process: child, leadership };
}

describe('leader election', () => {
  it('moves leadership from a stopped process to another, and informs the first after it resumes', async () => {
    const first = await startCandidate('first');
    await eventually(async () => expect(first.leadership.at(-1)).toBe(true));
    const second = await startCandidate('second');
    await eventually(async () => expect(second.leadership).toEqual([false]));
    first.process.kill('SIGSTOP');
    await eventually(async () => expect(second.leadership).toEqual([false, true]));
    first.process.kill('SIGCONT');
    await eventually(async () => expect(first.leadership).toEqual([false, true, false]));
    expect(second.leadership).toEqual([false, true]);
  });

  it('loses leadership while the API server is frozen, and acquires it again afterwards', async () => {
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
  });
});
