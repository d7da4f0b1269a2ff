import { beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject, OwnerReference } from '../../../src/kubernetes/object.ts';
import { ApiWorld } from '../../../test/support/api-world.ts';

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

describe('the garbage collector', () => {
  let world: ApiWorld;
  let owner: KubeObject;
  beforeEach(async () => {
    world = await ApiWorld.start();
    owner = await world.create(configMap('owner'));
  });

  it('deletes an object with its only owner, and what it owns in turn', async () => {
    const child = await world.create(configMap('child', [ownedBy(owner)]));
    const grandchild = await world.create(configMap('grandchild', [ownedBy(child)]));
    await world.delete(owner);
    expect([child, grandchild].map((object) => world.find(object))).toEqual([undefined, undefined]);
  });

  it('keeps an object that has another owner, and takes the lost one off it', async () => {
    const other = await world.create(configMap('other'));
    const child = await world.create(configMap('child', [ownedBy(owner), ownedBy(other)]));
    await world.delete(owner);
    expect(world.find(child)?.metadata.ownerReferences).toEqual([ownedBy(other)]);
  });

  it('gives an owner that was never seen half a minute to appear', async () => {
    const child = await world.create(configMap('child', [{ ...ownedBy(owner), uid: 'unknown' }]));
    await world.advance(29_999);
    expect(world.find(child)).toBeDefined();
    await world.advance(1);
    expect(world.find(child)).toBeUndefined();
  });

  it('survives an object that cannot be deleted, and reports it', async () => {
    const unseen = [{ ...ownedBy(owner), kind: 'Namespace', uid: 'unknown' }];
    const system = world.find({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } }) as KubeObject;
    await world.update({ ...system, metadata: { ...system.metadata, ownerReferences: unseen } });
    const child = await world.create(configMap('child', unseen));
    await world.advance(30_000);
    expect(world.find(child)).toBeUndefined();
    expect(world.faults).toEqual([expect.objectContaining({ message: expect.stringContaining('this namespace may not be deleted') })]);
  });

  it('does not take an owner of the same name for the one that is gone', async () => {
    const child = await world.create(configMap('child', [ownedBy(owner)]));
    await world.delete(owner);
    await world.create(configMap('owner'));
    expect(world.find(child)).toBeUndefined();
  });

  it('does not look for owners in other namespaces', async () => {
    const elsewhere = { ...configMap('elsewhere'), metadata: { name: 'elsewhere', namespace: 'kube-public' } };
    const foreign = await world.create(elsewhere);
    const child = await world.create(configMap('child', [ownedBy(foreign)]));
    await world.advance(30_000);
    expect(world.find(child)).toBeUndefined();
  });

  it('keeps for ever what is owned by a kind that it does not know', async () => {
    const unknown = { apiVersion: 'cert-manager.io/v1', kind: 'Certificate', name: 'tls', uid: 'unknown' };
    const child = await world.create(configMap('child', [unknown, { ...ownedBy(owner), uid: 'never seen' }]));
    await world.advance(60_000);
    expect(world.find(child)?.metadata.ownerReferences).toHaveLength(2);
  });

  it('deletes what is owned by a kind that goes with its objects', async () => {
    const names = { plural: 'bins', kind: 'Bin' };
    const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }];
    const definition = await world.create({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'bins.example.dev' },
      spec: { group: 'example.dev', scope: 'Namespaced', names, versions },
    });
    const type = { apiVersion: 'example.dev/v1', kind: 'Bin' };
    const bin = await world.create({ ...type, metadata: { name: 'bin', namespace: 'default' } });
    const child = await world.create(configMap('child', [{ ...ownedBy(bin), ...type }]));
    await world.delete(definition);
    expect([world.find(definition), world.find(child)]).toEqual([undefined, undefined]);
  });

  it('keeps an object without a namespace whose owner has one: nobody can say which', async () => {
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' };
    const child = await world.create({ ...role, metadata: { name: 'child', ownerReferences: [{ ...ownedBy(owner), uid: 'unknown' }] } });
    await world.advance(60_000);
    expect(world.find(child)).toBeDefined();
  });

  it('waits for owners that were never seen even if another one is there under another name', async () => {
    const child = await world.create(
      configMap('child', [
        { ...ownedBy(owner), name: 'other' },
        { ...ownedBy(owner), uid: 'unknown' },
      ]),
    );
    expect(world.find(child)).toBeDefined();
    await world.advance(30_000);
    expect(world.find(child)).toBeUndefined();
  });
});
