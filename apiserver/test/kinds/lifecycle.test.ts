import { describe, expect, it } from '@jest/globals';
import type { KubeObject, ObjectMeta } from '../../../src/kubernetes/object.ts';
import { keepSystemMetadata, withIncrementedGeneration } from '../../kinds/metadata.ts';

const widget = (metadata: ObjectMeta, fields: object = {}): KubeObject => ({
  apiVersion: 'example.dev/v1',
  kind: 'Widget',
  metadata,
  ...fields,
});

describe('keepSystemMetadata', () => {
  it('keeps metadata that only the server writes', () => {
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

  it('keeps the uid of another object', () => {
    expect(keepSystemMetadata(widget({ name: 'x', uid: 'v' }), widget({ name: 'x', uid: 'u' })).metadata.uid).toBe('v');
  });
});

describe('withIncrementedGeneration', () => {
  const old = widget({ name: 'x', generation: 4 }, { spec: { size: 1 } });

  it('increments the generation for changes outside the metadata', () => {
    expect(withIncrementedGeneration(widget({ name: 'x' }, { spec: { size: 2 } }), old).metadata.generation).toBe(5);
  });

  it('keeps the generation for changes of metadata', () => {
    const next = widget({ name: 'x', generation: 4, labels: { a: 'b' } }, { spec: { size: 1 } });
    expect(withIncrementedGeneration(next, old)).toBe(next);
  });
});
