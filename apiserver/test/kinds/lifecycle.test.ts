import { describe, expect, it } from '@jest/globals';
import type { KubeObject, ObjectMeta } from '../../../src/kubernetes/object.ts';
import { keepSystemMetadata, withCountedGeneration } from '../../kinds/lifecycle.ts';

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
