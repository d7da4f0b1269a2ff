// `purser cluster remove` with an embedded hub and a scripted administrator of the target.

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Clusters, Namespaces, type Secret, Secrets } from '../../../src/api/resources.ts';
import type { Peer } from '../../../src/cli/cluster/peer.ts';
import { type RemoveClusterOptions, removeCluster } from '../../../src/cli/cluster/remove.ts';
import type { CommandHost } from '../../../src/cli/command.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { notFound } from '../../../src/kubernetes/status.ts';
import { CredentialWorld } from '../../credentials/credential-world.ts';
import { CREDENTIALS } from '../../tokens/token-world.ts';

let world: CredentialWorld;
let printed = '';

beforeAll(async () => {
  world = await CredentialWorld.start();
});
afterEach(() => world.end());
afterAll(() => world.close());

/** Removes the Cluster of the test. Returns the error; undefined without one. */
async function remove(more: Partial<RemoveClusterOptions> = {}, ask?: CommandHost['ask']): Promise<unknown> {
  printed = '';
  const print = (text: string) => void (printed += text);
  const host = { clock: world.clock, env: {}, print, warn: print, ask, signal: new AbortController().signal };
  const hub: Peer = { role: 'hub', context: 'hub', client: world.hub.admin };
  const removal = { name: world.name, namespace: CREDENTIALS, hub, target: undefined, isConfirmed: true, ...more };
  return await removeCluster(removal, host).catch((error: unknown) => error);
}

/** Returns the names of all Clusters and credential Secrets on the hub. */
async function listRegistered(): Promise<readonly string[]> {
  const { items: clusters } = await world.hub.admin.list(Clusters);
  const { items: secrets } = await world.hub.admin.list(Secrets, { namespace: CREDENTIALS });
  return [...clusters.map(({ metadata }) => metadata.name), ...secrets.map(({ metadata }) => `secret ${metadata.name}`)];
}

/** Returns the target as an administrator sees it, with these anchors of Purser's own tokens; records deletions in `deleted`. */
function administrator(anchors: readonly Secret[], deleted: string[], server = world.url): Peer {
  const api = {
    transport: { server },
    get: async ({ plural }: { readonly plural: string }, { name }: { readonly name: string }) => {
      if (plural !== Namespaces.plural) throw notFound({ group: '', name: plural }, name);
      return { metadata: { name, uid: 'target' } };
    },
    list: async () => ({ items: anchors }),
    delete: async ({ plural }: { readonly plural: string }, { name }: { readonly name: string }) => void deleted.push(`${plural}/${name}`),
  };
  return { role: 'target cluster', context: 'target', client: api as unknown as KubeClient };
}

describe('removeCluster', () => {
  it('removes the Cluster and both Secrets after a confirmation', async () => {
    await world.begin();
    await world.run();
    await world.nextToken();
    const questions: string[] = [];
    const answer = (text: string) => async (question: string) => {
      questions.push(question);
      return text;
    };
    expect(String(await remove({ isConfirmed: false }, answer('n')))).toContain('nothing was removed');
    expect(await listRegistered()).toEqual([world.name, `secret ${world.name}`, `secret ${world.name}-renewed`]);
    expect(await remove({ isConfirmed: false }, answer('y'))).toBeUndefined();
    expect(await listRegistered()).toEqual([]);
    expect(questions).toEqual(Array(2).fill(`Remove Cluster ${world.name}? [y/N] `));
    expect(printed).toContain('purser print target-rbac | kubectl --context TARGET delete -f -');
  });

  it('removes nothing without a terminal and --yes, and exits with 2', async () => {
    await world.begin();
    const message = 'removal requires confirmation on a terminal. Set --yes to remove without confirmation';
    expect(await remove({ isConfirmed: false })).toMatchObject({ code: 2, message });
    expect(await listRegistered()).toContain(world.name);
  });

  it('rejects --context for a credential that is not a service account token, with a remedy', async () => {
    await world.begin();
    await world.register('opaque');
    const message = `Purser's credential for Cluster ${world.name} is not a service account token, so --context cannot be verified. Omit --purge-target and --context`;
    expect(await remove({ target: administrator([], []) })).toMatchObject({ message });
    expect(await listRegistered()).toContain(world.name);
  });

  it('keeps a Secret that other Clusters use', async () => {
    const token = await world.begin();
    await world.register(token, [world.name, 'other']);
    expect(await remove()).toBeUndefined();
    expect(await listRegistered()).toEqual([`secret ${world.name}`]);
    expect(printed).toContain('its cluster key also lists other. Remove');
  });

  it('keeps a Secret that does not name the Cluster', async () => {
    const token = await world.begin();
    await world.register(token, ['other']);
    expect(await remove()).toBeUndefined();
    expect(await listRegistered()).toEqual([`secret ${world.name}`]);
    expect(printed).toContain(`its cluster key does not list ${world.name}.`);
  });

  it('does not suggest to remove the access if the Cluster represents the hub', async () => {
    await world.begin();
    const hub = { spec: { authInfo: { controller: { kind: 'ServiceAccount', namespace: CREDENTIALS, name: 'purser' } } } };
    await world.hub.admin.patch(Clusters, { name: world.name }, hub);
    expect(await remove()).toBeUndefined();
    expect(printed).toBe(`Cluster ${world.name} deleted.\n`);
  });

  it('fails for a Cluster that does not exist', async () => {
    expect(String(await remove({ name: 'unknown' }))).toContain('Cluster unknown was not found on the hub');
  });

  it('deletes the permissions and then the service account on the target, and keeps the namespace', async () => {
    await world.begin();
    const deleted: string[] = [];
    expect(await remove({ target: administrator([], deleted) })).toBeUndefined();
    expect(deleted.at(-1)).toBe('serviceaccounts/purser');
    expect(deleted).toEqual(
      expect.arrayContaining(['clusterroles/purser', 'clusterrolebindings/purser', 'clusterrolebindings/purser-reviews']),
    );
    expect(deleted.filter((name) => name.startsWith('namespaces/'))).toEqual([]);
    expect(await listRegistered()).toEqual([]);
  });

  it.each([
    [
      'another registration uses the service account',
      [{ 'registry.purser.dev/credential': 'other' }],
      undefined,
      /another registration uses service account/,
    ],
    ['the context refers to another cluster', [], 'https://elsewhere.example.com', /does not refer to Cluster .*\. Set --context/],
  ])('changes nothing if %s', async (_, labels, server, problem) => {
    await world.begin();
    const deleted: string[] = [];
    const anchors = labels.map((each) => ({ metadata: { namespace: 'purser-system', name: 'a', uid: 'a', labels: each } }));
    expect(String(await remove({ target: administrator(anchors, deleted, server) }))).toMatch(problem);
    expect([deleted, await listRegistered()]).toEqual([[], [world.name, `secret ${world.name}`]]);
  });
});
