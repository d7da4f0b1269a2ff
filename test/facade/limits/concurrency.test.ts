import { describe, expect, it } from '@jest/globals';
import { watchLimits } from '../../../src/facade/limits/concurrency.ts';

describe('watchLimits', () => {
  it.each([
    ['no memory limit', undefined, { perCaller: 1_000, perAddress: 7_500, total: 10_000 }],
    ['512Mi', 512 * 1024 * 1024, { perCaller: 613, perAddress: 4_593, total: 6_124 }],
    ['768Mi', 768 * 1024 * 1024, { perCaller: 1_000, perAddress: 7_500, total: 10_000 }],
    ['128Mi', 128 * 1024 * 1024, { perCaller: 50, perAddress: 375, total: 500 }],
  ])('returns the limits on watches for a memory limit: %s', (_what, bytes, limits) => {
    expect(watchLimits(bytes)).toEqual(limits);
  });
});
