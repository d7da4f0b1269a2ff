// The main property of lists and watches: after any changes of clusters, permissions, connections and replicas, a client that lists and
// then watches has the state of a fresh list, or got 410.

import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { FakeClock } from '../../support/clock.ts';
import { contents, Reflector } from './reflector.ts';
import { callerOf, HandHub, Replica, settle } from './replica.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
const ROLES = ['r1', 'r2', 'r3'];
const SUBJECTS = [
  { kind: 'User', name: 'alice' },
  { kind: 'Group', name: 'team' },
  { kind: 'ServiceAccount', name: 'bot', namespace: 'ci' },
];

const name = fc.constantFrom(...NAMES);
const role = fc.constantFrom(...ROLES);
const subject = fc.constantFrom(...SUBJECTS);
const SETS = ['prod', 'dev'];
const GRANTED = [...NAMES, ...SETS.map((set) => `set:${set}`), 'set:-'];
const names = fc.oneof({ weight: 5, arbitrary: fc.subarray(GRANTED) }, { weight: 1, arbitrary: fc.constant('all' as const) });
/** Index of a caller of the run. */
const client = fc.nat(5);
const replica = fc.nat(1);
const collection = fc.constantFrom('clusters' as const, 'clusters' as const, 'roles' as const, 'bindings' as const);

function kind<const K extends string, T extends object>(type: K, fields: { [Field in keyof T]: fc.Arbitrary<T[Field]> }) {
  return fc.record({ type: fc.constant(type), ...fields }) as fc.Arbitrary<T & { readonly type: K }>;
}

const put = kind('put', { name, env: fc.constantFrom('prod', 'dev'), set: fc.constantFrom('', '', ...SETS) });
const remove = kind('delete', { name });
const step = kind('step', { replica, of: collection, count: fc.integer({ min: 1, max: 4 }) });
const list = kind('list', { client, replica, limit: fc.constantFrom(0, 0, 1, 2) });
const watch = kind('watch', { client, replica });
const read = kind('read', { client, count: fc.integer({ min: 1, max: 3 }) });

const OTHERS = [
  kind('grant', { role, names, subject }),
  kind('withdraw', { role }),
  kind('dropRole', { role }),
  kind('authorizer', { user: fc.constantFrom('alice', 'bob') }),
  kind('bookmark', {}),
  kind('relist', { replica, of: collection }),
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

class World {
  readonly hub = new HandHub();
  readonly clock = new FakeClock();
  readonly replicas: readonly Replica[];
  readonly clients: readonly Reflector[];

  constructor({ historyCapacity, callers }: Setting) {
    for (const each of NAMES.slice(0, 3)) this.hub.putCluster(each, { env: 'prod' });
    this.hub.grant('r1', ['a', 'b', 'x'], { kind: 'User', name: 'alice' });
    this.hub.grant('r2', ['b', 'c', 'set:prod'], { kind: 'Group', name: 'team' });
    this.hub.grant('admin', 'all', { kind: 'User', name: 'admin' });
    this.replicas = [0, 1].map(() => new Replica(this.hub, this.clock, { historyCapacity }));
    const alice = callerOf('alice', 'team');
    const all = [
      new Reflector(alice, '', true),
      new Reflector(alice, 'labelSelector=env%3Dprod', false),
      new Reflector(callerOf('bob', 'team'), '', false),
      new Reflector(callerOf('admin'), '', true),
      new Reflector(callerOf('admin'), 'labelSelector=env%3Dprod&fieldSelector=metadata.name!%3Da', false),
      new Reflector(callerOf('system:serviceaccount:ci:bot', 'system:serviceaccounts'), '', true),
    ];
    this.clients = callers.map((index) => all[index] as Reflector);
  }

  async act(action: Action): Promise<void> {
    if ('client' in action) return this.#request(action);
    if ('replica' in action) return this.#follow(action);
    if (action.type === 'time') return this.clock.advance(action.ms);
    return this.#write(action);
  }

  #follow(action: Extract<Action, { readonly of: string }>): void {
    const follower = this.replicas[action.replica]?.[action.of];
    if (action.type === 'relist') return follower?.list();
    for (let count = 0; count < action.count; count++) follower?.step();
  }

  #write(action: Exclude<Action, { readonly client: number } | { readonly replica: number } | { readonly type: 'time' }>): void {
    const { hub } = this;
    switch (action.type) {
      case 'put':
        return hub.putCluster(action.name, labelsOf(action), `https://10.0.0.${hub.revision}`);
      case 'delete':
        return hub.clusters.delete(action.name);
      case 'grant':
        return hub.grant(action.role, action.names, action.subject);
      case 'withdraw':
        return hub.bindings.delete(action.role);
      case 'dropRole':
        return hub.roles.delete(action.role);
      case 'authorizer':
        return void (hub.listers.delete(action.user) || hub.listers.add(action.user));
      case 'bookmark':
        return hub.clusters.bookmark();
    }
  }

  async #request(action: ClientAction): Promise<void> {
    const reflector = this.clients[action.client % this.clients.length] as Reflector;
    const at = this.replicas['replica' in action ? action.replica : 0] as Replica;
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

  /** Lets all replicas and clients catch up without further changes. */
  async catchUpAll(): Promise<void> {
    for (const each of this.replicas) await each.catchUp();
    // A change of the rules expires cached reviews.
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

async function check(all: readonly Action[], where: Setting): Promise<void> {
  const world = new World(where);
  for (const action of all) {
    await world.act(action);
    await settle();
  }
  await world.catchUpAll();
  for (const each of world.clients) {
    if (!each.isWatching && each.isCurrent) await each.watch(world.replicas[0] as Replica);
    await settle();
    each.read();
    if (!each.isCurrent || !each.isWatching) continue;
    const fresh = await (world.replicas[0] as Replica).get(each.query, each.caller);
    expect({ of: each.caller.user.username, query: each.query, has: contents(each.state.values()) }).toEqual({
      of: each.caller.user.username,
      query: each.query,
      has: contents(fresh.body.items),
    });
  }
  for (const each of world.clients) each.disconnect();
}

describe('list and watch', () => {
  it('leaves every client with the state of a fresh list or with 410', async () => {
    await fc.assert(fc.asyncProperty(actions, setting, check), { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 500) });
  });
});
