import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type Condition, withCondition } from '../../src/kubernetes/conditions.ts';

interface TokenCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

interface ClusterCondition extends Condition {
  readonly lastHeartbeatTime?: string;
}

const NOON = Date.parse('2026-03-01T12:00:00.750Z');
const ready: TokenCondition = {
  type: 'Ready',
  status: 'True',
  reason: 'Issued',
  message: 'The Secret holds a valid token.',
  lastTransitionTime: '2026-02-01T00:00:00Z',
};
const { lastTransitionTime: _, ...unchanged } = ready;

describe('withCondition', () => {
  it('adds a condition of a new type with the current time in whole seconds', () => {
    const list = withCondition<TokenCondition>([], unchanged, NOON);
    expect(list).toEqual([{ ...unchanged, lastTransitionTime: '2026-03-01T12:00:00Z' }]);
  });

  it('returns the same list if no condition changes', () => {
    const list = [ready];
    expect(withCondition(list, unchanged, NOON)).toBe(list);
  });

  it('keeps the transition time if only reason or message change', () => {
    const list = withCondition([ready], { ...unchanged, reason: 'Renewed' }, NOON);
    expect(list).toEqual([{ ...ready, reason: 'Renewed' }]);
  });

  it('updates the transition time when the status changes', () => {
    const list = withCondition([ready], { ...unchanged, status: 'False' }, NOON);
    expect(list).toEqual([{ ...ready, status: 'False', lastTransitionTime: '2026-03-01T12:00:00Z' }]);
  });

  it('adds a missing transition time to a condition', () => {
    const list = withCondition<ClusterCondition>([{ type: 'Ready', status: 'True' }], { ...unchanged }, NOON);
    expect(list[0]?.lastTransitionTime).toBe('2026-03-01T12:00:00Z');
  });

  it('keeps the position of a condition and all other conditions', () => {
    const other = { ...ready, type: 'RotationFailing' };
    const list = withCondition([ready, other], { ...unchanged, status: 'Unknown' }, NOON);
    expect(list.map(({ type }) => type)).toEqual(['Ready', 'RotationFailing']);
    expect(list[1]).toBe(other);
  });

  it('sets the observed generation', () => {
    const list = withCondition<TokenCondition>([ready], { ...unchanged, observedGeneration: 4 }, NOON);
    expect(list).toEqual([{ ...ready, observedGeneration: 4 }]);
  });

  it('updates the heartbeat of a condition only if a heartbeat is given', () => {
    const beating: readonly ClusterCondition[] = [{ ...ready, lastHeartbeatTime: '2026-03-01T11:00:00Z' }];
    expect(withCondition(beating, unchanged, NOON)).toBe(beating);
    const list = withCondition(beating, { ...unchanged, lastHeartbeatTime: '2026-03-01T12:00:00Z' }, NOON);
    expect(list).toEqual([{ ...ready, lastHeartbeatTime: '2026-03-01T12:00:00Z' }]);
  });

  it('returns one condition per type for any input, without modifying the input', () => {
    const next = fc.record({
      type: fc.constantFrom('Ready', 'Reachable', 'Authorized'),
      status: fc.constantFrom('True' as const, 'False' as const, 'Unknown' as const),
      reason: fc.constantFrom('A', 'B'),
      message: fc.constantFrom('', 'why'),
    });
    const steps = fc.array(fc.tuple(next, fc.integer({ min: 0, max: 4e12 })), { maxLength: 20 });
    fc.assert(
      fc.property(steps, (changes) => {
        let list: readonly Condition[] = [];
        for (const [change, now] of changes) {
          const before = structuredClone(list);
          const after = withCondition(list, change, now);
          expect(list).toEqual(before);
          expect(withCondition(after, change, now + 1)).toBe(after);
          expect(new Set(after.map(({ type }) => type)).size).toBe(after.length);
          list = after;
        }
      }),
    );
  });
});
