import { describe, expect, it } from '@jest/globals';
import { forEachBounded } from '../../src/std/bounded.ts';

describe('forEachBounded', () => {
  it('starts all work in order, at most the given number at a time', async () => {
    const started: number[] = [];
    let running = 0;
    let most = 0;
    await forEachBounded([1, 2, 3, 4, 5], 2, async (item) => {
      started.push(item);
      most = Math.max(most, ++running);
      await Promise.resolve();
      running -= 1;
    });
    expect([started, most]).toEqual([[1, 2, 3, 4, 5], 2]);
  });

  it('starts no more work after an error, and rejects when the running work has ended', async () => {
    const ended: number[] = [];
    const work = async (item: number) => {
      if (item === 2) throw new Error('no');
      await Promise.resolve();
      ended.push(item);
    };
    await expect(forEachBounded([1, 2, 3, 4], 2, work)).rejects.toThrow('no');
    expect(ended).toEqual([1]);
  });
});
