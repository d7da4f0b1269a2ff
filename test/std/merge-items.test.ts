import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, of, Subject, take, throwError, toArray } from 'rxjs';
import { mergeItems, mergeItemsInTurns } from '../../src/std/merge-items.ts';

describe('mergeItems', () => {
  it('emits the items of each value in order, and completes with the source', async () => {
    const items$ = of([1, 2], [], [3]).pipe(mergeItems((items) => items));
    await expect(lastValueFrom(items$.pipe(toArray()))).resolves.toEqual([1, 2, 3]);
  });

  it('emits the error of the source', async () => {
    const items$ = throwError(() => new Error('connection lost')).pipe(mergeItems(() => []));
    await expect(lastValueFrom(items$)).rejects.toThrow('connection lost');
  });

  it('emits an error that itemsOf throws, and unsubscribes from the source', () => {
    const source$ = new Subject<number>();
    const errors: unknown[] = [];
    const rejectAll = (): readonly number[] => {
      throw new Error('unknown value');
    };
    source$.pipe(mergeItems(rejectAll)).subscribe({ error: (error) => errors.push(error) });
    source$.next(1);
    expect(errors).toEqual([new Error('unknown value')]);
    expect(source$.observed).toBe(false);
  });

  it('takes no further value or item after the subscriber has left', async () => {
    const taken: string[] = [];
    const items$ = of('a', 'b').pipe(
      mergeItems(function* (value) {
        for (const item of [1, 2]) {
          taken.push(`${value}${item}`);
          yield item;
        }
      }),
      take(1),
    );
    await expect(lastValueFrom(items$)).resolves.toBe(1);
    expect(taken).toEqual(['a1']);
  });
});

describe('mergeItemsInTurns', () => {
  const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

  it('emits items below the limit immediately', () => {
    const source$ = new Subject<number>();
    const items: number[] = [];
    source$.pipe(mergeItemsInTurns(upTo, 10)).subscribe((item) => items.push(item));
    source$.next(3);
    source$.next(2);
    expect(items).toEqual([0, 1, 2, 0, 1]);
  });

  it('emits a limited number of items in each turn, and completes after the last item', async () => {
    const counts: number[] = [];
    let [count, isComplete] = [0, false];
    of(20, 5, 12)
      .pipe(mergeItemsInTurns(upTo, 10))
      .subscribe({ next: () => (count += 1), complete: () => (isComplete = true) });
    for (let turns = 0; turns < 5; turns++) {
      counts.push(isComplete ? 0 : count);
      await turn();
    }
    expect([counts, count, isComplete]).toEqual([[9, 19, 27, 37, 0], 37, true]);
  });

  it('takes the items of a value once if the value repeats before its items are emitted', async () => {
    const source$ = new Subject<string>();
    const taken: string[] = [];
    const itemsOf = (value: string) => {
      taken.push(value);
      return upTo(10);
    };
    source$.pipe(mergeItemsInTurns(itemsOf, 10)).subscribe();
    for (let repeats = 0; repeats < 1_000; repeats++) for (const value of ['a', 'b']) source$.next(value);
    for (let turns = 0; turns < 5; turns++) await turn();
    expect(taken).toEqual(['a', 'b', 'a']);
  });

  it('counts values without items, and candidates that a search rejects', async () => {
    const source$ = new Subject<number>();
    const [taken, items]: [number[], number[]] = [[], []];
    const findOne = function* (wanted: number) {
      taken.push(wanted);
      for (const candidate of upTo(4)) yield candidate === wanted ? candidate : undefined;
    };
    source$.pipe(mergeItemsInTurns(findOne, 10)).subscribe((item) => items.push(item));
    for (const wanted of [3, 7, 1, 8]) source$.next(wanted);
    expect([taken, items]).toEqual([[3, 7], [3]]);
    await turn();
    expect([taken, items]).toEqual([
      [3, 7, 1, 8],
      [3, 1],
    ]);
  });

  it('emits nothing after the subscriber has left', async () => {
    const items: number[] = [];
    of(25)
      .pipe(mergeItemsInTurns(upTo, 10))
      .subscribe((item) => items.push(item))
      .unsubscribe();
    await turn();
    expect(items).toHaveLength(9);
  });

  it('emits an error that itemsOf throws, and unsubscribes from the source', () => {
    const source$ = new Subject<number>();
    const errors: unknown[] = [];
    const rejectAll = (): readonly number[] => {
      throw new Error('unknown value');
    };
    source$.pipe(mergeItemsInTurns(rejectAll)).subscribe({ error: (error) => errors.push(error) });
    source$.next(1);
    expect(errors).toEqual([new Error('unknown value')]);
    expect(source$.observed).toBe(false);
  });
});
