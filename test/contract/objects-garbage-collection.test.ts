// Controllers of the control plane: garbage collection of dependents, and deletion of namespaces.

import { describe, expect, it } from '@jest/globals';
import { eventually } from './eventually.ts';
import { configMap, createObjectClient } from './objects.ts';
import { type Body, outcome } from './requests.ts';
import { contractServer } from './server.ts';

const objects = createObjectClient(contractServer({ controllers: true }));
const NAMESPACES = '/api/v1/namespaces';
const CONFIG_MAPS = `${NAMESPACES}/default/configmaps`;
const SECRETS = `${NAMESPACES}/default/secrets`;
const CLUSTER_ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const HELD = { finalizers: ['hold.on/please'] };

function ownedBy(...owners: readonly Body[]): object {
  return {
    ownerReferences: owners.map(({ apiVersion, kind, metadata: { name, uid } }) => ({
      apiVersion,
      kind,
      name,
      uid,
    })),
  };
}

async function waitUntilDeleted(path: string): Promise<void> {
  await eventually(async () => expect((await objects.get(path)).status).toBe(404));
}

const release = (path: string) => objects.merge(path, { metadata: { finalizers: null } });

describe('garbage collector', () => {
  it('deletes dependents after their owner in the background', async () => {
    const owner = await objects.create(CONFIG_MAPS, configMap('background'));
    const child = await objects.create(SECRETS, { metadata: { name: 'background-child', ...ownedBy(owner) } });
    await objects.create(CONFIG_MAPS, configMap('background-grandchild', {}, ownedBy({ ...child, apiVersion: 'v1', kind: 'Secret' })));
    await objects.delete(`${CONFIG_MAPS}/background?propagationPolicy=Background`);
    expect((await objects.get(`${CONFIG_MAPS}/background`)).status).toBe(404);
    await waitUntilDeleted(`${SECRETS}/background-child`);
    await waitUntilDeleted(`${CONFIG_MAPS}/background-grandchild`);
  });

  it('removes the reference to a deleted owner from a dependent with another owner', async () => {
    const [gone, left] = [await objects.create(CONFIG_MAPS, configMap('gone')), await objects.create(CONFIG_MAPS, configMap('left'))];
    await objects.create(CONFIG_MAPS, configMap('shared', {}, ownedBy(gone, left)));
    await objects.delete(`${CONFIG_MAPS}/gone`);
    await eventually(async () => {
      const { body } = await objects.get(`${CONFIG_MAPS}/shared`);
      expect(body.metadata['ownerReferences']).toEqual([expect.objectContaining({ uid: left.metadata.uid })]);
    });
  });

  it('keeps dependents with an owner whose existence is unknown', async () => {
    const gone = await objects.create(CONFIG_MAPS, configMap('doubtful'));
    const unserved = { apiVersion: 'v1', kind: 'Zzz', metadata: { ...gone.metadata, name: 'zzz', uid: 'unserved' } };
    await objects.create(CONFIG_MAPS, configMap('doubting', {}, ownedBy(gone, unserved)));
    await objects.create(CLUSTER_ROLES, { metadata: { name: 'doubting', ...ownedBy(gone) } });
    await objects.create(CONFIG_MAPS, configMap('undoubting', {}, ownedBy(gone)));
    await objects.delete(`${CONFIG_MAPS}/doubtful`);
    await waitUntilDeleted(`${CONFIG_MAPS}/undoubting`);
    expect((await objects.get(`${CONFIG_MAPS}/doubting`)).body.metadata['ownerReferences']).toHaveLength(2);
    expect((await objects.get(`${CLUSTER_ROLES}/doubting`)).body.metadata['ownerReferences']).toHaveLength(1);
  });

  it('deletes dependents with the wrong name or kind of their owner', async () => {
    const owner = await objects.create(CONFIG_MAPS, configMap('named'));
    const named = { ...owner, metadata: { ...owner.metadata, name: 'misnamed' } };
    await objects.create(CONFIG_MAPS, configMap('by-name', {}, ownedBy(named)));
    await objects.create(CONFIG_MAPS, configMap('by-kind', {}, ownedBy({ ...owner, kind: 'Secret' })));
    for (const name of ['by-name', 'by-kind']) await waitUntilDeleted(`${CONFIG_MAPS}/${name}`);
  });

  it('deletes a dependent of a deleted owner only after its last finalizer is removed', async () => {
    const owner = await objects.create(CONFIG_MAPS, configMap('patient'));
    await objects.create(CONFIG_MAPS, configMap('patient-child', {}, { ...ownedBy(owner), ...HELD }));
    await objects.delete(`${CONFIG_MAPS}/patient`);
    await eventually(async () => {
      const { body } = await objects.get(`${CONFIG_MAPS}/patient-child`);
      expect([body.metadata['finalizers'], typeof body.metadata['deletionTimestamp']]).toEqual([HELD.finalizers, 'string']);
    });
    await release(`${CONFIG_MAPS}/patient-child`);
    await waitUntilDeleted(`${CONFIG_MAPS}/patient-child`);
  });
});

describe('namespace controller', () => {
  const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

  it('creates the default service account, and re-creates it after its deletion', async () => {
    await objects.create(NAMESPACES, namespace('staffed'));
    await eventually(async () => expect((await objects.get(`${NAMESPACES}/staffed/serviceaccounts/default`)).status).toBe(200));
    await objects.delete(`${NAMESPACES}/staffed/serviceaccounts/default`);
    await eventually(async () => expect((await objects.get(`${NAMESPACES}/staffed/serviceaccounts/default`)).status).toBe(200));
  });

  it('deletes the contents of a namespace', async () => {
    await objects.create(NAMESPACES, namespace('full'));
    await objects.create(`${NAMESPACES}/full/configmaps`, configMap('content'));
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'content' } };
    await objects.create('/apis/coordination.k8s.io/v1/namespaces/full/leases', lease);
    const { body } = await objects.delete(`${NAMESPACES}/full`);
    expect([body['status'], body['spec']]).toEqual([{ phase: 'Terminating' }, { finalizers: ['kubernetes'] }]);
    await waitUntilDeleted(`${NAMESPACES}/full`);
    expect((await objects.get(`${NAMESPACES}/full/configmaps/content`)).status).toBe(404);
    expect((await objects.get('/apis/coordination.k8s.io/v1/namespaces/full/leases/content')).status).toBe(404);
    expect((await objects.post(NAMESPACES, namespace('full'))).status).toBe(201);
  });

  it('deletes a namespace only after the finalizers of all contents are removed, and rejects new contents until then', async () => {
    await objects.create(NAMESPACES, namespace('waiting'));
    await objects.create(`${NAMESPACES}/waiting/configmaps`, configMap('held', {}, HELD));
    await objects.create(`${NAMESPACES}/waiting/secrets`, { metadata: { name: 'held', finalizers: ['a.test/b', ...HELD.finalizers] } });
    const leases = '/apis/coordination.k8s.io/v1/namespaces/waiting/leases';
    await objects.create(leases, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'held', ...HELD } });
    await objects.delete(`${NAMESPACES}/waiting`);
    await eventually(async () => {
      const { body } = await objects.get(`${NAMESPACES}/waiting/configmaps/held`);
      expect(body.metadata['deletionTimestamp']).toBeDefined();
    });
    expect(outcome(await objects.post(`${NAMESPACES}/waiting/configmaps`, configMap('late')))).toMatch(
      /^403 Forbidden: .* because it is being terminated$/,
    );
    for (const path of [`${NAMESPACES}/waiting/configmaps`, `${NAMESPACES}/waiting/secrets`, leases]) await release(`${path}/held`);
    await waitUntilDeleted(`${NAMESPACES}/waiting`);
  });
});
