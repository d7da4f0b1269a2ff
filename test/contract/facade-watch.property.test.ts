// Property test over the wire, for each list: several callers list and watch while objects, permissions and connections change.

import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { clusterFacade } from './cluster-facade.ts';
import { eventually } from './eventually.ts';
import { WIRE_KINDS, type WireKind } from './listed-kinds.ts';
import { contractServer } from './server.ts';
import { WireReflector } from './wire-reflector.ts';

declare const testServer: 'embedded' | 'real';

const server = contractServer();
const facade = clusterFacade(server, { historyCapacity: 30 });

/** Number of an object: the index of its key in `WireKind.keys`. */
const object = fc.nat(4);
const user = fc.constantFrom('alice', 'bob');
const client = fc.nat(4);

const action = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant('put' as const), object, env: fc.constantFrom('prod', 'dev') }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('delete' as const), object }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('grant' as const), user, objects: fc.subarray([0, 1, 2, 3, 4, 5]) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('withdraw' as const), user }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('connect' as const), client, limit: fc.constantFrom(0, 2) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('disconnect' as const), client }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('pause' as const), client }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('resume' as const), client }) },
);

type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

class World {
  readonly clients: readonly WireReflector[];
  readonly #kind: WireKind;

  constructor(kind: WireKind) {
    this.#kind = kind;
    const { path } = kind;
    const { admin, alice, bob } = facade.tokens;
    this.clients = [
      new WireReflector(facade, { token: alice, path }),
      new WireReflector(facade, { token: alice, path, query: 'labelSelector=env%3Dprod' }),
      new WireReflector(facade, { token: bob, path: kind.namespacePath ?? path }),
      new WireReflector(facade, { token: admin, path }),
      new WireReflector(facade, { token: admin, path, query: 'fieldSelector=metadata.name!%3Da' }),
    ];
  }

  async act(next: Action): Promise<void> {
    const { hub } = facade;
    if ('client' in next) return this.#control(next);
    switch (next.type) {
      case 'put':
        return this.#kind.put(hub, this.#key(next.object), { env: next.env, at: performance.now().toFixed(3) });
      case 'delete':
        return this.#kind.delete(hub, this.#key(next.object));
      case 'grant':
        return this.#kind.grant(
          hub,
          next.user,
          next.objects.map((number) => this.#key(number)),
        );
      case 'withdraw':
        return this.#kind.withdraw(hub, next.user);
    }
  }

  #key(number: number): string {
    return this.#kind.keys[number] ?? this.#kind.missing;
  }

  async #control(next: Extract<Action, { readonly client: number }>): Promise<void> {
    const reflector = this.clients[next.client] as WireReflector;
    if (next.type === 'connect') await reflector.connect(next.limit);
    else reflector[next.type]();
  }

  /** Connects every client, and compares its contents with a fresh list. */
  async expectConsistent(): Promise<void> {
    for (const each of this.clients) {
      each.resume();
      await each.connect();
      expect(each.contents).toEqual(await each.listContents());
    }
  }
}

describe('list and watch of the façade', () => {
  it.each(WIRE_KINDS)('brings every client to the state of a new list after random changes to %s', async (_, kind) => {
    await kind.prepare(facade.hub);
    const world = new World(kind);
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 20, maxLength: 60 }), async (actions) => {
        for (const next of actions) await world.act(next);
        await eventually(() => world.expectConsistent());
        expect(world.clients.flatMap(({ problem }) => problem ?? [])).toEqual([]);
      }),
      { numRuns: testServer === 'real' ? 8 : 3, endOnFailure: true },
    );
    for (const each of world.clients) each.disconnect();
  });
});
