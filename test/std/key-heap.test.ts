import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { KeyHeap } from '../../src/std/key-heap.ts';

function drain<K>(heap: KeyHeap<K, number>): number[] {
  const priorities: number[] = [];
  for (let first = heap.first; first !== undefined; first = heap.first) {
    expect(heap.remove(first.key)).toBe(first.priority);
    priorities.push(first.priority);
  }
  return priorities;
}

describe('KeyHeap', () => {
  it('keeps each key once, with its last priority', () => {
    const heap = new KeyHeap<string, number>((a, b) => a - b);
    heap.set('a', 3);
    heap.set('b', 2);
    heap.set('a', 1);
    expect([heap.size, heap.first, heap.get('a'), heap.get('c')]).toEqual([2, { key: 'a', priority: 1 }, 1, undefined]);
    expect([heap.remove('a'), heap.remove('a'), heap.first]).toEqual([1, undefined, { key: 'b', priority: 2 }]);
  });

  it('returns keys in sorted order after any sequence of changes', () => {
    const step = fc.record({ key: fc.nat(30), priority: fc.option(fc.nat(20), { nil: undefined }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const heap = new KeyHeap<number, number>((a, b) => a - b);
        const model = new Map<number, number>();
        for (const { key, priority } of steps) {
          if (priority === undefined) {
            expect(heap.remove(key)).toBe(model.get(key));
            model.delete(key);
          } else {
            heap.set(key, priority);
            model.set(key, priority);
          }
          expect([heap.size, heap.first?.priority ?? Infinity]).toEqual([model.size, Math.min(Infinity, ...model.values())]);
        }
        for (const [key, priority] of model) expect(heap.get(key)).toBe(priority);
        for (const limit of [-1, 5, 20])
          expect(heap.count((priority) => priority <= limit)).toBe([...model.values()].filter((priority) => priority <= limit).length);
        expect(drain(heap)).toEqual([...model.values()].sort((a, b) => a - b));
      }),
    );
  });

  it('counts the first keys without visiting all others', () => {
    const heap = new KeyHeap<number, number>((a, b) => a - b);
    for (let key = 0; key < 10_000; key++) heap.set(key, (key * 7_919) % 10_000);
    const visited: number[] = [];
    const count = heap.count((priority) => {
      visited.push(priority);
      return priority < 10;
    });
    expect([count, visited.length <= 21]).toEqual([10, true]);
  });

  it('needs a logarithmic number of comparisons', () => {
    let comparisons = 0;
    const heap = new KeyHeap<number, number>((a, b) => {
      comparisons += 1;
      return a - b;
    });
    const size = 10_000;
    for (let key = 0; key < size; key++) heap.set(key, (key * 7_919) % size);
    drain(heap);
    expect(comparisons).toBeLessThan(4 * size * Math.log2(size));
  });
});
