// Slots of the controller while targets do not respond: dials of some tenants, and withdrawals of other tenants.

import { describe, expect, it } from '@jest/globals';
import { PROTECTED_NAMESPACES } from '../../src/access/issue-permission.ts';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import { AnchorFinalizer, Annotation } from '../../src/api/names.ts';
import type { ApiObject, ClusterRole, ClusterRoleBinding, Secret, ServiceAccount } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { statusError } from '../../src/kubernetes/status.ts';
import { ClusterClients } from '../../src/targets/cluster-clients.ts';
import type { RegisteredCluster } from '../../src/targets/registry.ts';
import type { Target } from '../../src/targets/target.ts';
import { createTokenController } from '../../src/tokens/controller.ts';
import type { TokenInformers } from '../../src/tokens/informers.ts';
import type { StoredSecret } from '../../src/tokens/policy/secret.ts';
import type { StoredToken } from '../../src/tokens/policy/spec.ts';
import { evaluateToken } from '../../src/tokens/policy/state.ts';
import { desiredStatus } from '../../src/tokens/policy/status.ts';
import { HandInformer } from '../runtime/hand-informer.ts';
import { aGrant, aScene, aToken, NOON, type TokenBuilder } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';
import { silentLog } from '../support/silent-log.ts';
import { CREDENTIALS, registered, settings } from '../targets/registration.ts';
import { authority } from '../targets/wire-target.ts';

const CLUSTERS = ['fast', 'slow'] as const;
const GROUP = 'rbac.authorization.k8s.io';
const ROLE = {
  metadata: { name: 'issue' },
  rules: [{ apiGroups: ['registry.purser.dev'], resources: ['clusters/token'], verbs: ['issue'] }],
};

/** Returns a ManagedToken without a Secret. */
function aTokenOf(namespace: string, index = 0): TokenBuilder {
  const name = `t-${index}`;
  return aToken()
    .with({ clusterName: 'slow' })
    .withMetadata({ name, namespace, uid: `${namespace}-${index}`, resourceVersion: '1', generation: 1 })
    .writing({ name });
}

/** Returns the builder with anchors in `count` namespaces of the Clusters. */
function withAnchors(builder: TokenBuilder, count: number, clusters: readonly string[] = ['slow']): TokenBuilder {
  const anchors = clusters.flatMap((cluster) =>
    Array.from({ length: count }, (_, index) => ({
      cluster,
      namespace: index === 0 ? 'deploy' : `ns-${index}`,
      serviceAccount: 'deployer',
      clusterUID: cluster,
      credential: 'former',
    })),
  );
  return builder.withMetadata({ finalizers: [AnchorFinalizer] }).withStatus({ anchors });
}

interface Held {
  readonly token: StoredToken;
  readonly secret?: StoredSecret;
}

/** The key of `RECORD_KEY` on the hub. */
const RECORD_KEY_SECRET = { metadata: { name: 'purser-record-key' }, data: { key: Buffer.alloc(32, 1).toString('base64') } };

/** Returns a ManagedToken with a token in its Secret. */
function withSecret(builder: TokenBuilder): Held {
  const { status: { anchors } = {} } = builder.build();
  const scene = aScene(builder).holding(aGrant()).build();
  const status = desiredStatus(evaluateToken(scene, NOON + 1_000), {});
  return { token: { ...scene.token, status: { ...status, ...(anchors && { anchors }) } }, ...(scene.secret && { secret: scene.secret }) };
}

/** Controller, hub and two targets without sockets. All requests to a target hang while it is in `hanging`. */
class Queues {
  readonly clock = new FakeClock(NOON + 60_000);
  readonly hanging = new Set<string>(['slow']);
  /** Clusters of the requests in progress, and of all requests. */
  readonly open: string[] = [];
  readonly dials: string[] = [];
  /** Deleted and created anchors as method, cluster and namespace. */
  readonly anchors: string[] = [];
  readonly #waiting: (() => void)[] = [];
  /** Key and reason of each event. */
  readonly events: string[] = [];
  /** Keys of deleted Secrets. */
  readonly removed: string[] = [];
  /** Namespaces whose requesters the reviews of the hub allow. */
  readonly allowed = new Set<string>();
  readonly tokens = new HandInformer<ManagedToken>();
  readonly #secrets = new HandInformer<StoredSecret & ApiObject>();
  readonly #bindings = new HandInformer<ClusterRoleBinding>();
  readonly #requesters = new HandInformer<ServiceAccount>();
  reviews = 0;
  readonly #stopping = new AbortController();
  #version = 100;

  constructor(held: readonly Held[], { bound }: { readonly bound: readonly string[] }) {
    const namespaces = [...new Set(held.map(({ token }) => token.metadata.namespace))];
    const clusters = CLUSTERS.map((name) => registerAs(name));
    const informers = {
      tokens: feed(
        this.tokens,
        held.map(({ token }) => token as ManagedToken),
      ),
      secrets: feed(
        this.#secrets,
        held.flatMap(({ secret }) => secret ?? []),
      ),
      clusters: feed(
        new HandInformer<Cluster>(),
        clusters.map(({ cluster }) => cluster),
      ),
      credentials: [
        feed(
          new HandInformer<Secret>(),
          clusters.flatMap(({ credential }) => credential ?? []),
        ),
      ],
      requesters: feed(
        this.#requesters,
        namespaces.map((namespace) => ({ metadata: { namespace, name: 'default' } })),
      ),
      roles: feed(new HandInformer<ClusterRole>(), [ROLE]),
      bindings: feed(this.#bindings, bound.map(bindingOf)),
    };
    for (const namespace of bound) this.allowed.add(namespace);
    createTokenController({
      informers: informers as unknown as TokenInformers,
      hub: this.#hub(),
      clients: this.#clients(),
      recorder: { record: ({ metadata }, { reason }) => void this.events.push(`${metadata.namespace}/${metadata.name} ${reason}`) },
      clock: this.clock,
      random: () => 0,
      log: silentLog,
      settings: { verifyIntervalMs: 0, protectedNamespaces: PROTECTED_NAMESPACES, limits: {}, namespace: CREDENTIALS },
    })(this.#stopping.signal).subscribe();
  }

  /** Deletes the binding of a namespace, as an administrator. */
  withdraw(namespace: string): void {
    this.allowed.delete(namespace);
    this.#bindings.delete(bindingOf(namespace));
  }

  /** Re-creates the binding of a namespace, as an administrator. */
  grant(namespace: string): void {
    this.allowed.add(namespace);
    this.#bindings.apply(bindingOf(namespace));
  }

  /** Removes the requester of a namespace from the informer; it still exists on the hub. */
  loseRequester(namespace: string): void {
    this.#requesters.delete({ metadata: { namespace, name: 'default' } });
  }

  /** Changes a ManagedToken, as a tenant. */
  change(key: string, change: (token: ManagedToken) => Partial<ManagedToken>): void {
    const token = this.get(key);
    this.#store({ ...token, ...change(token) });
  }

  get(key: string): ManagedToken {
    const token = this.tokens.store.get(key);
    if (token === undefined) throw new Error(`The ManagedToken ${key} was not found.`);
    return token;
  }

  /** Lets this time pass, with everything that becomes due. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 100) {
      for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
      this.clock.advance(100);
    }
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  stop(): void {
    this.#stopping.abort();
  }

  #store(token: ManagedToken): ManagedToken {
    const stored = { ...token, metadata: { ...token.metadata, resourceVersion: String(++this.#version) } };
    this.tokens.apply(stored);
    return stored;
  }

  #hub(): KubeClient {
    const notFound = () => Promise.reject(statusError('NotFound', 'not found'));
    return {
      get: notFound,
      list: async () => ({ items: [RECORD_KEY_SECRET] }),
      createReview: async (_: unknown, { spec }: { readonly spec: { readonly user: string } }) => {
        this.reviews += 1;
        return { status: { allowed: this.allowed.has(spec.user.split(':')[2] ?? '') } };
      },
      updateStatus: async (_: unknown, token: ManagedToken) => this.#store(token),
      patch: async (
        _: unknown,
        { namespace, name }: { readonly namespace: string; readonly name: string },
        patch: Partial<ManagedToken>,
      ) => {
        const token = this.get(`${namespace}/${name}`);
        return this.#store({ ...token, metadata: { ...token.metadata, ...patch.metadata } });
      },
      delete: async (_: unknown, { namespace, name }: { readonly namespace: string; readonly name: string }) => {
        const secret = this.#secrets.store.get(`${namespace}/${name}`);
        if (secret === undefined) return await notFound();
        this.removed.push(`${namespace}/${name}`);
        return this.#secrets.delete(secret);
      },
    } as unknown as KubeClient;
  }

  /** Clients of targets that have every Secret. */
  #clients(): ClusterClients {
    const clients = new ClusterClients(settings(this.clock));
    const use = (known: RegisteredCluster, work: (target: Target) => Promise<unknown>) => {
      const { name } = known.cluster.metadata;
      const client = {
        get: async () => ({ metadata: { uid: 'anchor' } }),
        delete: async (_: unknown, anchor: { readonly namespace: string }) => void this.anchors.push(`DELETE ${name}/${anchor.namespace}`),
        create: async (_: unknown, { metadata }: ApiObject) => {
          this.anchors.push(`POST ${name}/${metadata.namespace}`);
          return { metadata: { uid: 'new' } };
        },
      } as unknown as KubeClient;
      const call: Target['call'] = async (request, signal) => {
        this.dials.push(name);
        await this.#respond(name, signal);
        return await request(client, {});
      };
      const endpoints = clients.endpointsOf(known);
      return work({ call, endpoints, clock: this.clock, rejectIfOpen: () => {}, username: { known: 'purser' } } as unknown as Target);
    };
    return { use, endpointsOf: clients.endpointsOf.bind(clients) } as unknown as ClusterClients;
  }

  async #respond(name: string, signal: AbortSignal | undefined): Promise<void> {
    if (!this.hanging.has(name)) return;
    this.open.push(name);
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push(resolve);
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    }).finally(() => this.open.splice(this.open.indexOf(name), 1));
  }

  /** Lets all targets respond. */
  respond(): void {
    this.hanging.clear();
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function registerAs(name: string): RegisteredCluster {
  const controller = { kind: 'Secret', namespace: CREDENTIALS, name } as const;
  const { cluster, credential } = registered({
    name,
    uid: name,
    servers: [`https://${name}.example.com`],
    ca: authority.certificate,
    controller,
  });
  return { cluster, credential: credential && { ...credential, metadata: { ...credential.metadata, name, uid: `credential-${name}` } } };
}

function bindingOf(namespace: string): ClusterRoleBinding {
  const subjects = [{ kind: 'Group', apiGroup: GROUP, name: `system:serviceaccounts:${namespace}` }];
  return {
    metadata: { name: namespace, resourceVersion: '1' },
    roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: 'issue' },
    subjects,
  };
}

function feed<T extends ApiObject>(informer: HandInformer<T>, objects: readonly T[]): HandInformer<T> {
  informer.changes$.subscribe();
  informer.list(...objects);
  return informer;
}

const ATTACKERS = ['hostile-a', 'hostile-b'];

function crowd(namespace: string, build: (builder: TokenBuilder) => TokenBuilder): readonly Held[] {
  return Array.from({ length: 40 }, (_, index) => ({ token: build(aTokenOf(namespace, index)).build() }));
}

describe('token controller while 80 ManagedTokens in two namespaces dial a target that does not respond', () => {
  it.each<[string, (builder: TokenBuilder) => TokenBuilder, { readonly bound?: boolean; readonly allowed?: boolean }]>([
    ['issue a token after anchors of former specs', (builder) => withAnchors(builder, 16), { bound: true }],
    ['delete anchors of former specs', (builder) => withAnchors(builder.with({ clusterName: 'fast' }).suspended(), 16), { bound: true }],
    ['are revoked without a review', (builder) => withRevokeRequest(withAnchors(builder, 16)), {}],
    ['are deleted without a review', (builder) => withAnchors(builder, 16).withMetadata({ deletionTimestamp: '2026-03-01T12:00:30Z' }), {}],
    ['issue a token that only a review allows', (builder) => builder, { allowed: true }],
    ['lost their permission', (builder) => withAnchors(builder, 16), {}],
  ])(
    'removes the Secret in another namespace 15 s after its permission is withdrawn, if the 80 ManagedTokens %s',
    async (_, build, given) => {
      const victim = withSecret(aTokenOf('victim').with({ clusterName: 'fast' }));
      const [first = '', second = ''] = ATTACKERS;
      const late = crowd(second, build);
      const world = new Queues([...crowd(first, build), victim, ...late.slice(0, 1)], {
        bound: ['victim', ...(given.bound ? ATTACKERS : [])],
      });
      if (given.allowed) for (const namespace of ATTACKERS) world.allowed.add(namespace);
      await world.pass(17_000);
      // One namespace holds as many slots as it may; the other takes the rest.
      for (const { token } of late.slice(1)) world.tokens.apply(token);
      await world.pass(17_000);
      expect(world.open).toContain('slow');
      world.withdraw('victim');
      await world.pass(16_000);
      expect(world.removed).toContain('victim/t-0');
      world.stop();
    },
  );

  it('removes the Secret of a withdrawn token whose anchors are on a target that does not respond', async () => {
    const victim = withSecret(withAnchors(aTokenOf('victim').with({ revocation: 'BoundSecret' }), 16));
    const world = new Queues([...ATTACKERS.flatMap((namespace) => crowd(namespace, (builder) => builder)), victim], {
      bound: ['victim', ...ATTACKERS],
    });
    await world.pass(5_000);
    world.withdraw('victim');
    await world.pass(16_000);
    expect(world.removed).toEqual(['victim/t-0']);
    expect(world.get('victim/t-0').status?.anchors).toHaveLength(16);
    world.respond();
    await world.pass(1_000);
    expect(world.get('victim/t-0').status?.anchors).toBeUndefined();
    world.stop();
  });

  it('uses at most the slots of one cluster for a target that does not respond', async () => {
    const [issuing, pruning] = [
      Array.from({ length: 40 }, (_, index) => ({ token: aTokenOf('hostile-a', index).build() })),
      Array.from({ length: 40 }, (_, index) => ({
        token: withAnchors(aTokenOf('hostile-b', index).with({ clusterName: 'fast' }).suspended(), 1).build(),
      })),
    ];
    const world = new Queues([...issuing, ...pruning], { bound: ATTACKERS });
    await world.pass(5_000);
    expect([world.open.length > 0, world.open.length <= 18]).toEqual([true, true]);
    world.stop();
  });
});

describe('token controller with anchors of former specs on a target that does not respond', () => {
  it('dials the cluster of the spec for a rotation that is requested before the former anchors are deleted', async () => {
    const { token, secret } = withSecret(withAnchors(aTokenOf('team').with({ clusterName: 'fast' }), 1));
    const world = new Queues(
      [{ token: { ...token, spec: { ...token.spec, rotation: { ...token.spec.rotation, suspend: true } } }, ...(secret && { secret }) }],
      { bound: ['team'] },
    );
    await world.pass(1_000);
    expect(world.dials).toEqual(['slow']);
    world.hanging.add('fast');
    world.change('team/t-0', ({ metadata, spec }) => ({
      metadata: { ...metadata, generation: 2, annotations: { [Annotation.rotate]: 'now' } },
      spec: { ...spec, rotation: { ...spec.rotation, suspend: false } },
    }));
    await world.pass(12_000);
    expect(world.open).toEqual(['slow', 'fast']);
    world.stop();
  });

  it('deletes the anchors once the target responds, and clears their list', async () => {
    const token = withAnchors(aTokenOf('team').with({ clusterName: 'fast' }).suspended(), 3).build();
    const world = new Queues([{ token }], { bound: ['team'] });
    await world.pass(5_000);
    expect(world.get('team/t-0').status?.anchors).toHaveLength(3);
    world.respond();
    await world.pass(1_000);
    expect(world.anchors.toSorted()).toEqual(['DELETE slow/deploy', 'DELETE slow/ns-1', 'DELETE slow/ns-2']);
    expect(world.get('team/t-0').status?.anchors).toBeUndefined();
    world.stop();
  });

  it('reports an anchor as orphaned after 60 s without a free slot of the cluster', async () => {
    const hung = crowd('hostile-a', (builder) => builder);
    const token = withAnchors(aTokenOf('hostile-a', 40).with({ clusterName: 'fast' }).suspended(), 1).build();
    const world = new Queues([...hung, { token }], { bound: ['hostile-a'] });
    await world.pass(50_000);
    expect(world.events).toEqual([]);
    await world.pass(15_000);
    expect(world.events).toContain('hostile-a/t-40 AnchorOrphaned');
    world.stop();
  });
});

describe('token controller with a permission that is granted again before the anchor is deleted', () => {
  it('deletes the old anchor before it creates the anchor of the next token', async () => {
    const world = new Queues([withSecret(withAnchors(aTokenOf('team').with({ revocation: 'BoundSecret' }).suspended(), 1))], {
      bound: ['team'],
    });
    await world.pass(1_000);
    world.withdraw('team');
    await world.pass(16_000);
    expect([world.removed, world.anchors]).toEqual([['team/t-0'], []]);
    world.change('team/t-0', ({ metadata, spec }) => ({
      metadata: { ...metadata, generation: 2 },
      spec: { ...spec, rotation: { ...spec.rotation, suspend: false } },
    }));
    world.grant('team');
    await world.pass(5_000);
    world.respond();
    await world.pass(12_000);
    expect(world.anchors.slice(0, 2)).toEqual(['DELETE slow/deploy', 'POST slow/deploy']);
    world.stop();
  });
});

describe('token controller with anchors on two clusters', () => {
  it('revokes a token after all anchors are deleted, each with a slot of its cluster', async () => {
    const held = withSecret(
      withAnchors(withRevokeRequest(aTokenOf('team').with({ clusterName: 'fast' }).suspended()), 2, ['fast', 'slow']),
    );
    const world = new Queues([held], { bound: ['team'] });
    await world.pass(5_000);
    expect(world.anchors).toEqual(['DELETE fast/deploy', 'DELETE fast/ns-1']);
    expect([world.open, world.removed, world.get('team/t-0').status?.lastRevokeRequest]).toEqual([['slow', 'slow'], [], undefined]);
    world.respond();
    await world.pass(1_000);
    expect(new Set(world.anchors)).toEqual(
      new Set(['fast/deploy', 'fast/ns-1', 'slow/deploy', 'slow/ns-1'].map((each) => `DELETE ${each}`)),
    );
    expect([world.removed, world.get('team/t-0').status?.lastRevokeRequest]).toEqual([['team/t-0'], 'leak']);
    world.stop();
  });
});

function withRevokeRequest(builder: TokenBuilder): TokenBuilder {
  return builder.with({ revocation: 'BoundSecret' }).annotated(Annotation.revoke, 'leak');
}

describe('token controller with an informer that lacks a requester by mistake', () => {
  it('issues tokens, and reviews the permission less and less often', async () => {
    const world = new Queues([withSecret(aTokenOf('team').with({ clusterName: 'fast' }))], { bound: ['team'] });
    await world.pass(1_000);
    world.loseRequester('team');
    await world.pass(1_000);
    const { length } = world.dials;
    world.change('team/t-0', ({ metadata }) => ({ metadata: { ...metadata, annotations: { [Annotation.rotate]: '1' } } }));
    await world.pass(3_000);
    expect(world.dials.slice(length)).toContain('fast');
    await world.pass(120_000);
    expect(world.reviews).toBeLessThan(20);
    expect(world.removed).toEqual([]);
    world.stop();
  });
});
