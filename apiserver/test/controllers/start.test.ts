import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '../../../src/kubernetes/object.ts';
import { ApiWorld } from '../../../test/support/api-world.ts';
import { sampleDefinition } from '../sample-definition.ts';

const namespace = (name: string): KubeObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
const inNamespace = (kind: string, name: string, finalizers?: readonly string[]): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'lab', ...(finalizers && { finalizers }) },
});
const clusterRole = (name: string, rest: object): KubeObject => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name },
  ...rest,
});
const definition = sampleDefinition({ plural: 'widgets', kind: 'Widget' });
const widget: KubeObject = { apiVersion: 'example.dev/v1', kind: 'Widget', metadata: { name: 'one', namespace: 'lab' } };

describe('startControllers', () => {
  let world: ApiWorld;
  beforeEach(async () => {
    world = await ApiWorld.start();
    await world.create(namespace('lab'));
  });
  afterEach(() => expect(world.faults).toEqual([]));

  it('creates a default service account in every namespace, even after its deletion', async () => {
    const serviceAccount = inNamespace('ServiceAccount', 'default');
    expect(world.find(serviceAccount)).toBeDefined();
    await world.delete(serviceAccount);
    expect(world.find(serviceAccount)).toBeDefined();
  });

  it('creates a default service account once a full disk has space again', async () => {
    const serviceAccount = inNamespace('ServiceAccount', 'default');
    world.api.store.subscribe('serviceaccounts', ({ type }) => {
      if (type === 'DELETED') world.disk.isFull = true;
    });
    await expect(world.delete(serviceAccount)).rejects.toThrow('database or disk is full');
    expect(world.find(serviceAccount)).toBeUndefined();
    await expect(world.advance(5_000)).rejects.toThrow('database or disk is full');
    world.disk.isFull = false;
    await world.advance(5_000);
    expect(world.find(serviceAccount)).toBeDefined();
    expect(world.faults.splice(0)).toEqual([new Error('database or disk is full')]);
  });

  it('deletes all objects in a namespace before the namespace', async () => {
    await world.create(inNamespace('Secret', 'plain'));
    const held = await world.create(inNamespace('ConfigMap', 'held', ['example.dev/hold']));
    await world.delete(namespace('lab'));
    expect(world.find(inNamespace('Secret', 'plain'))).toBeUndefined();
    expect(world.find(inNamespace('ServiceAccount', 'default'))).toBeUndefined();
    expect(world.find(namespace('lab'))?.['status']).toEqual({ phase: 'Terminating' });
    await expect(world.create(inNamespace('Secret', 'late'))).rejects.toThrow(
      'secrets "late" is forbidden: unable to create new content in namespace lab because it is being terminated',
    );
    const waiting = world.find(held) as KubeObject;
    const { finalizers: _, ...metadata } = waiting.metadata;
    await world.update({ ...waiting, metadata });
    expect(world.find(namespace('lab'))).toBeUndefined();
  });

  it('copies the rules of selected roles, and removes the rules of deleted roles', async () => {
    const rule = { apiGroups: ['example.dev'], resources: ['widgets'], verbs: ['get'] };
    const labels = { metadata: { name: 'part', labels: { 'example.dev/all': 'true' } } };
    const whole = clusterRole('whole', {
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { 'example.dev/all': 'true' } }] },
      rules: [],
    });
    await world.create(whole);
    const part = await world.create(clusterRole('part', { ...labels, rules: [rule] }));
    expect(world.find(whole)?.['rules']).toEqual([rule]);
    await world.delete(part);
    expect(world.find(whole)?.['rules'] ?? []).toEqual([]);
  });

  it('aggregates roles that select each other without an endless loop', async () => {
    const rule = (resource: string) => ({ apiGroups: ['example.dev'], resources: [resource], verbs: ['get'] });
    const role = (name: string, part: string, rest: object) => ({ ...clusterRole(name, rest), metadata: { name, labels: { part } } });
    const selecting = (...parts: string[]) => ({ clusterRoleSelectors: parts.map((part) => ({ matchLabels: { part } })) });
    // The roles are created in one turn of the event loop: the controller receives changes that are older than the stored roles.
    void world.create(role('source-1', 'one', { rules: [rule('widgets')] }));
    void world.create(role('source-2', 'two', { rules: [rule('gadgets')] }));
    void world.create(role('both-1', 'other-one', { aggregationRule: selecting('one', 'other-two'), rules: [] }));
    void world.create(role('both-2', 'other-two', { aggregationRule: selecting('two', 'other-one'), rules: [] }));
    await world.waitForWrites();
    expect(world.find(clusterRole('both-1', {}))?.['rules']).toHaveLength(2);
    expect(world.find(clusterRole('both-2', {}))?.['rules']).toHaveLength(2);
  });

  it('reconciles the current state, not the state at the time of the change', async () => {
    void world.create(namespace('brief'));
    void world.delete(namespace('brief'));
    void world.create(definition);
    const live = world.find(definition) as KubeObject;
    void world.update({ ...live, metadata: { ...live.metadata, labels: { team: 'a' } } });
    await world.waitForWrites();
    expect(world.find(namespace('brief'))).toBeUndefined();
    expect(world.find(definition)?.['status']).toMatchObject({ acceptedNames: { plural: 'widgets' } });
  });

  it('serves the kind of a definition, and deletes its custom resources with the definition', async () => {
    await world.create(definition);
    expect(world.find(definition)).toMatchObject({
      status: {
        conditions: [
          { type: 'NamesAccepted', status: 'True' },
          { type: 'Established', status: 'True' },
        ],
      },
    });
    await world.create(widget);
    await world.delete(definition);
    expect(world.find(definition)).toBeUndefined();
    expect(() => world.find(widget)).toThrow('example.dev/v1 Widget is not served');
    expect(world.api.store.list('example.dev/widgets')).toEqual([]);
  });

  it('deletes the custom resources of a definition that no longer serves its version', async () => {
    await world.create(definition);
    await world.create(widget);
    const live = world.find(definition) as typeof definition & KubeObject;
    await world.update({ ...live, spec: { ...live.spec, versions: [{ ...live.spec.versions[0], served: false }] } });
    await world.delete(definition);
    expect(world.find(definition)).toBeUndefined();
    expect(world.api.store.list('example.dev/widgets')).toEqual([]);
  });

  it('reports a stored object that violates current rules, and starts the other controllers', async () => {
    // The stored definition has no resourceVersion, which every update of a definition requires.
    const broken = { resource: 'apiextensions.k8s.io/customresourcedefinitions', key: 'widgets.example.dev', object: definition };
    const other = await ApiWorld.start([broken]);
    expect(other.faults).toEqual([expect.objectContaining({ message: expect.stringContaining('must be specified for an update') })]);
    await other.create(namespace('lab'));
    expect(other.find(inNamespace('ServiceAccount', 'default'))).toBeDefined();
  });

  it('deletes Events after an hour', async () => {
    const event: KubeObject = {
      ...inNamespace('Event', 'e'),
      involvedObject: { kind: 'Secret', namespace: 'lab', name: 'x' },
      reason: 'Issued',
      type: 'Normal',
    };
    await world.create(event);
    await world.advance(59 * 60_000);
    expect(world.find(event)).toBeDefined();
    await world.advance(3 * 60_000);
    expect(world.find(event)).toBeUndefined();
  });
});
