import { describe, expect, it } from '@jest/globals';
import { SeatQueue } from '../../../src/facade/limits/seat-queue.ts';
import { settle } from '../listwatch/replica.ts';

const LIMITS = { perTenant: 2, total: 4, waitingPerTenant: 3, waiting: 6 };

/** Occupies seats and records the order of the callers. */
class World {
  readonly seated: string[] = [];
  readonly #queue: SeatQueue;
  readonly #releases: (() => void)[] = [];

  constructor(limits = LIMITS) {
    this.#queue = new SeatQueue(limits);
  }

  /** Number of callers that are kept in memory. */
  get size(): number {
    return this.#queue.size;
  }

  async acquire(caller: string, signal = new AbortController().signal): Promise<void> {
    const release = await this.#queue.acquire(caller, signal);
    this.seated.push(caller);
    this.#releases.push(release);
  }

  /** Releases the seat that was occupied first. */
  async release(): Promise<void> {
    const release = this.#releases.shift();
    release?.();
    // A second call must not release another seat.
    release?.();
    await settle();
  }
}

describe('SeatQueue', () => {
  it('admits two requests of one caller, and a third when one has ended', async () => {
    const world = new World();
    const all = Promise.all([world.acquire('a'), world.acquire('a'), world.acquire('a')]);
    await settle();
    expect(world.seated).toEqual(['a', 'a']);
    await world.release();
    await all;
    expect(world.seated).toEqual(['a', 'a', 'a']);
  });

  it('immediately admits the request of another caller while one caller waits', async () => {
    const world = new World();
    for (let count = 0; count < 5; count++) void world.acquire('greedy');
    await world.acquire('polite');
    expect(world.seated).toEqual(['greedy', 'greedy', 'polite']);
  });

  it('gives released seats to waiting callers in rotation', async () => {
    const world = new World({ ...LIMITS, perTenant: 4, waitingPerTenant: 9, waiting: 20 });
    for (let count = 0; count < 8; count++) void world.acquire('greedy');
    void world.acquire('a');
    void world.acquire('b');
    await settle();
    for (let count = 0; count < 6; count++) await world.release();
    expect(world.seated.slice(4)).toEqual(['greedy', 'a', 'b', 'greedy', 'greedy', 'greedy']);
  });

  it('returns 429 to a caller with too many waiting requests', async () => {
    const world = new World();
    for (let count = 0; count < 5; count++) void world.acquire('greedy');
    await expect(world.acquire('greedy')).rejects.toMatchObject({ code: 429, retryAfterSeconds: 1 });
    await expect(world.acquire('polite')).resolves.toBeUndefined();
  });

  it('returns 429 if too many requests of all callers together wait', async () => {
    const world = new World();
    for (const caller of ['a', 'b']) for (let count = 0; count < 5; count++) void world.acquire(caller);
    await expect(world.acquire('c')).rejects.toMatchObject({ code: 429 });
  });

  it('gives no seat to an aborted request', async () => {
    const world = new World();
    const gone = new AbortController();
    for (let count = 0; count < 2; count++) void world.acquire('a');
    const left = world.acquire('a', gone.signal);
    gone.abort();
    await expect(left).rejects.toBe(gone.signal.reason);
    const next = world.acquire('a');
    await world.release();
    await next;
    expect(world.seated).toEqual(['a', 'a', 'a']);
  });

  it('removes a caller who was rejected with 429 from memory', async () => {
    const world = new World();
    for (const caller of ['a', 'b']) for (let count = 0; count < 5; count++) void world.acquire(caller);
    await expect(world.acquire('c')).rejects.toMatchObject({ code: 429 });
    expect(world.size).toBe(2);
  });

  it('removes a caller whose waiting request was aborted from memory', async () => {
    const world = new World();
    for (const caller of ['a', 'b']) for (let count = 0; count < 2; count++) await world.acquire(caller);
    const gone = new AbortController();
    const left = world.acquire('c', gone.signal);
    gone.abort();
    await expect(left).rejects.toBe(gone.signal.reason);
    expect(world.size).toBe(2);
  });

  it('removes callers from memory when their seats are released', async () => {
    const world = new World();
    const all = Promise.all(['a', 'a', 'a', 'b'].map((caller) => world.acquire(caller)));
    await settle();
    for (let count = 0; count < 4; count++) await world.release();
    await all;
    expect(world.size).toBe(0);
  });
});
