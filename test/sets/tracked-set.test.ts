import { describe, expect, it } from '@jest/globals';
import { TrackedSet } from '../../src/sets/tracked-set.ts';
import type { StoredToken } from '../../src/tokens/policy/spec.ts';

function withGeneration(generation: number): StoredToken {
  return { metadata: { name: 'fleet-prod', namespace: 'team-a', uid: 'u', resourceVersion: '1', generation } } as StoredToken;
}

describe('TrackedSet', () => {
  it('remembers that a webhook changed a write until the ManagedToken or its rendering changes', () => {
    const tracked = new TrackedSet();
    const written = withGeneration(2);
    tracked.recordOverride('prod', written, 'digest', true);
    expect(tracked.isOverridden('prod', written, 'digest')).toBe(true);
    expect(tracked.isOverridden('prod', written, 'digest after a change to the labels of the Cluster')).toBe(false);
    expect(tracked.isOverridden('prod', withGeneration(3), 'digest')).toBe(false);
    tracked.recordOverride('prod', written, 'digest', false);
    expect(tracked.isOverridden('prod', written, 'digest')).toBe(false);
  });
});
