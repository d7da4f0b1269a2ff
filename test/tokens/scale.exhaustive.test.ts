// Very many ManagedTokens: cost when nothing is due, and order when everything is.

import { describe, expect, it } from '@jest/globals';
import { Observable } from 'rxjs';
import { PROTECTED_NAMESPACES } from '../../src/access/issue-permission.ts';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import { Annotation } from '../../src/api/names.ts';
import {
  type ApiObject,
  type ClusterRole,
  type ClusterRoleBinding,
  type Secret,
  Secrets,
  type ServiceAccount,
} from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { statusError } from '../../src/kubernetes/status.ts';
import { runController } from '../../src/runtime/controller.ts';
import { planRetry } from '../../src/runtime/retry-policy.ts';
import type { Request } from '../../src/runtime/work-queue.ts';
import { ClusterClients } from '../../src/targets/cluster-clients.ts';
import type { ExceededBudget } from '../../src/telemetry/exposition.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { createTokenController } from '../../src/tokens/controller.ts';
import type { TokenInformers } from '../../src/tokens/informers.ts';
import { computeRenewAt } from '../../src/tokens/policy/rotation.ts';
import type { StoredSecret } from '../../src/tokens/policy/secret.ts';
import { evaluateToken } from '../../src/tokens/policy/state.ts';
import { desiredStatus } from '../../src/tokens/policy/status.ts';
import { eventually } from '../kube/eventually.ts';
import { HandInformer } from '../runtime/hand-informer.ts';
import { aCluster, aGrant, aScene, aToken, NOON, SERVER } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';
import { onlyExhaustive, scaled } from '../support/scaled.ts';
import { registered, settings } from '../targets/registration.ts';
import { NO_METRICS } from './no-metrics.ts';

const MANY = 10_000;
const RESTARTED = scaled({ full: 2_000, quick: 500 });
const MINUTE = 60_000;

interface Held {
  readonly token: ManagedToken;
  readonly secret?: StoredSecret;
}

/** Returns a ManagedToken, with Secret and status if it has a token, which was issued at noon. */
function managedToken(namespace: string, index: number, hasToken: boolean): Held {
  const builder = aToken().withMetadata({ name: `t-${index}`, namespace, uid: `${namespace}-${index}`, resourceVersion: '1' });
  if (!hasToken) return { token: builder.build() };
  const scene = aScene(builder).holding(aGrant()).build();
  const token = { ...scene.token, status: desiredStatus(evaluateToken(scene, NOON + 1_000), {}) };
  return { token, ...(scene.secret && { secret: scene.secret }) };
}

const CLUSTER = aCluster();
const OWN_ACCOUNT = { kind: 'ServiceAccount', namespace: 'purser-system', name: 'purser' } as const;
/** The hub is the Cluster of the tokens, because it needs no credential. */
const HUB = {
  clusterName: CLUSTER.metadata.name,
  client: { transport: { server: SERVER, ca: atob(CLUSTER.spec.orchestratorApiEndpoints.caBundle ?? '') } } as unknown as KubeClient,
  namespace: 'purser-system',
};

interface Sent {
  readonly spec?: { readonly user?: string };
  readonly metadata?: ApiObject['metadata'];
}

/** A controller with a hub client that records requests instead of sending them. */
class Crowd {
  readonly clock: FakeClock;
  readonly sent: string[] = [];
  readonly reconciled: string[] = [];
  readonly #informers: TokenInformers;
  readonly #stopping = new AbortController();

  readonly #hangs: (what: string) => boolean;

  /** Returns the namespaces over their budgets. */
  overBudget: () => Iterable<ExceededBudget> = () => [];

  /** Requests that `hangs` matches get no response. */
  constructor(now: number, held: readonly Held[], hangs: (what: string) => boolean = () => false) {
    this.clock = new FakeClock(now);
    this.#hangs = hangs;
    const { cluster: reachable, credential } = registered({ name: 'reachable', uid: 'reachable', servers: [SERVER] });
    const rule = { apiGroups: ['registry.purser.dev'], resources: ['clusters/token'], verbs: ['issue'] };
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'issue' };
    const subjects = [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:serviceaccounts' }];
    const namespaces = [...new Set(held.map(({ token }) => token.metadata.namespace ?? ''))];
    this.#informers = {
      tokens: informerWith<ManagedToken>(held.map(({ token }) => token)),
      secrets: informerWith<StoredSecret & ApiObject>(held.flatMap(({ secret }) => secret ?? [])),
      clusters: informerWith<Cluster>([{ ...CLUSTER, spec: { ...CLUSTER.spec, authInfo: { controller: OWN_ACCOUNT } } }, reachable]),
      credentials: [informerWith<Secret>(credential === undefined ? [] : [credential])],
      requesters: informerWith<ServiceAccount>(namespaces.map((namespace) => ({ metadata: { namespace, name: 'default' } }))),
      roles: informerWith<ClusterRole>([{ metadata: { name: 'issue' }, rules: [rule] }]),
      bindings: informerWith<ClusterRoleBinding>([{ metadata: { name: 'issue' }, roleRef, subjects }]),
    } as unknown as TokenInformers;
  }

  run(): void {
    const refuse =
      (what: string) =>
      async (_kind: unknown, object: Sent, { signal }: { readonly signal?: AbortSignal } = {}) => {
        const sent = `${what} ${object.spec?.user ?? object.metadata?.namespace ?? ''}`;
        this.sent.push(sent);
        if (this.#hangs(sent)) await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
        throw statusError('InternalError', 'the hub does not respond');
      };
    // The removal limit is read once for all ManagedTokens.
    const get = async () => Promise.reject(statusError('NotFound', 'no such ConfigMap'));
    const list = async (kind: unknown, { namespace }: { readonly namespace: string }) => {
      // The record key is read once for all ManagedTokens.
      if (kind === Secrets) return { items: [{ metadata: { namespace }, data: { key: Buffer.alloc(32).toString('base64') } }] };
      this.sent.push(`list ${namespace}`);
      return { items: [] };
    };
    const hub = { createReview: refuse('review'), updateStatus: refuse('status'), get, list } as unknown as KubeClient;
    const observeBudgets = (_: string, overBudget: () => Iterable<ExceededBudget>) => {
      this.overBudget = overBudget;
    };
    createTokenController({
      informers: this.#informers,
      hub,
      clients: new ClusterClients(settings(this.clock, { hub: HUB })),
      recorder: { record: () => void this.sent.push('event') },
      clock: this.clock,
      random: () => 0,
      log: createLogger({ level: 'silent', readable: false, write: () => {} }),
      metrics: { ...NO_METRICS, observeBudgets },
      settings: { verifyIntervalMs: 15 * MINUTE, protectedNamespaces: PROTECTED_NAMESPACES, limits: {}, namespace: 'purser-system' },
    })(this.#stopping.signal).subscribe(({ key }) => this.reconciled.push(key));
  }

  /** Changes a ManagedToken, as a tenant. */
  change(token: ManagedToken, version: number): void {
    const metadata = { ...token.metadata, generation: version, resourceVersion: String(version) };
    (this.#informers.tokens as unknown as HandInformer<ManagedToken>).apply({ ...token, metadata });
  }

  /** Changes a Secret, as a tenant. */
  changeSecret(secret: StoredSecret, version: number): void {
    const metadata = { ...secret.metadata, resourceVersion: String(version) };
    (this.#informers.secrets as unknown as HandInformer<StoredSecret & ApiObject>).apply({ ...secret, metadata });
  }

  /** Changes the Cluster of all ManagedTokens, as an administrator. */
  changeCluster(version: number): void {
    const [cluster] = this.#informers.clusters.store.list();
    if (cluster === undefined) throw new Error('The Cluster was not found.');
    const metadata = { ...cluster.metadata, generation: version, resourceVersion: String(version) };
    (this.#informers.clusters as unknown as HandInformer<Cluster>).apply({ ...cluster, metadata });
  }

  /** Waits until the controller has completed this number of reconciles in total. */
  async settle(reconciles: number): Promise<void> {
    while (this.reconciled.length < reconciles) await new Promise((resolve) => setImmediate(resolve));
  }

  stop(): void {
    this.#stopping.abort();
  }
}

function informerWith<T extends ApiObject>(objects: readonly T[]): HandInformer<T> {
  const informer = new HandInformer<T>();
  informer.changes$.subscribe();
  informer.list(...objects);
  return informer;
}

describe('token controller after a restart with many ManagedTokens', () => {
  it('reconciles each ManagedToken once, and sends no request', async () => {
    const crowd = new Crowd(
      NOON + MINUTE,
      Array.from({ length: RESTARTED }, (_, index) => managedToken(`team-${index % 50}`, index, true)),
    );
    crowd.run();
    await crowd.settle(RESTARTED);
    crowd.stop();

    expect([new Set(crowd.reconciled).size, crowd.reconciled.length, crowd.sent]).toEqual([RESTARTED, RESTARTED, []]);
  });
});

describe('token controller with a namespace of very many ManagedTokens', () => {
  it('reconciles the due and the new tokens of other namespaces on the same cluster within the first 100 reconciles', async () => {
    const crowd = Array.from({ length: 2_000 }, (_, index) => managedToken('crowded', index, false));
    const due = Array.from({ length: 20 }, (_, index) => managedToken('team-due', index, true));
    const fresh = Array.from({ length: 20 }, (_, index) => managedToken('team-new', index, false));
    const world = new Crowd(NOON + 50 * MINUTE, [...crowd, ...due, ...fresh]);
    world.run();
    await world.settle(200);
    world.stop();
    const first = world.reconciled.slice(0, 100);

    expect(first.filter((key) => key.startsWith('team-due/'))).toHaveLength(20);
    expect(first.filter((key) => key.startsWith('team-new/'))).toHaveLength(20);
  });
});

describe('token controller with 544 hanging ManagedTokens for invented clusters', () => {
  it('gives hanging ManagedTokens a few slots and delays no other namespace', async () => {
    const crowd = Array.from({ length: 544 }, (_, index) => {
      const { token } = managedToken('crowded', index, false);
      return { token: { ...token, spec: { ...token.spec, clusterName: `made-up-${index}` } } };
    });
    const world = new Crowd(NOON + 50 * MINUTE, [...crowd, managedToken('team-due', 0, true)], (what) => what.includes('crowded'));
    world.run();
    await world.settle(1);
    world.stop();

    expect(world.reconciled).toEqual(['team-due/t-0']);
    expect(world.sent.filter((what) => what.includes('crowded')).length).toBeLessThanOrEqual(18);
  });
});

describe('token controller with a ManagedToken that changes constantly', () => {
  it('sends no more reviews than the budget of the namespace allows, and serves other namespaces', async () => {
    const { token: made } = managedToken('restless', 0, false);
    const token = { ...made, spec: { ...made.spec, clusterName: 'reachable' } };
    const world = new Crowd(NOON + 50 * MINUTE, [{ token }, managedToken('team-due', 0, true)]);
    world.run();
    for (let version = 2; version < 1_000; version++) {
      world.change(token, version);
      world.clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
    world.stop();
    const reviews = world.sent.filter((what) => what === 'review system:serviceaccount:restless:default').length;

    // Six at once and two a minute for each of 51 ManagedTokens.
    expect([reviews > 100, reviews <= 51 * (6 + 2 * 2)]).toEqual([true, true]);
    expect(world.reconciled).toContain('team-due/t-0');
  });
});

describe('token controller with objects in a namespace that change continually', () => {
  const claimants = Array.from({ length: 32 }, (_, index) => {
    const { token } = managedToken('restless', index, false);
    const spec = {
      ...token.spec,
      requesterServiceAccountName: 'ghost',
      secret: { ...token.spec.secret, ...(index > 15 && { name: 'fan' }) },
    };
    return { ...token, spec };
  });
  const ownerReferences = claimants.slice(0, 16).map(({ metadata: { name = '', uid = '' } }) => ({
    apiVersion: 'tokens.purser.dev/v1alpha1',
    kind: 'ManagedToken',
    name,
    uid,
  }));
  const secret = { metadata: { namespace: 'restless', name: 'fan', uid: 'fan', ownerReferences } } as unknown as StoredSecret;

  it('reconciles the claimants of a Secret no more often than the budget of the namespace allows, and reports the namespace until the controller stops', async () => {
    const held = [...claimants.map((token, index) => ({ token, ...(index === 0 && { secret }) })), managedToken('team-due', 0, true)];
    const world = new Crowd(NOON + 50 * MINUTE, held);
    world.run();
    for (let version = 2; version < 500; version++) {
      world.changeSecret(secret, version);
      world.clock.advance(20);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const overBudget = [...world.overBudget()];
    world.stop();
    const lists = world.sent.filter((what) => what === 'list restless').length;

    // Six at once and two a minute for each of 82 ManagedTokens.
    expect([lists > 100, lists <= 82 * (6 + 2)]).toEqual([true, true]);
    // Each of 32 ManagedTokens is deferred at most once a second.
    expect(world.reconciled.filter((key) => key.startsWith('restless/')).length).toBeLessThanOrEqual(lists + 32 * 12);
    expect(overBudget).toContainEqual(['restless', 'reviews']);
    expect(world.reconciled).toContain('team-due/t-0');
    await eventually(() => expect([...world.overBudget()]).toEqual([]));
  });

  onlyExhaustive(() => {
    it('reconciles a ManagedToken no more often than the budget of the namespace allows, and acts on a request to revoke within a second', async () => {
      const quiet = managedToken('restless', 0, true);
      const world = new Crowd(NOON + MINUTE, [quiet]);
      world.run();
      await world.settle(1);
      for (let version = 2; version < 2_000; version++) {
        world.change(quiet.token, version);
        world.clock.advance(20);
        await new Promise((resolve) => setImmediate(resolve));
      }
      const countWrites = () => world.sent.filter((what) => what === 'status restless').length;
      const writes = countWrites();

      // Twenty immediately and six a minute for each of 51 ManagedTokens.
      expect([writes > 500, writes <= 51 * (20 + 6)]).toEqual([true, true]);
      expect([...world.overBudget()]).toContainEqual(['restless', 'runs']);
      const annotations = { [Annotation.revoke]: 'leak' };
      world.change({ ...quiet.token, metadata: { ...quiet.token.metadata, annotations } }, 2_000);
      world.clock.advance(1_000);
      while (countWrites() === writes) await new Promise((resolve) => setImmediate(resolve));
      world.stop();
    });
  });

  onlyExhaustive(() => {
    it('charges no namespace for changes to a Cluster', async () => {
      const world = new Crowd(NOON + MINUTE, [managedToken('team-a', 0, true)]);
      world.run();
      await world.settle(1);
      for (let version = 2; version < 2_000; version++) {
        world.changeCluster(version);
        await world.settle(version);
      }
      world.stop();

      expect([...world.overBudget()]).toEqual([]);
    });
  });
});

describe('token controller with a reconcile that hangs', () => {
  it('ends the reconcile after a minute', async () => {
    const world = new Crowd(NOON + 50 * MINUTE, [managedToken('team-due', 0, true)], (what) => what.startsWith('review'));
    world.run();
    while (world.sent.length === 0) await new Promise((resolve) => setImmediate(resolve));
    world.clock.advance(MINUTE);
    await world.settle(1);
    world.stop();

    expect(world.reconciled).toEqual(['team-due/t-0']);
  });
});

const CLUSTERS = 20;
const LIMITS = { concurrency: 512, concurrencyPerLane: 16, tenantShare: Infinity };
const TAKES_MS = 50;

interface Due {
  readonly key: string;
  readonly dueAt: number;
  readonly lane: string;
  readonly tenant?: string;
  readonly deadlineAt: number;
}

/** Runs each key for 50 ms with a controller with these limits. Returns the runs and the peak numbers of concurrent runs. */
async function rush(all: readonly Due[], limits = LIMITS) {
  const clock = new FakeClock(NOON);
  const byKey = new Map(all.map((due) => [due.key, due]));
  const running = new Map<string, number>();
  const runs: { readonly key: string; readonly at: number }[] = [];
  let [peak, lanePeak, total] = [0, 0, 0];
  const count = (lane: string, by: number) => {
    total += by;
    running.set(lane, (running.get(lane) ?? 0) + by);
    peak = Math.max(peak, total);
    lanePeak = Math.max(lanePeak, running.get(lane) ?? 0);
  };
  const reconcile = async (key: string) => {
    const { lane } = byKey.get(key) as Due;
    runs.push({ key, at: clock.now() });
    count(lane, 1);
    await new Promise<void>((resolve) => void clock.wakeAfter(TAKES_MS, resolve));
    count(lane, -1);
    return {};
  };
  const requests: readonly Request<string>[] = all.map(({ key, dueAt }) => ({ key, dueAt }));
  let ordered = 0;
  const priorityOf = (key: string) => {
    ordered += 1;
    return byKey.get(key) as Due;
  };
  const retryPolicy = (failure: Parameters<typeof planRetry>[0]) => planRetry(failure, { random: 0 });
  const done: string[] = [];
  // The stream never completes, because that would stop the controller.
  const subscription = runController(new Observable<Request<string>>((subscriber) => requests.forEach((each) => subscriber.next(each))), {
    reconcile,
    retryPolicy,
    clock,
    priorityOf,
    ...limits,
  }).subscribe(({ key }) => done.push(key));
  while (done.length < all.length) {
    clock.advance(TAKES_MS);
    // The controller pauses after it has ordered or started some keys.
    for (let before = -1; before !== runs.length + ordered; ) {
      before = runs.length + ordered;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  subscription.unsubscribe();
  return { runs, peak, lanePeak };
}

describe('token controller with 2,000 urgent tokens of one namespace', () => {
  const limits = { concurrency: 512, concurrencyPerLane: 18, tenantShare: 8 };
  const crowd = Array.from({ length: 2_000 }, (_, index) => due('crowd', index, NOON, NOON + 1));
  const lastRun = async (all: readonly Due[]) => {
    const { runs } = await rush(all, limits);
    return Math.max(...runs.filter(({ key }) => key.startsWith('calm/')).map(({ at }) => at)) + TAKES_MS - NOON - MINUTE / 60;
  };

  function due(tenant: string, index: number, dueAt: number, deadlineAt: number): Due {
    return { key: `${tenant}/${index}`, tenant, lane: 'prod', dueAt, deadlineAt };
  }

  it.each([1, 160])('renews %i tokens of another namespace in at most twice the time that they need alone', async (count) => {
    // These tokens become due while the crowd holds all of its slots.
    const calm = Array.from({ length: count }, (_, index) => due('calm', index, NOON + MINUTE / 60, NOON + 60 * MINUTE));
    const [alone, crowded] = [await lastRun(calm), await lastRun([...crowd, ...calm])];

    expect(crowded).toBeLessThanOrEqual(2 * alone);
  });
});

describe('token controller with 10,000 tokens of the same expiry', () => {
  it('renews all tokens in time, spread out and within the limits', async () => {
    const lifetime = { issuedAt: NOON, expiresAt: NOON + 60 * MINUTE };
    const all = Array.from({ length: MANY }, (_, index) => {
      const dueAt = computeRenewAt(lifetime, '20%', `uid-${index}`) - 44 * MINUTE;
      return { key: `${index}`, dueAt, lane: `cluster-${index % CLUSTERS}`, deadlineAt: lifetime.expiresAt };
    });
    const perSecond = new Map<number, number>();
    for (const { dueAt } of all) perSecond.set(dueAt, (perSecond.get(dueAt) ?? 0) + 1);
    const { runs, peak, lanePeak } = await rush(all);

    // Three minutes of an hour; evenly spread, that is 56 each second.
    expect(Math.max(...perSecond.values())).toBeLessThan(110);
    expect([peak <= LIMITS.concurrency, lanePeak <= LIMITS.concurrencyPerLane]).toEqual([true, true]);
    expect(Math.max(...runs.map(({ at }) => at))).toBeLessThan(NOON + 6 * MINUTE);
  });
});

describe('token controller after an outage of all targets', () => {
  it('renews tokens in order of their expiry, within the limits', async () => {
    const all = Array.from({ length: 5_000 }, (_, index) => {
      const lane = `cluster-${index % CLUSTERS}`;
      return { key: `${index}`, dueAt: NOON, lane, deadlineAt: NOON + (((index * 7_919) % 5_000) + 1) * 1_000 };
    });
    const { runs, peak, lanePeak } = await rush(all);
    const deadlines = new Map(all.map(({ key, deadlineAt }) => [key, deadlineAt]));
    const order = runs.map(({ key }) => deadlines.get(key) ?? 0);
    const inversions = order.filter((deadlineAt, index) => deadlineAt < (order[index - LIMITS.concurrency] ?? 0));

    expect([peak, lanePeak]).toEqual([CLUSTERS * LIMITS.concurrencyPerLane, LIMITS.concurrencyPerLane]);
    expect(inversions.length).toBeLessThan(order.length / 20);
    expect(runs.map(({ key }) => key).slice(0, 3)).toEqual(
      all
        .toSorted((a, b) => a.deadlineAt - b.deadlineAt)
        .slice(0, 3)
        .map(({ key }) => key),
    );
  });
});
