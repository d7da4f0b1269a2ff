import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { compareVersions, groupsOf } from '../../discovery/groups.ts';
import { KINDS, widgetKind } from './discover.ts';

describe('groupsOf', () => {
  it('returns groups in the order of Kubernetes, custom groups last', () => {
    expect(groupsOf([widgetKind(), ...KINDS]).map(({ name }) => name)).toEqual([
      '',
      'authentication.k8s.io',
      'authorization.k8s.io',
      'rbac.authorization.k8s.io',
      'coordination.k8s.io',
      'example.dev',
    ]);
  });

  it('lists the most stable and latest version first', () => {
    const kinds = ['v1alpha1', 'v1', 'v2beta1', 'v2'].map(widgetKind);
    const widgets = groupsOf(kinds).find(({ name }) => name === 'example.dev');
    expect(widgets?.versions.map(({ version }) => version)).toEqual(['v2', 'v1', 'v2beta1', 'v1alpha1']);
  });

  it('returns a storage version hash for stored kinds', () => {
    const hashes = groupsOf(KINDS).flatMap(({ versions }) =>
      versions.flatMap(({ resources }) => resources.map(({ kind, storageVersionHash }) => [kind, storageVersionHash])),
    );
    expect(hashes).toContainEqual(['ConfigMap', 'qFsyl6wFWjQ=']);
    expect(hashes).toContainEqual(['Widget', 'zPUMgwWRq9U=']);
    expect(hashes).toContainEqual(['TokenReview', undefined]);
    expect(hashes).toContainEqual(['Event', 'r2yiGXH7wu8=']);
  });
});

describe('compareVersions', () => {
  const ORDER = ['v10', 'v2', 'v1', 'v11beta2', 'v10beta3', 'v3beta1', 'v12alpha1', 'v11alpha2', 'foo1', 'foo10', 'v1foo'];

  it('orders by stability, then by number, then by name', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(ORDER), (versions) => {
        expect([...versions].sort(compareVersions)).toEqual(ORDER.filter((version) => versions.includes(version)));
      }),
    );
  });
});
