import { describe, expect, it } from '@jest/globals';
import { FairQueue } from '../../src/std/fair-queue.ts';

function drain(queue: FairQueue<string>): readonly string[] {
  const items: string[] = [];
  for (let item = queue.take(); item !== undefined; item = queue.take()) items.push(item);
  return items;
}

describe('FairQueue', () => {
  it('returns the items of tenants in turn, and the items of one tenant in order', () => {
    const queue = new FairQueue<string>(20);
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) queue.add(item.slice(0, 1), item);
    expect(drain(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  });

  it('limits one tenant to half of an empty queue, and accepts items of other tenants', () => {
    const queue = new FairQueue<string>(10);
    const accepted = Array.from({ length: 8 }, (_, index) => queue.add('a', `a${index}`));
    expect(accepted.filter(Boolean)).toHaveLength(5);
    expect([queue.add('b', 'b0'), queue.add('c', 'c0')]).toEqual([true, true]);
  });

  it('rejects every item while the queue is full', () => {
    const queue = new FairQueue<string>(3);
    expect(['a', 'b', 'c', 'd'].map((tenant) => queue.add(tenant, tenant))).toEqual([true, true, true, false]);
    expect(queue.take()).toBe('a');
    expect(queue.add('d', 'd')).toBe(true);
  });

  it('keeps one copy of an item that is added twice', () => {
    const queue = new FairQueue<string>(10);
    expect([queue.add('a', 'x'), queue.add('a', 'x'), drain(queue)]).toEqual([true, true, ['x']]);
    expect([queue.add('a', 'x'), drain(queue)]).toEqual([true, ['x']]);
  });

  it('accepts items of a tenant again after its items were taken', () => {
    const queue = new FairQueue<string>(4);
    for (let index = 0; index < 4; index++) queue.add('a', `a${index}`);
    expect(drain(queue)).toEqual(['a0', 'a1']);
    expect(queue.add('a', 'a4')).toBe(true);
  });
});
