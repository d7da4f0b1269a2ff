import { beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject, OwnerReference } from '../../../src/kubernetes/object.ts';
import { ApiWorld } from '../../../test/support/api-world.ts';
import { sampleDefinition } from '../sample-definition.ts';

const configMap = (name: string, owners: readonly OwnerReference[] = []): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', ...(owners.length > 0 && { ownerReferences: owners }) },
});

const ownedBy = ({ metadata }: KubeObject): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: metadata.name ?? '',
  uid: metadata.uid ?? '',
});

describe('collectGarbage', () => {
  let world: ApiWorld;
  let owner: KubeObject;
  beforeEach(async () => {
    world = await ApiWorld.start();
    owner = await world.create(configMap('owner'));
  });

  it('deletes an object and its dependents after the deletion of its only owner', async () => {
    const child = await world.create(configMap('child', [ownedBy(owner)]));
    const grandchild = await world.create(configMap('grandchild', [ownedBy(child)]));
    await world.delete(owner);
    expect([child, grandchild].map((object) => world.find(object))).toEqual([undefined, undefined]);
  });

  it('keeps an object with another owner, and removes the reference to the deleted owner', async () => {
    const other = await world.create(configMap('other'));
    const child = await world.create(configMap('child', [ownedBy(owner), ownedBy(other)]));
    await world.delete(owner);
    expect(world.find(child)?.metadata.ownerReferences).toEqual([ownedBy(other)]);
  });

  it('deletes an object whose owner does not exist', async () => {
    const child = await world.create(configMap('child', [{ ...ownedBy(owner), uid: 'unknown' }]));
    expect(world.find(child)).toBeUndefined();
  });

  it('reports an object that cannot be deleted, and deletes the others', async () => {
    const unseen = [{ ...ownedBy(owner), kind: 'Namespace', uid: 'unknown' }];
    const system = world.find({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } }) as KubeObject;
    await world.update({ ...system, metadata: { ...system.metadata, ownerReferences: unseen } });
    const child = await world.create(configMap('child', unseen));
    expect(world.find(child)).toBeUndefined();
    expect(world.faults).toEqual([expect.objectContaining({ message: expect.stringContaining('this namespace may not be deleted') })]);
  });

  it('deletes an object even if a new object has the name of its owner', async () => {
    const child = await world.create(configMap('child', [ownedBy(owner)]));
    await world.delete(owner);
    await world.create(configMap('owner'));
    expect(world.find(child)).toBeUndefined();
  });

  it('deletes an object whose owner is in another namespace', async () => {
    const elsewhere = { ...configMap('elsewhere'), metadata: { name: 'elsewhere', namespace: 'kube-public' } };
    const foreign = await world.create(elsewhere);
    const child = await world.create(configMap('child', [ownedBy(foreign)]));
    expect(world.find(child)).toBeUndefined();
  });

  it('keeps an object with an owner of an unknown kind', async () => {
    const unknown = { apiVersion: 'cert-manager.io/v1', kind: 'Certificate', name: 'tls', uid: 'unknown' };
    const child = await world.create(configMap('child', [unknown, { ...ownedBy(owner), uid: 'never seen' }]));
    expect(world.find(child)?.metadata.ownerReferences).toHaveLength(2);
  });

  it('deletes the dependents of custom resources that are deleted with their definition', async () => {
    const definition = await world.create(sampleDefinition({ plural: 'bins', kind: 'Bin' }));
    const type = { apiVersion: 'example.dev/v1', kind: 'Bin' };
    const bin = await world.create({ ...type, metadata: { name: 'bin', namespace: 'default' } });
    const child = await world.create(configMap('child', [{ ...ownedBy(bin), ...type }]));
    await world.delete(definition);
    expect([world.find(definition), world.find(child)]).toEqual([undefined, undefined]);
  });

  it('keeps a cluster-scoped object with a namespaced owner', async () => {
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' };
    const child = await world.create({ ...role, metadata: { name: 'child', ownerReferences: [{ ...ownedBy(owner), uid: 'unknown' }] } });
    expect(world.find(child)).toBeDefined();
  });

  it('deletes stored objects whose owner is missing at startup, and keeps objects whose owner is loaded after them', async () => {
    const stored = (name: string, owners: readonly OwnerReference[] = []) => {
      const object = configMap(name, owners);
      return { resource: 'configmaps', key: `default/${name}`, object: { ...object, metadata: { ...object.metadata, uid: name } } };
    };
    const earlier = ['z', 'unknown'].map((uid) => ({ ...ownedBy(configMap('z')), uid }));
    const restarted = await ApiWorld.start([stored('kept', earlier.slice(0, 1)), stored('orphan', earlier.slice(1)), stored('z')]);
    expect(['kept', 'orphan'].map((name) => restarted.find(configMap(name))?.metadata.uid)).toEqual(['kept', undefined]);
  });
});
