// Informers of the list of ManagedTokens on a hub: the objects that they keep, and the permissions that they need.

import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { merge, type Subscription } from 'rxjs';
import { ManagedTokens, RoleBindings, Roles } from '../../src/api/resources.ts';
import { createManagedTokenInformers } from '../../src/facade/managed-tokens/informers.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { waitUntilServed } from '../../src/kube/discovery.ts';
import type { ListWatchProblem } from '../../src/kube/informer.ts';
import { createFixedConfig } from '../../src/kube/kube-config.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { hasReason } from '../../src/kubernetes/status.ts';
import { systemClock as clock } from '../../src/std/clock.ts';
import { base64 } from '../targets/registration.ts';
import { clusterFacade } from './cluster-facade.ts';
import { eventually } from './eventually.ts';
import { WIRE_KINDS } from './listed-kinds.ts';
import { contractServer } from './server.ts';

declare const testServer: 'embedded' | 'real';
const server = contractServer();
const facade = clusterFacade(server);
const FORCE = { force: true } as const;
const tokens = WIRE_KINDS.find(([plural]) => plural === 'managedtokens')![1];
let running: Subscription | undefined;

beforeAll(async () => {
  const { hub } = facade;
  await waitUntilServed(hub, [ManagedTokens], { clock, random: Math.random, signal: AbortSignal.timeout(30_000) });
  await tokens.prepare(hub);
  await tokens.put(hub, 'team-a/a', { env: 'prod' });
  await tokens.put(hub, 'team-b/a', { env: 'prod' });
  await tokens.grant(hub, 'alice', ['team-a/a', 'team-b/a']);
});
afterEach(() => running?.unsubscribe());

/** Starts the informers, and waits until they are synced. */
async function start(namespaces?: readonly string[]) {
  const informers = createManagedTokenInformers({ client: facade.hub, clock, random: Math.random, namespaces });
  const { objects, roles, bindings } = informers;
  running = merge(objects.batches$, roles.batches$, bindings.batches$).subscribe();
  await eventually(async () => expect([objects, roles, bindings].map(({ synced }) => synced)).toEqual([true, true, true]));
  return informers;
}

describe('createManagedTokenInformers', () => {
  it('follows ManagedTokens, Roles and RoleBindings in all namespaces', async () => {
    const { objects, roles, bindings } = await start();
    expect([...objects.store.keys()].sort()).toEqual(['team-a/a', 'team-b/a']);
    expect(roles.store.has('team-a/alice-tokens')).toBe(true);
    expect(['team-a', 'team-b'].map((namespace) => bindings.store.has(`${namespace}/alice-tokens`))).toEqual([true, true]);
  });

  it.each([[['team-a']], [['team-a', 'none']]])('follows only the namespaces %j', async (namespaces) => {
    const { objects, roles, bindings } = await start(namespaces);
    expect(objects.store.keys()).toEqual(['team-a/a']);
    expect([...roles.store.keys(), ...bindings.store.keys()].filter((key) => !key.startsWith('team-a/'))).toEqual([]);
    expect([objects, roles, bindings].map(({ parts }) => parts !== undefined)).toEqual(Array(3).fill(namespaces.length > 1));
  });

  it('keeps the public fields of ManagedTokens, and the rules about ManagedTokens', async () => {
    const { hub } = facade;
    const rules = [
      { apiGroups: ['tokens.purser.dev'], resources: ['managedtokens'], verbs: ['get'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
      { apiGroups: ['tokens.purser.dev'], resources: ['managedtokens'], verbs: ['create'] },
    ];
    await hub.apply(Roles, { metadata: { namespace: 'team-b', name: 'mixed', labels: { a: 'b' } }, rules }, FORCE);
    const subjects = [{ kind: 'ServiceAccount', name: 'bot', namespace: 'ci' }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'mixed' };
    await hub.apply(RoleBindings, { metadata: { namespace: 'team-b', name: 'mixed', labels: { a: 'b' } }, roleRef, subjects }, FORCE);
    const { objects, roles, bindings } = await start();
    expect(Object.keys(objects.store.get('team-a/a')?.metadata ?? {}).sort()).toEqual(
      ['creationTimestamp', 'generation', 'labels', 'name', 'namespace', 'resourceVersion', 'uid'].sort(),
    );
    const identity = ['name', 'namespace', 'resourceVersion', 'uid'];
    expect(roles.store.get('team-b/mixed')?.rules).toEqual([
      { verbs: ['get', 'list'], apiGroups: ['tokens.purser.dev'], resources: ['managedtokens'] },
    ]);
    expect(bindings.store.get('team-b/mixed')).toMatchObject({ roleRef, subjects });
    for (const { metadata } of [roles.store.get('team-b/mixed')!, bindings.store.get('team-b/mixed')!])
      expect(Object.keys(metadata).sort()).toEqual(identity);
  });

  it('keeps a ManagedToken above 16 KiB without its labels', async () => {
    const labels = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`label-${index}`, 'x'.repeat(60)]));
    await tokens.put(facade.hub, 'team-b/large', labels);
    const { objects } = await start();
    const kept = objects.store.get('team-b/large');
    expect(kept?.spec).toMatchObject({ clusterName: 'prod' });
    expect(kept?.metadata.labels).toBeUndefined();
    await tokens.delete(facade.hub, 'team-b/large');
  });

  it('keeps at most 128 resourceNames in a namespace, from the smallest Roles, and rules without resourceNames', async () => {
    const { hub } = facade;
    const rule = { apiGroups: ['tokens.purser.dev'], resources: ['managedtokens'], verbs: ['get'] };
    const namesOf = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`);
    const put = (name: string, resourceNames?: readonly string[]) =>
      hub.apply(Roles, { metadata: { namespace: 'team-b', name }, rules: [{ ...rule, ...(resourceNames && { resourceNames }) }] }, FORCE);
    await put('names-0', namesOf('a', 100));
    await put('names-1', namesOf('b', 50));
    await put('names-2', namesOf('c', 10));
    await put('without');
    const { roles } = await start();
    const counts = ['names-0', 'names-1', 'names-2', 'without'].map((name) =>
      roles.store.get(`team-b/${name}`)?.rules?.map(({ resourceNames = ['all'] }) => resourceNames.length),
    );
    expect(counts).toEqual([[], [50], [10], [1]]);
    for (const name of ['names-0', 'names-1', 'names-2', 'without']) await hub.delete(Roles, { namespace: 'team-b', name });
  });

  // Takes two seconds of CPU time with the embedded server.
  if (testServer === 'real') {
    it('keeps subjects of RoleBindings up to a budget for each namespace', async () => {
      const { hub } = facade;
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'some' };
      const subjects = Array.from({ length: 20_000 }, () => ({ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'a' }));
      const names = ['crowd-0', 'crowd-1', 'crowd-2', 'crowd-3'];
      for (const name of names) await hub.create(RoleBindings, { metadata: { namespace: 'team-b', name }, roleRef, subjects });
      const { bindings } = await start();
      expect(names.map((name) => bindings.store.get(`team-b/${name}`)?.subjects?.length)).toEqual([20_000, 20_000, 20_000, 0]);
      for (const name of names) await hub.delete(RoleBindings, { namespace: 'team-b', name });
    });
  }

  it('reports each missing permission', async () => {
    const cluster = { name: 'hub', server: server.url, caData: base64(server.ca), skipTLSVerify: false };
    const transport = createTransport(createFixedConfig(cluster, { name: 'alice', token: server.tokens.alice }), { clock });
    const client = new KubeClient(transport, 'purser');
    const informers = createManagedTokenInformers({ client, clock, random: Math.random, namespaces: undefined });
    const problems: ListWatchProblem[] = [];
    const { objects, roles, bindings } = informers;
    running = merge(objects.problems$, roles.problems$, bindings.problems$).subscribe((problem) => problems.push(problem));
    running.add(merge(objects.batches$, roles.batches$, bindings.batches$).subscribe());
    await eventually(async () => {
      const texts = problems.map(({ error }) => (hasReason(error, 'Forbidden') ? error.message : 'another error'));
      for (const plural of ['managedtokens.tokens.purser.dev', 'roles.rbac.authorization.k8s.io', 'rolebindings.rbac.authorization.k8s.io'])
        expect(texts).toContainEqual(expect.stringContaining(`${plural} is forbidden: User "alice" cannot `));
    });
    running.unsubscribe();
    await transport.close();
  });
});
