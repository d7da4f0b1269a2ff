import { describe, expect, it } from '@jest/globals';
import { namespaceKind } from '../../kinds/namespace.ts';
import { bootstrapNamespaces } from '../../kinds/registry.ts';
import { createdObject, createdText, createErrors, updatedObject } from './write.ts';

describe('namespaceKind', () => {
  it('creates an active Namespace with a name label and the kubernetes finalizer', () => {
    expect(createdText(namespaceKind, { metadata: { name: 'lab' } })).toBe(
      '{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"lab","labels":{"kubernetes.io/metadata.name":"lab"}},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}',
    );
  });

  it('keeps finalizers of the spec and drops the status on create', () => {
    const namespace = createdObject(namespaceKind, { spec: { finalizers: ['a/b'] }, status: { phase: 'Terminating' } });
    expect(namespace).toMatchObject({ spec: { finalizers: ['a/b', 'kubernetes'] }, status: { phase: 'Active' } });
  });

  it('requires a DNS label as the name', () => {
    expect(createErrors(namespaceKind, { metadata: { name: 'a.b' } })).toEqual([
      'metadata.name: Invalid value: "a.b": must not contain dots',
    ]);
  });

  it('keeps spec and status on update', () => {
    const next = updatedObject(namespaceKind, { metadata: { labels: { a: 'b' } }, spec: {}, status: { phase: 'Other' } }, {});
    expect(next).toMatchObject({
      metadata: { labels: { a: 'b', 'kubernetes.io/metadata.name': 'x' } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
  });

  it('returns the Namespace on delete and does not serve deletecollection', () => {
    expect(namespaceKind.rules.deleteReturnsObject).toBe(true);
    expect(namespaceKind.verbs).not.toContain('deletecollection');
  });
});

describe('bootstrapNamespaces', () => {
  it('lists the namespaces of a new cluster', () => {
    expect(bootstrapNamespaces.map(({ metadata }) => metadata.name)).toEqual(['kube-system', 'kube-public', 'kube-node-lease', 'default']);
  });
});
