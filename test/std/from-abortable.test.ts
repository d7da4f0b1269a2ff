import { describe, expect, it } from '@jest/globals';
import { firstValueFrom, lastValueFrom, take, toArray } from 'rxjs';
import { fromAbortable } from '../../src/std/from-abortable.ts';

/** Yields its values, then waits until it is aborted. */
async function* idleAfter<T>(signal: AbortSignal, ...values: readonly T[]): AsyncGenerator<T> {
  yield* values;
  await new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

describe('fromAbortable', () => {
  it('emits the values of the iterable and completes with it', async () => {
    const values$ = fromAbortable(async function* () {
      yield 1;
      yield 2;
    });
    await expect(lastValueFrom(values$.pipe(toArray()))).resolves.toEqual([1, 2]);
  });

  it('emits the error of the iterable', async () => {
    const values$ = fromAbortable(async function* () {
      yield 1;
      throw new Error('connection lost');
    });
    await expect(lastValueFrom(values$)).rejects.toThrow('connection lost');
  });

  it('fails if the iterable cannot be created', async () => {
    const values$ = fromAbortable(() => {
      throw new Error('no address');
    });
    await expect(firstValueFrom(values$)).rejects.toThrow('no address');
  });

  it('aborts immediately on unsubscribe, even while the iterable waits', () => {
    let aborted = false;
    const subscription = fromAbortable((signal) => {
      signal.addEventListener('abort', () => {
        aborted = true;
      });
      return idleAfter(signal);
    }).subscribe();
    expect(aborted).toBe(false);
    subscription.unsubscribe();
    expect(aborted).toBe(true);
  });

  it('lets the iterable clean up when the subscription ends', async () => {
    const cleanedUp = await new Promise((resolve) => {
      fromAbortable(async function* (signal) {
        try {
          yield* idleAfter(signal, 1);
        } finally {
          resolve(true);
        }
      })
        .pipe(take(1))
        .subscribe();
    });
    expect(cleanedUp).toBe(true);
  });

  it('starts an iteration for each subscription', async () => {
    let started = 0;
    const count$ = fromAbortable(async function* () {
      started += 1;
      yield started;
    });
    expect(started).toBe(0);
    await expect(firstValueFrom(count$)).resolves.toBe(1);
    await expect(firstValueFrom(count$)).resolves.toBe(2);
  });
});
