import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Backoff, doubledMs, REFLECTOR_BACKOFF } from '../../src/std/backoff.ts';

const steady = { ...REFLECTOR_BACKOFF, random: () => 0 };

describe('Backoff', () => {
  it('doubles from 0.8 s to 10 s', () => {
    const backoff = new Backoff(steady);
    const delays = Array.from({ length: 8 }, (_, index) => backoff.nextMs(index));
    expect(delays).toEqual([800, 1600, 3200, 6400, 10_000, 10_000, 10_000, 10_000]);
  });

  it('adds up to the same again as jitter', () => {
    const backoff = new Backoff({ ...REFLECTOR_BACKOFF, random: () => 0.5 });
    expect([backoff.nextMs(0), backoff.nextMs(1)]).toEqual([1200, 2400]);
  });

  it('does not carry the jitter over to later pauses', () => {
    const jitters = [0.9, 0];
    const backoff = new Backoff({ ...REFLECTOR_BACKOFF, random: () => jitters.shift() ?? 0 });
    backoff.nextMs(0);
    expect(backoff.nextMs(1)).toBe(1600);
  });

  it('F4: starts from the beginning after something has worked for 15 s, the pause itself not counted', () => {
    const backoff = new Backoff(steady);
    backoff.nextMs(0);
    backoff.nextMs(1000);
    expect(backoff.nextMs(2600 + 15_000)).toBe(3200);
    expect(backoff.nextMs(17_600 + 3200 + 15_001)).toBe(800);
  });

  it('is not reset by success: failures that come between short successes still grow apart', () => {
    const backoff = new Backoff(steady);
    let now = 0;
    const delays = Array.from({ length: 7 }, () => {
      const delay = backoff.nextMs(now);
      now += delay + 5000;
      return delay;
    });
    expect(delays).toEqual([800, 1600, 3200, 6400, 10_000, 10_000, 10_000]);
  });

  it('stays within its bounds, whatever happens', () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(300_000), random)), (failures) => {
        let now = 0;
        let jitter = 0;
        const backoff = new Backoff({ ...REFLECTOR_BACKOFF, random: () => jitter });
        for (const [elapsed, next] of failures) {
          now += elapsed;
          jitter = next;
          const delay = backoff.nextMs(now);
          expect(delay).toBeGreaterThanOrEqual(800);
          expect(delay).toBeLessThan(20_000);
        }
      }),
    );
  });
});

describe('Backoff with free attempts', () => {
  const OPTIONS = { initialMs: 10_000, maxMs: 300_000, free: 2, calmMs: 600_000 };

  it('pauses after the free attempts, each time twice as long', () => {
    const backoff = new Backoff(OPTIONS);
    const lefts = Array.from({ length: 9 }, () => {
      backoff.nextMs(0);
      return backoff.leftMs(0);
    });
    expect(lefts).toEqual([0, 0, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
  });

  it('returns the rest of a pause', () => {
    const backoff = new Backoff({ ...OPTIONS, free: 0 });
    expect(backoff.leftMs(0)).toBe(0);
    backoff.nextMs(1_000);
    expect([1_000, 6_000, 11_000, 20_000].map((now) => backoff.leftMs(now))).toEqual([10_000, 5_000, 0, 0]);
  });

  it('starts over after a calm period, and after a reset', () => {
    const backoff = new Backoff({ ...OPTIONS, free: 0 });
    for (let attempt = 0; attempt < 5; attempt++) backoff.nextMs(0);
    backoff.nextMs(160_000 + 600_001);
    expect(backoff.leftMs(760_001)).toBe(10_000);
    backoff.nextMs(800_000);
    backoff.reset();
    expect(backoff.leftMs(800_000)).toBe(0);
    backoff.nextMs(800_000);
    expect(backoff.leftMs(800_000)).toBe(10_000);
  });
});

describe('doubledMs', () => {
  it('is the maximum also after failures beyond count', () => {
    expect(doubledMs(100_000, { initialMs: 500, maxMs: 300_000 })).toBe(300_000);
  });
});
