import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { computeNextTurnAt } from '../../src/std/hash.ts';

describe('computeNextTurnAt', () => {
  it('returns one time in every interval, always at the same offset', () => {
    const instant = fc.integer({ min: 0, max: 4e12 });
    fc.assert(
      fc.property(fc.uuid(), instant, fc.integer({ min: 1_000, max: 1e7 }), (uid, after, intervalMs) => {
        const at = computeNextTurnAt('probe', uid, after, intervalMs);
        expect(at).toBeGreaterThan(after);
        expect(at).toBeLessThanOrEqual(after + intervalMs);
        expect(computeNextTurnAt('probe', uid, at, intervalMs)).toBe(at + intervalMs);
      }),
    );
  });

  it('spreads objects evenly over the interval', () => {
    const tenths = new Map<number, number>();
    for (let index = 0; index < 1_000; index++) {
      const tenth = Math.floor((computeNextTurnAt('probe', `uid-${index}`, 0, 10_000) % 10_000) / 1_000);
      tenths.set(tenth, (tenths.get(tenth) ?? 0) + 1);
    }
    expect(Math.min(...tenths.values())).toBeGreaterThan(60);
    expect(Math.max(...tenths.values())).toBeLessThan(140);
  });

  it('returns at most 20 different times a second, so that objects share wake-ups', () => {
    const times = Array.from({ length: 10_000 }, (_, index) => computeNextTurnAt('probe', `uid-${index}`, 7, 10_000));
    expect(new Set(times).size).toBe(200);
  });
});
