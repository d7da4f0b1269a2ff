// Caches of a bounded size.

import { describe, expect, it } from '@jest/globals';
import { BoundedCache } from '../../src/std/bounded-cache.ts';

describe('BoundedCache', () => {
  it('returns entries by key, and removes the oldest entry above the limit', () => {
    const recent = new BoundedCache<number>(2);
    ['a', 'b', 'c'].forEach((key, index) => recent.set(key, index));
    expect(['a', 'b', 'c'].map((key) => recent.get(key))).toEqual([undefined, 1, 2]);
  });

  it('keeps fewer entries if they weigh more, and stops counting replaced and deleted entries', () => {
    const recent = new BoundedCache<number>(5, (weight) => weight);
    const kept = () => [...recent.keys()];
    for (const [key, weight] of Object.entries({ a: 2, b: 2, c: 3 })) recent.set(key, weight);
    expect(kept()).toEqual(['b', 'c']);
    recent.set('c', 1);
    recent.set('d', 2);
    expect(kept()).toEqual(['b', 'c', 'd']);
    recent.delete('b');
    recent.set('e', 2);
    expect(kept()).toEqual(['c', 'd', 'e']);
    recent.set('f', 6);
    expect(kept()).toEqual([]);
  });
});
