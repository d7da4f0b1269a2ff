// Property test over the wire: several callers list and watch while clusters, permissions and connections change.

import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import { ClusterRoleBindings, ClusterRoles, Clusters } from '../../src/api/resources.ts';
import { hasReason } from '../../src/kubernetes/status.ts';
import { type ClusterFacade, clusterFacade } from './cluster-facade.ts';
import { eventually } from './eventually.ts';
import { contractServer } from './server.ts';
import { WireReflector } from './wire-reflector.ts';

const server = contractServer();
const facade = clusterFacade(server, { historyCapacity: 30 });

const NAMES = ['a', 'b', 'c', 'd', 'e'];
const name = fc.constantFrom(...NAMES);
const user = fc.constantFrom('alice', 'bob');
const client = fc.nat(4);

const action = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant('put' as const), name, env: fc.constantFrom('prod', 'dev') }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('delete' as const), name }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('grant' as const), user, names: fc.subarray([...NAMES, 'x']) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('withdraw' as const), user }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('connect' as const), client, limit: fc.constantFrom(0, 2) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('disconnect' as const), client }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('pause' as const), client }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('resume' as const), client }) },
);

type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

class World {
  readonly clients: readonly WireReflector[];
  readonly #hub: ClusterFacade['hub'];

  constructor({ hub }: ClusterFacade) {
    this.#hub = hub;
    const { admin, alice, bob } = facade.tokens;
    this.clients = [
      new WireReflector(facade, alice),
      new WireReflector(facade, alice, 'labelSelector=env%3Dprod'),
      new WireReflector(facade, bob),
      new WireReflector(facade, admin),
      new WireReflector(facade, admin, 'fieldSelector=metadata.name!%3Da'),
    ];
  }

  async act(next: Action): Promise<void> {
    if ('client' in next) return this.#control(next);
    switch (next.type) {
      case 'put':
        return void (await this.#hub.apply(Clusters, buildCluster(next.name, next.env), { force: true }));
      case 'delete':
        return void (await this.#hub.delete(Clusters, { name: next.name }).catch(ignoreNotFound));
      case 'grant':
        return this.#grant(next.user, next.names);
      case 'withdraw':
        return void (await this.#hub.delete(ClusterRoleBindings, { name: next.user }).catch(ignoreNotFound));
    }
  }

  async #control(next: Extract<Action, { readonly client: number }>): Promise<void> {
    const reflector = this.clients[next.client] as WireReflector;
    if (next.type === 'connect') await reflector.connect(next.limit);
    else reflector[next.type]();
  }

  async #grant(to: string, names: readonly string[]): Promise<void> {
    const rules =
      names.length === 0 ? [] : [{ apiGroups: ['registry.purser.dev'], resources: ['clusters'], verbs: ['get'], resourceNames: names }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: to };
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: to }];
    await this.#hub.apply(ClusterRoles, { metadata: { name: to }, rules }, { force: true });
    await this.#hub.apply(ClusterRoleBindings, { metadata: { name: to }, roleRef, subjects }, { force: true });
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

function buildCluster(named: string, env: string): Cluster {
  const serverEndpoints = [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://10.0.0.1' }];
  const metadata = { name: named, labels: { env, at: performance.now().toFixed(3) } };
  return { apiVersion: 'registry.purser.dev/v1alpha1', kind: 'Cluster', metadata, spec: { orchestratorApiEndpoints: { serverEndpoints } } };
}

function ignoreNotFound(error: unknown): void {
  if (!hasReason(error, 'NotFound')) throw error;
}

describe('list and watch of the façade', () => {
  it('converges every client to the state of a fresh list after random changes', async () => {
    const world = new World(facade);
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 20, maxLength: 60 }), async (actions) => {
        for (const next of actions) await world.act(next);
        await eventually(() => world.expectConsistent());
        expect(world.clients.flatMap(({ problem }) => problem ?? [])).toEqual([]);
      }),
      { numRuns: 8, endOnFailure: true },
    );
    for (const each of world.clients) each.disconnect();
  });
});
