import { describe, expect, it } from '@jest/globals';
import { namespaceKind } from '../../kinds/namespace.ts';
import { bootstrapNamespaces } from '../../kinds/registry.ts';
import { created, createdText, createErrors, updated } from './write.ts';

describe('a namespace', () => {
  it('starts active, labelled with its name and held by the kubernetes finalizer', () => {
    expect(createdText(namespaceKind, { metadata: { name: 'lab' } })).toBe(
      '{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"lab","labels":{"kubernetes.io/metadata.name":"lab"}},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}',
    );
  });

  it('keeps other finalizers of its spec and no status of its maker', () => {
    const namespace = created(namespaceKind, { spec: { finalizers: ['a/b'] }, status: { phase: 'Terminating' } });
    expect(namespace).toMatchObject({ spec: { finalizers: ['a/b', 'kubernetes'] }, status: { phase: 'Active' } });
  });

  it('has a DNS label as its name', () => {
    expect(createErrors(namespaceKind, { metadata: { name: 'a.b' } })).toEqual([
      'metadata.name: Invalid value: "a.b": must not contain dots',
    ]);
  });

  it('checks the finalizers of its spec', () => {
    expect(createErrors(namespaceKind, { spec: { finalizers: ['zz'] } })).toEqual([
      'spec.finalizers: Invalid value: "zz": name is neither a standard finalizer name nor is it fully qualified',
    ]);
  });

  it('keeps spec and status in an ordinary update', () => {
    const next = updated(namespaceKind, { metadata: { labels: { a: 'b' } }, spec: {}, status: { phase: 'Other' } }, {});
    expect(next).toMatchObject({
      metadata: { labels: { a: 'b', 'kubernetes.io/metadata.name': 'x' } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
  });

  it('comes back when it is deleted, and cannot be deleted with others', () => {
    expect(namespaceKind.rules.deleteReturnsObject).toBe(true);
    expect(namespaceKind.verbs).not.toContain('deletecollection');
  });
});

describe('a fresh server', () => {
  it('has the namespaces that Kubernetes has', () => {
    expect(bootstrapNamespaces.map(({ metadata }) => metadata.name)).toEqual(['kube-system', 'kube-public', 'kube-node-lease', 'default']);
  });
});
