import { describe, expect, it } from '@jest/globals';
import { Pauses } from '../../src/tokens/pauses.ts';

const OPTIONS = { initialMs: 10_000, maxMs: 300_000, free: 2, calmMs: 600_000 };

describe('Pauses', () => {
  it('follow attempts beyond the free ones, each twice as long as the last', () => {
    const pauses = new Pauses(OPTIONS);
    const lefts = Array.from({ length: 9 }, () => {
      pauses.tried(0);
      return pauses.leftMs(0);
    });
    expect(lefts).toEqual([0, 0, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
  });

  it('pass', () => {
    const pauses = new Pauses({ ...OPTIONS, free: 0 });
    expect(pauses.leftMs(0)).toBe(0);
    pauses.tried(1_000);
    expect([1_000, 6_000, 11_000, 20_000].map((now) => pauses.leftMs(now))).toEqual([10_000, 5_000, 0, 0]);
  });

  it('begin anew after calm, and when an attempt was worth it', () => {
    const pauses = new Pauses({ ...OPTIONS, free: 0 });
    for (let attempt = 0; attempt < 5; attempt++) pauses.tried(0);
    pauses.tried(160_000 + 600_001);
    expect(pauses.leftMs(760_001)).toBe(10_000);
    pauses.tried(800_000);
    pauses.reset();
    expect(pauses.leftMs(800_000)).toBe(0);
    pauses.tried(800_000);
    expect(pauses.leftMs(800_000)).toBe(10_000);
  });
});
