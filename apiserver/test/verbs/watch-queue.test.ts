import { describe, expect, it } from '@jest/globals';
import { WatchQueue } from '../../verbs/watch.ts';

describe('WatchQueue', () => {
  it('hands out everything that has come, first things first', async () => {
    const queue = new WatchQueue<number>(10, [1, 2]);
    queue.push(3);
    expect(await queue.take()).toEqual([1, 2, 3]);
    const next = queue.take();
    queue.push(4);
    expect(await next).toEqual([4]);
  });

  it('cuts off a reader that falls behind by more than its capacity', async () => {
    const queue = new WatchQueue<number>(2, []);
    for (const item of [1, 2, 3, 4]) queue.push(item);
    expect(await queue.take()).toBeUndefined();
  });

  it('lets the first items exceed the capacity, but nothing come on top of them', async () => {
    const patient = new WatchQueue<number>(2, [1, 2, 3]);
    expect(await patient.take()).toEqual([1, 2, 3]);
    const behind = new WatchQueue<number>(2, [1, 2, 3]);
    behind.push(4);
    expect(await behind.take()).toBeUndefined();
  });

  it('hands out what waits when it is closed, and takes no more', async () => {
    const queue = new WatchQueue<number>(2, [1]);
    queue.close();
    queue.push(2);
    expect(await queue.take()).toEqual([1]);
    expect(await queue.take()).toBeUndefined();
  });

  it('ends a reader that waits', async () => {
    const queue = new WatchQueue<number>(2, []);
    const taken = queue.take();
    queue.close();
    expect(await taken).toBeUndefined();
  });
});
