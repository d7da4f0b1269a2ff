import { describe, expect, it } from '@jest/globals';
import type { KubeObject, ObjectMeta } from '../../../src/kubernetes/object.ts';
import { deduplicateOwners, finalizerWarnings, keepSystemMetadata, withCountedGeneration } from '../../kinds/lifecycle.ts';

const widget = (metadata: ObjectMeta, fields: object = {}): KubeObject => ({
  apiVersion: 'example.dev/v1',
  kind: 'Widget',
  metadata,
  ...fields,
});

describe('an update', () => {
  it('keeps what belongs to the system', () => {
    const old = widget({
      name: 'x',
      uid: 'u',
      generation: 3,
      creationTimestamp: '2026-01-01T00:00:00Z',
      deletionTimestamp: '2026-01-02T00:00:00Z',
      deletionGracePeriodSeconds: 0,
    });
    expect(keepSystemMetadata(widget({ name: 'x', generation: 9, creationTimestamp: '2020-01-01T00:00:00Z' }), old)).toEqual(old);
  });

  it('does not hide that another object is meant', () => {
    expect(keepSystemMetadata(widget({ name: 'x', uid: 'v' }), widget({ name: 'x', uid: 'u' })).metadata.uid).toBe('v');
  });
});

describe('the generation', () => {
  const old = widget({ name: 'x', generation: 4 }, { spec: { size: 1 } });

  it('counts changes outside the metadata', () => {
    expect(withCountedGeneration(widget({ name: 'x' }, { spec: { size: 2 } }), old).metadata.generation).toBe(5);
  });

  it('does not count changes of metadata', () => {
    const next = widget({ name: 'x', generation: 4, labels: { a: 'b' } }, { spec: { size: 1 } });
    expect(withCountedGeneration(next, old)).toBe(next);
  });
});

describe('finalizers of custom resources', () => {
  it.each([
    ['example.dev/hold', []],
    ['orphan', []],
    [
      'hold',
      ['metadata.finalizers: "hold": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers'],
    ],
    [
      'hold.example.dev',
      [
        'metadata.finalizers: "hold.example.dev": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers',
      ],
    ],
  ])('%s', (finalizer, expected) => {
    expect(finalizerWarnings(widget({ finalizers: [finalizer] }))).toEqual(expected);
  });

  it('are mentioned only when they are added', () => {
    expect(finalizerWarnings(widget({ finalizers: ['hold'] }), widget({ finalizers: ['hold'] }))).toEqual([]);
  });
});

describe('owners', () => {
  const owner = { apiVersion: 'v1', kind: 'K', name: 'n', uid: 'u' };

  it('that are named twice in the same words are dropped with a warning', () => {
    const { object, warnings } = deduplicateOwners(widget({ ownerReferences: [owner, { ...owner }, { ...owner, name: 'm' }] }), 'create');
    expect(object.metadata.ownerReferences).toEqual([owner, { ...owner, name: 'm' }]);
    expect(warnings).toEqual([
      '.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u',
    ]);
  });

  it('of a patch are looked at after admission', () => {
    expect(deduplicateOwners(widget({ ownerReferences: [owner, owner] }), 'patch').warnings[0]).toContain(
      'duplicate entries after mutating admission happens; API server',
    );
  });

  it('that differ stay', () => {
    const object = widget({ ownerReferences: [owner] });
    expect(deduplicateOwners(object, 'update')).toEqual({ object, warnings: [] });
  });
});
