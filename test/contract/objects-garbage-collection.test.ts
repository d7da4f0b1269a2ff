// Controllers of the control plane: dependents are deleted with their owners, and objects with their namespace.

import { describe, expect, it } from '@jest/globals';
import { eventually } from './eventually.ts';
import { type Body, configMap, objectsOf, outcome } from './objects.ts';
import { contractServer } from './server.ts';

const objects = objectsOf(contractServer({ controllers: true }));
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

async function isGone(path: string): Promise<void> {
  await eventually(async () => expect((await objects.get(path)).status).toBe(404));
}

const release = (path: string) => objects.merge(path, { metadata: { finalizers: null } });

describe('dependents', () => {
  it('are deleted after their owner in the background', async () => {
    const owner = await objects.make(CONFIG_MAPS, configMap('background'));
    const child = await objects.make(SECRETS, { metadata: { name: 'background-child', ...ownedBy(owner) } });
    await objects.make(CONFIG_MAPS, configMap('background-grandchild', {}, ownedBy({ ...child, apiVersion: 'v1', kind: 'Secret' })));
    await objects.delete(`${CONFIG_MAPS}/background?propagationPolicy=Background`);
    expect((await objects.get(`${CONFIG_MAPS}/background`)).status).toBe(404);
    await isGone(`${SECRETS}/background-child`);
    await isGone(`${CONFIG_MAPS}/background-grandchild`);
  });

  it('lose only the reference to a deleted owner', async () => {
    const [gone, left] = [await objects.make(CONFIG_MAPS, configMap('gone')), await objects.make(CONFIG_MAPS, configMap('left'))];
    await objects.make(CONFIG_MAPS, configMap('shared', {}, ownedBy(gone, left)));
    await objects.delete(`${CONFIG_MAPS}/gone`);
    await eventually(async () => {
      const { body } = await objects.get(`${CONFIG_MAPS}/shared`);
      expect(body.metadata['ownerReferences']).toEqual([expect.objectContaining({ uid: left.metadata.uid })]);
    });
  });

  it('stay if the existence of an owner is unknown', async () => {
    const gone = await objects.make(CONFIG_MAPS, configMap('doubtful'));
    const unserved = { apiVersion: 'v1', kind: 'Zzz', metadata: { ...gone.metadata, name: 'zzz', uid: 'unserved' } };
    await objects.make(CONFIG_MAPS, configMap('doubting', {}, ownedBy(gone, unserved)));
    await objects.make(CLUSTER_ROLES, { metadata: { name: 'doubting', ...ownedBy(gone) } });
    await objects.make(CONFIG_MAPS, configMap('undoubting', {}, ownedBy(gone)));
    await objects.delete(`${CONFIG_MAPS}/doubtful`);
    await isGone(`${CONFIG_MAPS}/undoubting`);
    expect((await objects.get(`${CONFIG_MAPS}/doubting`)).body.metadata['ownerReferences']).toHaveLength(2);
    expect((await objects.get(`${CLUSTER_ROLES}/doubting`)).body.metadata['ownerReferences']).toHaveLength(1);
  });

  it('are deleted if their owner has another name or kind', async () => {
    const owner = await objects.make(CONFIG_MAPS, configMap('named'));
    const named = { ...owner, metadata: { ...owner.metadata, name: 'misnamed' } };
    await objects.make(CONFIG_MAPS, configMap('by-name', {}, ownedBy(named)));
    await objects.make(CONFIG_MAPS, configMap('by-kind', {}, ownedBy({ ...owner, kind: 'Secret' })));
    for (const name of ['by-name', 'by-kind']) await isGone(`${CONFIG_MAPS}/${name}`);
  });

  it('wait for their own finalizers', async () => {
    const owner = await objects.make(CONFIG_MAPS, configMap('patient'));
    await objects.make(CONFIG_MAPS, configMap('patient-child', {}, { ...ownedBy(owner), ...HELD }));
    await objects.delete(`${CONFIG_MAPS}/patient`);
    await eventually(async () => {
      const { body } = await objects.get(`${CONFIG_MAPS}/patient-child`);
      expect([body.metadata['finalizers'], typeof body.metadata['deletionTimestamp']]).toEqual([HELD.finalizers, 'string']);
    });
    await release(`${CONFIG_MAPS}/patient-child`);
    await isGone(`${CONFIG_MAPS}/patient-child`);
  });
});

describe('the namespace controller', () => {
  const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

  it('creates the default service account', async () => {
    await objects.make(NAMESPACES, namespace('staffed'));
    await eventually(async () => expect((await objects.get(`${NAMESPACES}/staffed/serviceaccounts/default`)).status).toBe(200));
    await objects.delete(`${NAMESPACES}/staffed/serviceaccounts/default`);
    await eventually(async () => expect((await objects.get(`${NAMESPACES}/staffed/serviceaccounts/default`)).status).toBe(200));
  });

  it('deletes the content of a namespace', async () => {
    await objects.make(NAMESPACES, namespace('full'));
    await objects.make(`${NAMESPACES}/full/configmaps`, configMap('content'));
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'content' } };
    await objects.make('/apis/coordination.k8s.io/v1/namespaces/full/leases', lease);
    const { body } = await objects.delete(`${NAMESPACES}/full`);
    expect([body['status'], body['spec']]).toEqual([{ phase: 'Terminating' }, { finalizers: ['kubernetes'] }]);
    await isGone(`${NAMESPACES}/full`);
    expect((await objects.get(`${NAMESPACES}/full/configmaps/content`)).status).toBe(404);
    expect((await objects.get('/apis/coordination.k8s.io/v1/namespaces/full/leases/content')).status).toBe(404);
    expect((await objects.post(NAMESPACES, namespace('full'))).status).toBe(201);
  }, 60_000);

  it('waits for content with finalizers', async () => {
    await objects.make(NAMESPACES, namespace('waiting'));
    await objects.make(`${NAMESPACES}/waiting/configmaps`, configMap('held', {}, HELD));
    await objects.make(`${NAMESPACES}/waiting/secrets`, { metadata: { name: 'held', finalizers: ['a.test/b', ...HELD.finalizers] } });
    const leases = '/apis/coordination.k8s.io/v1/namespaces/waiting/leases';
    await objects.make(leases, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'held', ...HELD } });
    await objects.delete(`${NAMESPACES}/waiting`);
    await eventually(async () => {
      const { body } = await objects.get(`${NAMESPACES}/waiting/configmaps/held`);
      expect(body.metadata['deletionTimestamp']).toBeDefined();
    });
    expect(outcome(await objects.post(`${NAMESPACES}/waiting/configmaps`, configMap('late')))).toMatch(
      /^403 Forbidden: .* because it is being terminated$/,
    );
    for (const path of [`${NAMESPACES}/waiting/configmaps`, `${NAMESPACES}/waiting/secrets`, leases]) await release(`${path}/held`);
    await isGone(`${NAMESPACES}/waiting`);
  }, 60_000);
});
