import { describe, expect, it } from '@jest/globals';
import { ExpiringCache } from '../../src/std/expiring-cache.ts';
import { FakeClock } from '../support/clock.ts';

function cacheOf(maxEntries: number) {
  const clock = new FakeClock();
  const cache = new ExpiringCache<number>({ clock, ttlMs: 10_000, maxEntries });
  return { clock, cache, set: (key: string) => cache.set(key, 1, clock.monotonic()) };
}

describe('ExpiringCache', () => {
  it('evicts expired entries without a lookup', () => {
    const { clock, cache, set } = cacheOf(100);
    ['a', 'b', 'c'].forEach(set);
    clock.advance(5_000);
    set('d');
    clock.advance(5_000);
    set('e');
    expect(cache.size).toBe(2);
    expect(['a', 'd', 'e'].map((key) => cache.get(key))).toEqual([undefined, 1, 1]);
  });

  it('evicts the oldest entries above the limit', () => {
    const { cache, set } = cacheOf(2);
    ['a', 'b', 'a', 'c'].forEach(set);
    expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual([1, undefined, 1]);
  });

  it('measures the age from the request, and does not cache failures', async () => {
    const { clock, cache } = cacheOf(2);
    await expect(cache.find('a', () => Promise.reject(new Error('no response')))).rejects.toThrow('no response');
    const found = cache.find('a', async () => {
      clock.advance(6_000);
      return 7;
    });
    expect(await found).toBe(7);
    expect(cache.get('a', 6_000)).toBeUndefined();
    clock.advance(3_999);
    expect(cache.get('a')).toBe(7);
    clock.advance(1);
    expect(cache.get('a')).toBeUndefined();
  });
});
