import { describe, expect, it } from '@jest/globals';
import { WatchQueue } from '../../verbs/watch.ts';

describe('WatchQueue', () => {
  it('returns all items in order', async () => {
    const queue = new WatchQueue<number>(10, [1, 2]);
    queue.push(3);
    expect(await queue.take()).toEqual([1, 2, 3]);
    const next = queue.take();
    queue.push(4);
    expect(await next).toEqual([4]);
  });

  it('closes when more items wait than its capacity', async () => {
    const queue = new WatchQueue<number>(2, []);
    for (const item of [1, 2, 3, 4]) queue.push(item);
    expect(await queue.take()).toBeUndefined();
  });

  it('accepts initial items beyond the capacity', async () => {
    const patient = new WatchQueue<number>(2, [1, 2, 3]);
    expect(await patient.take()).toEqual([1, 2, 3]);
    const behind = new WatchQueue<number>(2, [1, 2, 3]);
    behind.push(4);
    expect(await behind.take()).toBeUndefined();
  });

  it('returns waiting items after close and accepts no more', async () => {
    const queue = new WatchQueue<number>(2, [1]);
    queue.close();
    queue.push(2);
    expect(await queue.take()).toEqual([1]);
    expect(await queue.take()).toBeUndefined();
  });

  it('resolves a waiting reader on close', async () => {
    const queue = new WatchQueue<number>(2, []);
    const taken = queue.take();
    queue.close();
    expect(await taken).toBeUndefined();
  });
});
