// Purser's own Kubernetes client against the server under test.

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Subscription } from 'rxjs';
import { type ConfigMap, ConfigMaps, Events, Leases, Namespaces, ServiceAccounts } from '../../src/api/resources.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { createInformer, type Informer } from '../../src/kube/informer.ts';
import { createFixedConfig } from '../../src/kube/kube-config.ts';
import { createElection } from '../../src/kube/lease.ts';
import { Recorder } from '../../src/kube/recorder.ts';
import { SelfSubjectAccessReviews, SelfSubjectReviews, SubjectAccessReviews, TokenReviews } from '../../src/kube/reviews.ts';
import { createTransport, type Transport } from '../../src/kube/transport.ts';
import { systemClock } from '../../src/std/clock.ts';
import { eventually } from './eventually.ts';
import { contractServer } from './server.ts';

const server = contractServer();
const clock = systemClock;
const random = () => 0.5;
const namespace = 'kube-client';
const transports: Transport[] = [];
const subscriptions: Subscription[] = [];
let client: KubeClient;

beforeAll(async () => {
  client = connect(server.tokens.admin);
  await client.create(Namespaces, { metadata: { name: namespace } });
});

afterEach(() => {
  for (const subscription of subscriptions.splice(0)) subscription.unsubscribe();
});

afterAll(async () => {
  await Promise.all(transports.map((transport) => transport.close()));
});

function connect(token: string): KubeClient {
  const cluster = { name: 'c', server: server.url, caData: Buffer.from(server.ca).toString('base64'), skipTLSVerify: false };
  const transport = createTransport(createFixedConfig(cluster, { name: 'u', token }), { clock });
  transports.push(transport);
  return new KubeClient(transport, 'contract');
}

async function createConfigMap(name: string, labels: Readonly<Record<string, string>> = {}): Promise<ConfigMap> {
  return client.create(ConfigMaps, { metadata: { namespace, name, labels }, data: { value: '1' } });
}

describe('KubeClient', () => {
  it('reads, writes and deletes an object', async () => {
    const created = await createConfigMap('crud');
    expect(await client.get(ConfigMaps, { namespace, name: 'crud' })).toEqual(created);
    const updated = await client.update(ConfigMaps, { ...created, data: { value: '2' } });
    await expect(client.update(ConfigMaps, { ...created, data: { value: '3' } })).rejects.toMatchObject({ reason: 'Conflict' });
    await client.patch(ConfigMaps, { namespace, name: 'crud' }, { data: { more: 'x' } });
    const patched = await client.patch(ConfigMaps, { namespace, name: 'crud' }, [{ op: 'replace', path: '/data/more', value: 'y' }]);
    expect(patched.data).toEqual({ value: '2', more: 'y' });
    const stale = { uid: updated.metadata.uid ?? '', resourceVersion: updated.metadata.resourceVersion ?? '' };
    await expect(client.delete(ConfigMaps, { namespace, name: 'crud' }, stale)).rejects.toMatchObject({ reason: 'Conflict' });
    await client.delete(ConfigMaps, { namespace, name: 'crud' }, { uid: stale.uid, propagation: 'Background' });
    await expect(client.get(ConfigMaps, { namespace, name: 'crud' })).rejects.toMatchObject({ reason: 'NotFound' });
  });

  it('applies an object, and takes fields of other managers only with force', async () => {
    await createConfigMap('applied');
    const applied = { metadata: { namespace, name: 'applied' }, data: { value: '9' } };
    await expect(client.apply(ConfigMaps, applied)).rejects.toMatchObject({ reason: 'Conflict' });
    expect((await client.apply(ConfigMaps, applied, { force: true })).data).toEqual({ value: '9' });
  });

  it('patches and replaces the status subresource', async () => {
    const status = { conditions: [{ type: 'Seen', status: 'True', lastTransitionTime: '2026-03-01T12:00:00Z', reason: 'X', message: '' }] };
    const patched = await client.patchStatus(Namespaces, { name: namespace }, { status, metadata: { labels: { ignored: 'x' } } });
    expect(patched.status?.conditions?.[0]?.type).toBe('Seen');
    const { labels: _, ...metadata } = patched.metadata;
    const cleared = await client.updateStatus(Namespaces, { ...patched, metadata, status: { phase: 'Active' } });
    expect(cleared.status).toEqual({ phase: 'Active' });
  });

  it('lists objects in pages and with selectors', async () => {
    for (let n = 0; n < 5; n += 1) await createConfigMap(`page-${n}`, { set: 'pages', odd: String(n % 2 === 1) });
    const pages = await Array.fromAsync(client.pages(ConfigMaps, { namespace, labelSelector: 'set=pages', limit: 2 }));
    const names = pages.map(({ items }) => items.map(({ kind, metadata }) => `${kind}/${metadata.name}`));
    expect(names).toEqual([['ConfigMap/page-0', 'ConfigMap/page-1'], ['ConfigMap/page-2', 'ConfigMap/page-3'], ['ConfigMap/page-4']]);
    const odd = await client.list(ConfigMaps, { namespace, labelSelector: 'set=pages,odd=true', fieldSelector: 'metadata.name!=page-1' });
    expect(odd.items.map(({ metadata }) => metadata.name)).toEqual(['page-3']);
  });

  it('creates tokens, TokenReviews and access reviews', async () => {
    await client.create(ServiceAccounts, { metadata: { namespace, name: 'robot' } });
    const { status } = await client.createToken({ namespace, name: 'robot' }, { audiences: ['there'], expirationSeconds: 600 });
    const token = status?.token ?? '';
    const review = await client.createReview(TokenReviews, { spec: { token, audiences: ['there'] } });
    expect(review.status).toMatchObject({ authenticated: true, user: { username: `system:serviceaccount:${namespace}:robot` } });
    const attributes = { verb: 'get', resource: 'secrets', namespace };
    const others = await client.createReview(SubjectAccessReviews, { spec: { user: 'unbound', resourceAttributes: attributes } });
    const own = await client.createReview(SelfSubjectAccessReviews, { spec: { resourceAttributes: attributes } });
    expect([others.status?.allowed, own.status?.allowed]).toEqual([false, true]);
    expect((await client.createReview(SelfSubjectReviews, {})).status?.userInfo?.username).toBe('admin');
  });

  it('throws the Status of Unauthorized and Forbidden responses', async () => {
    await expect(connect('wrong-token').get(ConfigMaps, { namespace, name: 'x' })).rejects.toMatchObject({ reason: 'Unauthorized' });
    await expect(connect(server.tokens.bob).get(ConfigMaps, { namespace, name: 'x' })).rejects.toMatchObject({ reason: 'Forbidden' });
  });

  it('reads non-resource paths', async () => {
    expect(await client.getText('/readyz')).toBe('ok');
    expect(JSON.parse(await client.getText('/version'))).toMatchObject({ major: '1' });
    await expect(client.getText('/nowhere')).rejects.toMatchObject({ reason: 'NotFound' });
  });
});

describe('createInformer', () => {
  function follow(informer: Informer<ConfigMap>): string[] {
    const seen: string[] = [];
    subscriptions.push(informer.changes$.subscribe(({ type, key }) => seen.push(`${type} ${key}`)));
    return seen;
  }

  it.each([
    ['WatchList', (from: KubeClient) => from],
    // Simulates a server without WatchList.
    ['pages', (from: KubeClient) => ({ pages: from.pages.bind(from), watch: rejectWatchList(from) })],
  ])('follows a selected collection, listed by %s', async (method, through) => {
    const set = `by-${method.toLowerCase()}`;
    await createConfigMap(`${set}-1`, { set });
    await createConfigMap(`${set}-other`, { set: 'other' });
    const selection = { namespace, labelSelector: `set=${set}` };
    const informer = createInformer({ client: through(client), resource: ConfigMaps, selection, clock, random });
    const seen = follow(informer);
    await eventually(async () => expect(informer.synced).toBe(true));
    await createConfigMap(`${set}-2`, { set });
    await client.patch(ConfigMaps, { namespace, name: `${set}-1` }, { data: { value: '2' } });
    // An object that leaves the selection is reported as deleted.
    await client.patch(ConfigMaps, { namespace, name: `${set}-1` }, { metadata: { labels: { set: 'other' } } });
    await client.delete(ConfigMaps, { namespace, name: `${set}-2` });
    const key = `${namespace}/${set}`;
    const expected = [`added ${key}-1`, `added ${key}-2`, `updated ${key}-1`, `deleted ${key}-1`, `deleted ${key}-2`];
    await eventually(async () => expect(seen).toEqual(expected));
    expect(informer.store.size).toBe(0);
  });

  function rejectWatchList(from: KubeClient): KubeClient['watch'] {
    return (resource, { sendInitialEvents, ...options }) =>
      // The server rejects the invalid field selector, as one without WatchList rejects sendInitialEvents.
      from.watch(resource, sendInitialEvents === true ? { ...options, fieldSelector: 'nonsense' } : options);
  }
});

describe('createElection', () => {
  it('transfers leadership to the next candidate on release', async () => {
    const timing = { leaseMs: 3_000, renewDeadlineMs: 2_000, retryMs: 200 };
    const candidate = (identity: string) => createElection({ client, namespace, name: 'leader', identity, clock, random, ...timing });
    const [a, b] = [candidate('a'), candidate('b')];
    subscriptions.push(a.leads$.subscribe());
    await eventually(async () => expect(a.leads).toBe(true));
    subscriptions.push(b.leads$.subscribe());
    await a.release();
    await eventually(async () => expect(b.leads).toBe(true));
    const lease = await client.get(Leases, { namespace, name: 'leader' });
    expect(lease.spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
    expect(lease.spec?.renewTime).toMatch(/\.\d{6}Z$/);
  });
});

describe('Recorder', () => {
  it.each([
    ['a namespaced object', () => client.get(ConfigMaps, { namespace, name: 'applied' }), namespace],
    ['a cluster-scoped object', () => client.get(Namespaces, { name: namespace }), 'default'],
  ])('counts repeated events in one Event for %s', async (_, read, where) => {
    const problems: unknown[] = [];
    const recorder = new Recorder({
      client,
      clock,
      random: Math.random,
      component: 'purser',
      instance: 'p-0',
      onProblem: (error) => problems.push(error),
    });
    const object = await read();
    for (let n = 0; n < 3; n += 1) {
      recorder.record(object, { type: 'Warning', reason: 'Tried', message: 'tried again' });
      await recorder.flush();
    }
    expect(problems).toEqual([]);
    const { items } = await client.list(Events, { namespace: where, fieldSelector: `involvedObject.uid=${object.metadata.uid}` });
    expect(items).toMatchObject([{ type: 'Warning', reason: 'Tried', message: 'tried again', count: 3, source: { component: 'purser' } }]);
  });
});
