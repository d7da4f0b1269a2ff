// Sets with thousands of Clusters: informers that the test fills, and a hub that stores objects in memory.

import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { PROTECTED_NAMESPACES } from '../../src/access/issue-permission.ts';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import type { ApiObject, ClusterRole, ClusterRoleBinding, ServiceAccount } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { statusError } from '../../src/kubernetes/status.ts';
import { SetAuthorizer } from '../../src/sets/authorizer.ts';
import { createSetTriggers } from '../../src/sets/controller.ts';
import { reduceSet, type SetInformers, SetView } from '../../src/sets/informers.ts';
import { type StoredSet, toChildName } from '../../src/sets/policy/template.ts';
import { reconcileSet } from '../../src/sets/reconcile.ts';
import type { SetDeps } from '../../src/sets/run.ts';
import { TrackedSets } from '../../src/sets/tracked-set.ts';
import { chargeReviews, NamespaceBudgets } from '../../src/tokens/budgets.ts';
import type { StoredSecret } from '../../src/tokens/policy/secret.ts';
import { reduceToken } from '../../src/tokens/reduce.ts';
import { HandInformer } from '../runtime/hand-informer.ts';
import { aCluster } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';
import { scaled } from '../support/scaled.ts';
import { silentLog } from '../support/silent-log.ts';
import { stored } from '../support/stored.ts';
import { aChild, aSet } from './set-builder.ts';

const SIZE = scaled({ full: 5_000, quick: 500 });
const KEY = 'team-a/fleet';

class Fleet {
  readonly clock = new FakeClock();
  readonly sets = new HandInformer<StoredSet>();
  readonly tokens = new HandInformer<ManagedToken>();
  readonly secrets = new HandInformer<StoredSecret>();
  readonly clusters = new HandInformer<Cluster>();
  readonly requesters = new HandInformer<ServiceAccount>();
  readonly roles = new HandInformer<ClusterRole>();
  readonly bindings = new HandInformer<ClusterRoleBinding>();
  readonly deps: SetDeps;
  readonly calls: string[] = [];
  readonly triggered = new Set<string>();
  /** Error that creations fail with; undefined if they succeed. */
  rejection: Error | undefined;
  /** True if the watch does not deliver deletions. */
  isWatchLate = false;
  /** Maximum number of concurrent requests. */
  concurrent = 0;
  #running = 0;
  #version = 1;

  constructor(set: StoredSet) {
    const { clock, sets, tokens, secrets, clusters, requesters, roles, bindings } = this;
    const filled = { sets, tokens, secrets, clusters, requesters, roles, bindings };
    for (const informer of Object.values(filled)) (informer as unknown as HandInformer<ApiObject>).changes$.subscribe();
    const informers = { ...filled, credentials: [] };
    requesters.list({ metadata: { namespace: 'team-a', name: 'default' } });
    sets.list(set);
    const view = new SetView(informers as unknown as SetInformers);
    const memory = new TrackedSets();
    const budgets = new NamespaceBudgets({ clock, log: silentLog, countInNamespace: view.countInNamespace });
    const hub = this.#hub();
    const authorizer = new SetAuthorizer({ hub: chargeReviews(hub, budgets), view, protectedNamespaces: PROTECTED_NAMESPACES });
    createSetTriggers(informers as unknown as SetInformers, { view, memory, authorizer }).subscribe(({ key }) => this.triggered.add(key));
    const settings = { protectedNamespaces: PROTECTED_NAMESPACES, credentialNamespaces: [] };
    const recorder = { record: () => {} };
    const clients = { endpointsOf: () => ({ servers: [] }) };
    this.deps = { hub, clients, recorder, clock, timers: clock, log: silentLog, settings, view, memory, authorizer, budgets };
  }

  /** Registers Clusters; `allowed` lets the requester issue for all of them. */
  register(count: number, allowed: boolean): void {
    const clusterOf = (_: unknown, index: number): Cluster => ({
      ...aCluster(),
      metadata: { name: `c${index}`, uid: `uid-${index}`, resourceVersion: '1' },
    });
    this.clusters.list(...Array.from({ length: count }, clusterOf));
    const rules = [{ apiGroups: ['registry.purser.dev'], resources: ['clusters/token'], verbs: ['issue'] }];
    this.roles.list({ metadata: { name: 'all' }, rules });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'all' };
    const subjects = [{ kind: 'ServiceAccount', namespace: 'team-a', name: allowed ? 'default' : 'other' }];
    this.bindings.list({ metadata: { name: 'all' }, roleRef, subjects });
  }

  /** Reconciles until no more runs are requested. Returns the number of runs. */
  async settle(key = KEY): Promise<number> {
    for (let runs = 1; ; runs++) {
      const { requeueAt = Infinity } = await reconcileSet(this.deps, key, new AbortController().signal);
      if (requeueAt > this.clock.now() + 1_000) return runs;
      this.clock.advance(1_000);
    }
  }

  count(pattern: RegExp): number {
    return this.calls.filter((call) => pattern.test(call)).length;
  }

  #hub(): KubeClient {
    const send = async <T>(call: string, result: () => T): Promise<T> => {
      this.calls.push(call);
      this.concurrent = Math.max(this.concurrent, ++this.#running);
      await Promise.resolve();
      this.#running -= 1;
      return result();
    };
    const store = (token: ManagedToken, generation: number) => {
      const identity = { uid: `uid-${token.metadata.name}`, resourceVersion: String(++this.#version), generation };
      const conditions = [{ type: 'Ready', status: 'True', reason: 'Issued', message: '', lastTransitionTime: '' } as const];
      const known = this.tokens.store.get(`team-a/${token.metadata.name}`)?.metadata.ownerReferences;
      const metadata = { ...token.metadata, ...(known && { ownerReferences: known }), ...identity };
      const object = stored({ ...token, metadata, status: { observedGeneration: generation, conditions } });
      this.tokens.apply(reduceToken(object));
      return object;
    };
    return {
      create: (_: unknown, token: ManagedToken) =>
        send('create', () => {
          if (this.rejection !== undefined) throw this.rejection;
          return store(token, 1);
        }),
      apply: (_: unknown, token: ManagedToken) => send('apply', () => store(token, 2)),
      updateStatus: (_: unknown, set: StoredSet) =>
        send('status', () => {
          const object = reduceSet({ ...set, metadata: { ...set.metadata, resourceVersion: String(++this.#version) } });
          this.sets.apply(object);
          return object;
        }),
      createReview: () => send('review', () => ({ status: { allowed: false } })),
      list: () => send('list', () => ({ items: this.clusters.store.list() })),
      delete: (_: unknown, { name }: { name: string }) =>
        send('delete', () => {
          const token = this.tokens.store.get(`team-a/${name}`);
          if (token !== undefined && !this.isWatchLate) this.tokens.delete(token);
        }),
    } as unknown as KubeClient;
  }
}

let fleet: Fleet;

describe(`set with ${SIZE} Clusters`, () => {
  beforeEach(() => {
    fleet = new Fleet(aSet({ maxConcurrent: 1000 }));
  });

  it('creates and changes each ManagedToken with one write, at most 16 at a time, and writes nothing while idle', async () => {
    fleet.register(SIZE, true);
    await fleet.settle();
    expect([fleet.count(/^create$/), fleet.count(/^apply$/), fleet.tokens.store.size]).toEqual([SIZE, 0, SIZE]);
    expect(fleet.sets.store.get(KEY)?.status).toMatchObject({ clusters: SIZE, ready: SIZE, updated: SIZE, failing: 0 });
    expect(fleet.concurrent).toBeLessThanOrEqual(16);
    fleet.calls.length = 0;
    await fleet.settle();
    expect(fleet.calls).toEqual([]);
    const set = fleet.sets.store.get(KEY)!;
    const template = { ...set.spec.template, spec: { ...set.spec.template.spec, expirationSeconds: 7200 } };
    fleet.sets.apply({ ...set, metadata: { ...set.metadata, generation: 2, resourceVersion: 'x' }, spec: { ...set.spec, template } });
    await fleet.settle();
    expect([fleet.count(/^create$/), fleet.count(/^apply$/), fleet.count(/^review$/)]).toEqual([0, SIZE, 0]);
  });

  it('sends no request for Clusters that the requester may not issue tokens for, and reports none of them', async () => {
    fleet.register(SIZE, false);
    expect(await fleet.settle()).toBe(1);
    expect(fleet.calls).toEqual(['status']);
    const { conditions, ...status } = fleet.sets.store.get(KEY)?.status ?? {};
    expect(status).toMatchObject({ clusters: 0, failing: 0, failures: [] });
    expect(conditions?.map(({ reason }) => reason)).toEqual(['NoClusters', 'Complete']);
  });

  it('evaluates the permissions of the requester once in a run', async () => {
    fleet.register(SIZE, false);
    await fleet.settle();
    const namesFor = jest.spyOn(fleet.deps.view.permissions, 'namesFor');
    expect(await fleet.settle()).toBe(1);
    expect(namesFor).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['selected', { a: 'b' }],
    ['not selected', { a: 'c' }],
    ['labeled with a set of Clusters', { a: 'b', 'registry.purser.dev/set': 'prod' }],
    ['not registered', undefined],
  ])('checks a forged ManagedToken with the same requests for a hidden cluster that is %s', async (_, labels) => {
    const all = aSet();
    const set = { ...all, spec: { ...all.spec, clusterSelector: { matchLabels: { a: 'b' } } } };
    fleet = new Fleet(set);
    fleet.register(0, false);
    if (labels !== undefined) fleet.clusters.list({ ...aCluster(), metadata: { name: 'hidden', uid: 'u', resourceVersion: '1', labels } });
    fleet.tokens.apply(aChild(set, 'hidden'));
    await fleet.settle();
    const check = ['list', ...Array.from({ length: 6 }, () => 'review')];
    expect(fleet.calls).toEqual([...check, 'status']);
    fleet.clock.advance(30_000);
    await fleet.settle();
    expect(fleet.calls).toEqual([...check, 'status', ...check, 'delete']);
  });

  it('waits for the next checks of many ManagedTokens before it removes all of them', async () => {
    const surplus = Array.from({ length: (SIZE * 12) / 100 }, (_, index) => `gone${index}`);
    fleet.register(SIZE - surplus.length, true);
    await fleet.settle();
    for (const name of surplus) fleet.tokens.apply(aChild(aSet(), name));
    await fleet.settle();
    const check = (each: RegExp) => fleet.count(each) / surplus.length;
    expect([check(/^list$/), check(/^review$/), check(/^delete$/)]).toEqual([1, 6, 0]);
    expect(await fleet.settle()).toBe(1);
    fleet.clock.advance(30_000);
    await fleet.settle();
    expect([check(/^list$/), check(/^review$/), check(/^delete$/)]).toEqual([2, 12, 1]);
    expect(fleet.tokens.store.size).toBe(SIZE - surplus.length);
  });

  it('removes a ManagedToken once, no matter how late the watch delivers its deletion', async () => {
    fleet.register(30, true);
    await fleet.settle();
    const surplus = Array.from({ length: 10 }, (_, index) => aChild(aSet(), `gone${index}`));
    for (const token of surplus) fleet.tokens.apply(token);
    fleet.isWatchLate = true;
    for (let runs = 0; runs < 5; runs++) {
      await fleet.settle();
      fleet.clock.advance(16_000);
    }
    expect(fleet.count(/^delete$/)).toBe(10);
    expect(fleet.sets.store.get(KEY)?.status?.conditions?.map(({ reason }) => reason)).toEqual(['AllReady', 'Complete']);
  });

  it('retries a rejected write within five minutes, even if the clock is set back', async () => {
    fleet.register(1, true);
    fleet.rejection = statusError('Forbidden', 'exceeded quota');
    await fleet.settle();
    expect(fleet.sets.store.get(KEY)?.status?.failures).toMatchObject([{ clusterName: 'c0', reason: 'WriteFailed' }]);
    fleet.rejection = undefined;
    fleet.clock.set(fleet.clock.now() - 3_600_000);
    fleet.clock.advance(5_000);
    await fleet.settle();
    expect(fleet.tokens.store.size).toBe(1);
  });

  it('triggers a set for a change to the labels of a Cluster, and not for a change to its status', () => {
    fleet.register(1, true);
    const cluster = fleet.clusters.store.get('c0')!;
    fleet.triggered.clear();
    fleet.clusters.apply({ ...cluster, metadata: { ...cluster.metadata, resourceVersion: '2' }, status: { version: 'v1' } });
    expect([...fleet.triggered]).toEqual([]);
    fleet.clusters.apply({ ...cluster, metadata: { ...cluster.metadata, resourceVersion: '3', labels: { a: 'b' } } });
    expect([...fleet.triggered]).toEqual([KEY]);
  });

  it('ignores changes to a Cluster that the requester may not issue tokens for', () => {
    fleet.register(1, false);
    const cluster = fleet.clusters.store.get('c0')!;
    fleet.triggered.clear();
    fleet.clusters.apply({ ...cluster, metadata: { ...cluster.metadata, resourceVersion: '2', labels: { a: 'b' } } });
    expect([...fleet.triggered]).toEqual([]);
  });
});

describe('createSetTriggers', () => {
  async function fleetOf(count: number): Promise<Fleet> {
    const all = new Fleet(aSet());
    all.register(1, true);
    const setOf = (_: unknown, index: number) => ({ ...aSet(), metadata: { ...aSet().metadata, name: `s-${index}`, uid: `s-${index}` } });
    all.sets.list(...Array.from({ length: count }, setOf));
    await turn();
    all.triggered.clear();
    return all;
  }

  it('searches the sets of a Cluster in portions', async () => {
    const all = await fleetOf(1_000);
    const cluster = all.clusters.store.get('c0')!;
    all.clusters.apply({ ...cluster, metadata: { ...cluster.metadata, resourceVersion: '2', labels: { a: 'b' } } });
    const first = all.triggered.size;
    for (let turns = 0; turns < 10; turns++) await turn();
    expect([first, all.triggered.size]).toEqual([499, 1_000]);
  });

  const LONG = `a${'-'.repeat(240)}b`;
  it.each([
    ['a set', 'fleet'],
    ['a set whose long name is shortened in the names of ManagedTokens', LONG],
  ])('triggers %s when a foreign ManagedToken with the name of a member is deleted', async (_, name) => {
    const set = { ...aSet(), metadata: { ...aSet().metadata, name } };
    const one = new Fleet(set);
    one.register(1, true);
    const metadata = { namespace: 'team-a', name: toChildName(name, 'c0'), uid: 't', resourceVersion: '1' };
    const foreign = { ...aChild(aSet(), 'c0'), metadata };
    one.tokens.apply(foreign);
    await one.settle(`team-a/${name}`);
    one.triggered.clear();
    one.tokens.apply({ ...foreign, metadata: { ...metadata, resourceVersion: '2', labels: { a: 'b' } } });
    expect([...one.triggered]).toEqual([]);
    one.tokens.delete(foreign);
    expect([...one.triggered]).toEqual([`team-a/${name}`]);
  });

  it('triggers no set when a foreign ManagedToken is deleted whose Cluster the requester may not know', async () => {
    const one = new Fleet(aSet());
    one.register(1, false);
    const foreign = { ...aChild(aSet(), 'c0'), metadata: { namespace: 'team-a', name: 'fleet-c0', uid: 't', resourceVersion: '1' } };
    one.tokens.apply(foreign);
    await one.settle();
    one.triggered.clear();
    one.tokens.delete(foreign);
    expect([...one.triggered]).toEqual([]);
  });

  it('checks at most twice for many changes of a label that turn a ManagedToken into a surplus one and back', async () => {
    const one = new Fleet({ ...aSet(), spec: { ...aSet().spec, clusterSelector: { matchLabels: { env: 'prod' } } } });
    one.register(1, true);
    const cluster = one.clusters.store.get('c0')!;
    const label = async (version: number, env: string) => {
      one.clusters.apply({ ...cluster, metadata: { ...cluster.metadata, resourceVersion: `${version}`, labels: { env } } });
      await reconcileSet(one.deps, KEY, new AbortController().signal);
      one.clock.advance(100);
    };
    await label(2, 'prod');
    one.calls.length = 0;
    for (let version = 3; version < 103; version++) await label(version, version % 2 === 0 ? 'prod' : 'test');
    expect(one.count(/review/i)).toBeLessThanOrEqual(12);
    expect(one.count(/^delete$/)).toBe(0);
  });

  it('limits searches for many changes to one Cluster, and finds a set that created a ManagedToken in a state in between', async () => {
    const all = await fleetOf(1_000);
    const cluster = all.clusters.store.get('c0')!;
    const toPermissionCheck = jest.spyOn(all.deps.authorizer, 'toPermissionCheck');
    const change = (version: number, labels: Record<string, string>) =>
      all.clusters.apply({ ...cluster, metadata: { ...cluster.metadata, resourceVersion: `${version}`, labels } });
    const wanted = { ...aSet(), spec: { ...aSet().spec, clusterSelector: { matchLabels: { version: '50' } } } };
    all.sets.apply({ ...wanted, metadata: { ...wanted.metadata, name: 'between', uid: 'between' } });
    all.tokens.apply({ ...aChild(aSet(), 'c0'), metadata: { namespace: 'team-a', name: 'between-c0', uid: 't', resourceVersion: '1' } });
    all.triggered.clear();
    for (let version = 2; version < 102; version++) change(version, { version: `${version}` });
    for (let turns = 0; turns < 20; turns++) await turn();
    expect(toPermissionCheck.mock.calls.length).toBeLessThan(10_000);
    expect(all.triggered.size).toBe(1_001);
  });

  it('searches only the sets that publish ClusterProfiles if the health of a Cluster changes', async () => {
    const all = await fleetOf(1_000);
    const publishing = { ...aSet(), spec: { ...aSet().spec, clusterProfiles: true } };
    all.sets.apply({ ...publishing, metadata: { ...publishing.metadata, name: 'profiles', uid: 'profiles' } });
    all.triggered.clear();
    const cluster = all.clusters.store.get('c0')!;
    all.clusters.apply({ ...cluster, metadata: { ...cluster.metadata, resourceVersion: '2' }, status: { version: 'v1.36.4' } });
    expect([...all.triggered]).toEqual(['team-a/profiles']);
  });

  it('triggers the sets of a requester in portions if the requester is deleted and created again and again', async () => {
    const all = await fleetOf(1_000);
    const requester = { metadata: { namespace: 'team-a', name: 'default', uid: 'r', resourceVersion: '1' } };
    for (let changes = 0; changes < 100; changes++) {
      all.requesters.delete(requester);
      all.requesters.apply(requester);
    }
    const first = all.triggered.size;
    for (let turns = 0; turns < 10; turns++) await turn();
    expect([first, all.triggered.size]).toEqual([499, 1_000]);
    expect(all.deps.memory.find('s-999')?.isTriggeredByTenant).toBe(true);
  });

  it('triggers a set that became a stub because its namespace is over its budget', () => {
    const all = new Fleet(aSet());
    const update = (resourceVersion: string) => ({ ...aSet(), metadata: { ...aSet().metadata, resourceVersion } });
    all.sets.apply(update('2'));
    expect([...all.triggered]).toEqual([]);
    all.sets.apply({ ...update('3'), isOverBudget: true });
    expect([...all.triggered]).toEqual(['team-a/fleet']);
  });
});
