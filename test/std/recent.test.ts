// Caches of a bounded size.

import { describe, expect, it } from '@jest/globals';
import { Recent } from '../../src/std/recent.ts';

describe('Recent', () => {
  it('returns entries by key and removes the oldest', () => {
    const recent = new Recent<number>(2);
    ['a', 'b', 'c'].forEach((key, index) => recent.set(key, index));
    expect(['a', 'b', 'c'].map((key) => recent.get(key))).toEqual([undefined, 1, 2]);
  });
});
