// Work that is shared by concurrent callers.

import { describe, expect, it } from '@jest/globals';
import { SingleFlight } from '../../src/std/single-flight.ts';

const boom = async (): Promise<number> => {
  throw new Error('boom');
};

describe('SingleFlight', () => {
  it('runs work once for concurrent callers and again for later callers', async () => {
    const flights = new SingleFlight<number>();
    const first = Promise.withResolvers<number>();
    let calls = 0;
    const work = () => {
      calls += 1;
      return first.promise;
    };
    const both = [flights.do('a', work), flights.do('a', work)];
    first.resolve(1);
    expect(await Promise.all(both)).toEqual([1, 1]);
    expect(calls).toBe(1);
    expect(await flights.do('a', async () => 2)).toBe(2);
    expect(flights.size).toBe(0);
  });

  it('runs the work again after a failure', async () => {
    const flights = new SingleFlight<number>();
    await expect(flights.do('a', boom)).rejects.toThrow('boom');
    expect(() =>
      flights.do('b', () => {
        throw new Error('at once');
      }),
    ).toThrow('at once');
    expect(flights.size).toBe(0);
    expect(await flights.do('a', async () => 1)).toBe(1);
  });

  it('starts new work after clear, unaffected by the end of the old work', async () => {
    const flights = new SingleFlight<number>();
    const [old, young] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
    const before = flights.do('a', () => old.promise);
    flights.clear();
    const after = flights.do('a', () => young.promise);
    old.resolve(1);
    expect(await before).toBe(1);
    const joined = flights.do('a', async () => 3);
    young.resolve(2);
    expect(await Promise.all([after, joined])).toEqual([2, 2]);
  });
});
