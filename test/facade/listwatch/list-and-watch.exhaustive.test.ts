// The main property of lists and watches, for each list: after any changes to objects, permissions, connections and replicas, a client
// that lists and then watches has the state of a fresh list, or got 410.

import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { FakeClock } from '../../support/clock.ts';
import { scaled } from '../../support/scaled.ts';
import { contents, Reflector } from './reflector.ts';
import { callerOf, HandHub, type ListReplica, Replica, type ReplicaOptions, settle } from './replica.ts';
import { type TokenGrant, TokenHub, TokenReplica } from './token-replica.ts';

const SUBJECTS = [
  { kind: 'User', name: 'alice' },
  { kind: 'Group', name: 'team' },
  { kind: 'ServiceAccount', name: 'bot', namespace: 'ci' },
];
const SETS = ['prod', 'dev'];
const subject = fc.constantFrom(...SUBJECTS);
/** Index of a caller of the run. */
const client = fc.nat(5);
const replica = fc.nat(1);
/** Number of an object, of a role and of a permission, which each list maps to its own. */
const object = fc.nat(5);
const role = fc.nat(2);
const names = fc.oneof(
  { weight: 5, arbitrary: fc.subarray([0, 1, 2, 3, 4, 5, 6, 7, 8]) },
  { weight: 1, arbitrary: fc.constant('all' as const) },
);
/** Informer of a replica: one of those of objects, or of permissions. */
const follower = fc.oneof(fc.constant(0), fc.nat(6));

function kind<const K extends string, T extends object>(type: K, fields: { [Field in keyof T]: fc.Arbitrary<T[Field]> }) {
  return fc.record({ type: fc.constant(type), ...fields }) as fc.Arbitrary<T & { readonly type: K }>;
}

const put = kind('put', { object, env: fc.constantFrom('prod', 'dev'), set: fc.constantFrom('', '', ...SETS) });
const remove = kind('delete', { object });
const step = kind('step', { replica, of: follower, count: fc.integer({ min: 1, max: 4 }) });
const list = kind('list', { client, replica, limit: fc.constantFrom(0, 0, 1, 2) });
const watch = kind('watch', { client, replica });
const read = kind('read', { client, count: fc.integer({ min: 1, max: 3 }) });

const OTHERS = [
  kind('grant', { role, names, subject, place: fc.nat(4) }),
  kind('withdraw', { role }),
  kind('dropRole', { role }),
  kind('authorizer', { user: fc.constantFrom('alice', 'bob') }),
  kind('bookmark', {}),
  kind('relist', { replica, of: follower }),
  kind('watchList', { client, replica }),
  kind('disconnect', { client }),
  kind('stall', { client }),
  kind('resume', { client }),
  kind('time', { ms: fc.constantFrom(300, 3_000, 61_000) }),
] as const;

/** Actions of one run, of some kinds only, so that few kinds are combined in many ways. */
const actions = fc
  .subarray([...OTHERS])
  .chain((others) => fc.array(fc.oneof(put, remove, step, list, watch, watch, read, ...others), { minLength: 5, maxLength: 80 }));

type Action = typeof actions extends fc.Arbitrary<(infer T)[]> ? T : never;
type ClientAction = Extract<Action, { readonly client: number }>;

interface Setting {
  readonly historyCapacity: number;
  /** Callers of the run. */
  readonly callers: readonly number[];
}

const setting: fc.Arbitrary<Setting> = fc.record({
  historyCapacity: fc.constantFrom(4, 1_000),
  callers: fc.subarray([0, 1, 2, 3, 4, 5], { minLength: 1 }),
});

type Put = Extract<Action, { readonly type: 'put' }>;
type Grant = Extract<Action, { readonly type: 'grant' }>;

/** A hub and a list under test. */
interface ListWorld {
  readonly hub: HandHub;
  /** Callers of the run, with their queries. */
  readonly clients: readonly Reflector[];
  createReplica(clock: FakeClock, options: ReplicaOptions): ListReplica;
  put(action: Put): void;
  delete(object: number): void;
  bookmark(): void;
  grant(action: Grant): void;
  withdraw(role: number): void;
  dropRole(role: number): void;
}

const ROLES = ['r1', 'r2', 'r3'];
const alice = callerOf('alice', 'team');
const bot = callerOf('system:serviceaccount:ci:bot', 'system:serviceaccounts');

function clusterWorld(): ListWorld {
  const hub = new HandHub();
  const keys = ['a', 'b', 'c', 'd', 'e', 'f'];
  const granted = [...keys, ...SETS.map((set) => `set:${set}`), 'set:-'];
  const nameOf = (number: number) => ROLES[number] as string;
  for (const each of keys.slice(0, 3)) hub.putCluster(each, { env: 'prod' });
  hub.grant('r1', ['a', 'b', 'x'], { kind: 'User', name: 'alice' });
  hub.grant('r2', ['b', 'c', 'set:prod'], { kind: 'Group', name: 'team' });
  hub.grant('admin', 'all', { kind: 'User', name: 'admin' });
  return {
    hub,
    clients: [
      new Reflector(alice, '', true),
      new Reflector(alice, 'labelSelector=env%3Dprod', false),
      new Reflector(callerOf('bob', 'team'), '', false),
      new Reflector(callerOf('admin'), '', true),
      new Reflector(callerOf('admin'), 'labelSelector=env%3Dprod&fieldSelector=metadata.name!%3Da', false),
      new Reflector(bot, '', true),
    ],
    createReplica: (clock, options) => new Replica(hub, clock, options),
    put: (action) => hub.putCluster(keys[action.object] as string, labelsOf(action), `https://10.0.0.${hub.revision}`),
    delete: (number) => hub.clusters.delete(keys[number] as string),
    bookmark: () => hub.clusters.bookmark(),
    grant: (action) =>
      hub.grant(nameOf(action.role), action.names === 'all' ? 'all' : action.names.map((each) => granted[each] as string), action.subject),
    withdraw: (number) => hub.bindings.delete(nameOf(number)),
    dropRole: (number) => hub.roles.delete(nameOf(number)),
  };
}

const NAMESPACES = ['team-a', 'team-b'];
/** Namespaces of a binding, and kinds of its role. */
const PLACES: readonly Pick<TokenGrant, 'namespace' | 'roleKind'>[] = [
  { namespace: undefined, roleKind: 'ClusterRole' },
  ...NAMESPACES.flatMap((namespace) => (['Role', 'ClusterRole'] as const).map((roleKind) => ({ namespace, roleKind }))),
];

/** Returns a world with ManagedTokens, of which replicas watch all namespaces together, or each namespace separately. */
function tokenWorld(namespaces?: readonly string[]): ListWorld {
  const hub = new TokenHub(namespaces);
  const keys = ['team-a/a', 'team-a/b', 'team-a/c', 'team-b/a', 'team-b/b', 'team-b/d'];
  const granted = ['a', 'b', 'c', 'd', 'x', 'team-a/a', '*', '', '/'];
  const nameOf = (number: number) => ROLES[number] as string;
  const grant = (number: number, place: number, grants: TokenGrant['names'], to: TokenGrant['subject']) =>
    hub.grantTokens({ name: nameOf(number), ...(PLACES[place] as (typeof PLACES)[number]), names: grants, subject: to });
  for (const each of [...keys.slice(0, 2), ...keys.slice(3, 5)]) hub.putToken(each, { env: 'prod' });
  grant(0, 1, ['a', 'x'], { kind: 'User', name: 'alice' });
  grant(1, 4, 'all', { kind: 'Group', name: 'team' });
  hub.grantTokens({ name: 'admin', namespace: undefined, roleKind: 'ClusterRole', names: 'all', subject: { kind: 'User', name: 'admin' } });
  return {
    hub,
    clients: [
      new Reflector(alice, '', true),
      new Reflector(alice, 'labelSelector=env%3Dprod', false, 'team-a'),
      new Reflector(callerOf('bob', 'team'), '', false),
      new Reflector(callerOf('admin'), '', true),
      new Reflector(callerOf('admin'), 'fieldSelector=metadata.name!%3Da', false, 'team-b'),
      new Reflector(bot, '', true, 'team-b'),
    ],
    createReplica: (clock, options) => new TokenReplica(hub, clock, options),
    put: (action) => hub.putToken(keys[action.object] as string, labelsOf(action), `cluster-${hub.revision}`),
    delete: (number) => hub.deleteToken(keys[number] as string),
    bookmark: () => [...hub.tokens.values()].forEach((tokens) => tokens.bookmark()),
    grant: (action) =>
      grant(
        action.role,
        action.place,
        action.names === 'all' ? 'all' : action.names.map((each) => granted[each] as string),
        action.subject,
      ),
    withdraw(number) {
      hub.bindings.delete(nameOf(number));
      for (const namespace of NAMESPACES) hub.namespacedBindings.delete(`${namespace}/${nameOf(number)}`);
    },
    dropRole(number) {
      hub.roles.delete(nameOf(number));
      for (const namespace of NAMESPACES) hub.namespacedRoles.delete(`${namespace}/${nameOf(number)}`);
    },
  };
}

class World {
  readonly #listed: ListWorld;
  readonly clock = new FakeClock();
  readonly replicas: readonly ListReplica[];
  readonly clients: readonly Reflector[];

  constructor(listed: ListWorld, { historyCapacity, callers }: Setting) {
    this.#listed = listed;
    this.replicas = [0, 1].map(() => listed.createReplica(this.clock, { historyCapacity }));
    this.clients = callers.map((index) => listed.clients[index] as Reflector);
  }

  async act(action: Action): Promise<void> {
    if ('client' in action) return this.#request(action);
    if ('replica' in action) return this.#follow(action);
    if (action.type === 'time') return this.clock.advance(action.ms);
    return this.#write(action);
  }

  #follow(action: Extract<Action, { readonly of: number }>): void {
    // The informers of objects are the last ones.
    const followers = [...(this.replicas[action.replica] as ListReplica).followers.values()].reverse();
    const chosen = followers[action.of % followers.length];
    if (action.type === 'relist') return chosen?.list();
    for (let count = 0; count < action.count; count++) chosen?.step();
  }

  #write(action: Exclude<Action, { readonly client: number } | { readonly replica: number } | { readonly type: 'time' }>): void {
    const { hub } = this.#listed;
    switch (action.type) {
      case 'put':
        return this.#listed.put(action);
      case 'delete':
        return this.#listed.delete(action.object);
      case 'grant':
        return this.#listed.grant(action);
      case 'withdraw':
        return this.#listed.withdraw(action.role);
      case 'dropRole':
        return this.#listed.dropRole(action.role);
      case 'authorizer':
        return void (hub.listers.delete(action.user) || hub.listers.add(action.user));
      case 'bookmark':
        return this.#listed.bookmark();
    }
  }

  async #request(action: ClientAction): Promise<void> {
    const reflector = this.clients[action.client % this.clients.length] as Reflector;
    const at = this.replicas['replica' in action ? action.replica : 0] as ListReplica;
    switch (action.type) {
      case 'list':
        return this.#advanceUntilDone(reflector.list(at, action.limit));
      case 'watch':
        return reflector.watch(at);
      case 'watchList':
        return this.#advanceUntilDone(reflector.watchList(at));
      case 'read':
        return reflector.read(action.count);
      case 'disconnect':
        return reflector.disconnect();
      case 'stall':
        return reflector.stall();
      case 'resume':
        return reflector.resumeReading();
    }
  }

  /** Advances the clock for callers who wait for a future version. */
  async #advanceUntilDone(request: Promise<void>): Promise<void> {
    const waiting = new Set([request]);
    const done = request.finally(() => waiting.delete(request));
    await settle();
    while (waiting.size > 0) {
      this.clock.advance(1_000);
      await settle();
    }
    await done;
  }

  /** Lets all replicas and clients catch up without additional changes. */
  async catchUpAll(): Promise<void> {
    for (const each of this.replicas) await each.catchUp();
    // A change to the rules expires cached reviews.
    for (let round = 0; round < 5; round++) {
      this.clock.advance(10_000);
      await settle();
    }
    for (const each of this.clients) {
      each.resumeReading();
      await settle();
      each.resumeReading();
      each.read();
    }
  }
}

function labelsOf({ env, set }: { readonly env: string; readonly set: string }): Readonly<Record<string, string>> {
  return { env, ...(set !== '' && { 'registry.purser.dev/set': set }) };
}

async function check(listed: ListWorld, all: readonly Action[], where: Setting): Promise<void> {
  const world = new World(listed, where);
  for (const action of all) {
    await world.act(action);
    await settle();
  }
  await world.catchUpAll();
  const [first] = world.replicas as readonly [ListReplica];
  for (const each of world.clients) {
    if (!each.isWatching && each.isCurrent) await each.watch(first);
    await settle();
    each.read();
    if (!each.isCurrent || !each.isWatching) continue;
    const fresh = await each.freshList(first);
    expect({ of: each.caller.user.username, query: each.query, has: contents(each.state.values()) }).toEqual({
      of: each.caller.user.username,
      query: each.query,
      has: contents(fresh),
    });
  }
  for (const each of world.clients) each.disconnect();
}

describe('list and watch', () => {
  it.each([
    ['clusters', clusterWorld],
    ['managedtokens', () => tokenWorld()],
    ['managedtokens in several watched namespaces', () => tokenWorld(NAMESPACES)],
  ] as const)('leaves every client with the state of a new list, or with 410: %s', async (_, createWorld) => {
    const property = fc.asyncProperty(actions, setting, (all, where) => check(createWorld(), all, where));
    await fc.assert(property, { numRuns: Number(process.env['PROPERTY_RUNS'] ?? scaled({ full: 500, quick: 50 })) });
  });
});
