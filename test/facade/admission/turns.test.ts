import { describe, expect, it } from '@jest/globals';
import { Turns } from '../../../src/facade/admission/turns.ts';
import { settled } from '../listwatch/replica.ts';

const LIMITS = { perCaller: 2, total: 4, waitingPerCaller: 3, waiting: 6 };

/** Takes turns and records the order in which they begin. */
class World {
  readonly begun: string[] = [];
  readonly #turns: Turns;
  readonly #ends: (() => void)[] = [];

  constructor(limits = LIMITS) {
    this.#turns = new Turns(limits);
  }

  /** Number of callers that are kept in memory. */
  get size(): number {
    return this.#turns.size;
  }

  async take(caller: string, signal = new AbortController().signal): Promise<void> {
    const end = await this.#turns.take(caller, signal);
    this.begun.push(caller);
    this.#ends.push(end);
  }

  /** Ends the turn that began first. */
  async end(): Promise<void> {
    const end = this.#ends.shift();
    end?.();
    // Ending a turn twice frees no other one.
    end?.();
    await settled();
  }
}

describe('Turns', () => {
  it('lets two requests of one caller begin, and a third when one has ended', async () => {
    const world = new World();
    const all = Promise.all([world.take('a'), world.take('a'), world.take('a')]);
    await settled();
    expect(world.begun).toEqual(['a', 'a']);
    await world.end();
    await all;
    expect(world.begun).toEqual(['a', 'a', 'a']);
  });

  it('begins the request of another caller at once while one caller waits', async () => {
    const world = new World();
    for (let count = 0; count < 5; count++) void world.take('greedy');
    await world.take('polite');
    expect(world.begun).toEqual(['greedy', 'greedy', 'polite']);
  });

  it('gives turns to callers in rotation when all are taken', async () => {
    const world = new World({ ...LIMITS, perCaller: 4, waitingPerCaller: 9, waiting: 20 });
    for (let count = 0; count < 8; count++) void world.take('greedy');
    void world.take('a');
    void world.take('b');
    await settled();
    for (let count = 0; count < 6; count++) await world.end();
    expect(world.begun.slice(4)).toEqual(['greedy', 'a', 'b', 'greedy', 'greedy', 'greedy']);
  });

  it('rejects a caller with 429 who has too many waiting', async () => {
    const world = new World();
    for (let count = 0; count < 5; count++) void world.take('greedy');
    await expect(world.take('greedy')).rejects.toMatchObject({ code: 429, retryAfterSeconds: 1 });
    await expect(world.take('polite')).resolves.toBeUndefined();
  });

  it('rejects with 429 when all callers together have too many waiting', async () => {
    const world = new World();
    for (const caller of ['a', 'b']) for (let count = 0; count < 5; count++) void world.take(caller);
    await expect(world.take('c')).rejects.toMatchObject({ code: 429 });
  });

  it('gives no turn to a caller who has left', async () => {
    const world = new World();
    const gone = new AbortController();
    for (let count = 0; count < 2; count++) void world.take('a');
    const left = world.take('a', gone.signal);
    gone.abort();
    await expect(left).rejects.toBe(gone.signal.reason);
    const next = world.take('a');
    await world.end();
    await next;
    expect(world.begun).toEqual(['a', 'a', 'a']);
  });

  it('keeps nothing of a caller who was rejected with 429', async () => {
    const world = new World();
    for (const caller of ['a', 'b']) for (let count = 0; count < 5; count++) void world.take(caller);
    await expect(world.take('c')).rejects.toMatchObject({ code: 429 });
    expect(world.size).toBe(2);
  });

  it('keeps nothing of a caller who left the queue', async () => {
    const world = new World();
    for (const caller of ['a', 'b']) for (let count = 0; count < 2; count++) await world.take(caller);
    const gone = new AbortController();
    const left = world.take('c', gone.signal);
    gone.abort();
    await expect(left).rejects.toBe(gone.signal.reason);
    expect(world.size).toBe(2);
  });

  it('keeps nothing of callers whose turns have ended', async () => {
    const world = new World();
    const all = Promise.all(['a', 'a', 'a', 'b'].map((caller) => world.take(caller)));
    await settled();
    for (let count = 0; count < 4; count++) await world.end();
    await all;
    expect(world.size).toBe(0);
  });
});
