import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Subject, type Subscription } from 'rxjs';
import { type ControllerOptions, type Outcome, runController } from '../../src/runtime/controller.ts';
import type { Failure, Retry } from '../../src/runtime/retry-policy.ts';
import type { Request } from '../../src/runtime/work-queue.ts';
import { turn } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';
import { scaled } from '../support/scaled.ts';
import { Runs } from './runs.ts';

const START = Date.parse('2026-03-01T12:00:00Z');

let clock: FakeClock;
let runs: Runs;
let requests$: Subject<Request<string>>;
let outcomes: Outcome<string>[];
let endings: unknown[];
let subscription: Subscription;

beforeEach(() => {
  clock = new FakeClock(START);
  runs = new Runs();
  requests$ = new Subject();
  outcomes = [];
  endings = [];
});

afterEach(() => subscription.unsubscribe());

/** Returns retries after 100 ms, 200 ms, 400 ms and so on. */
function doubling({ failures, now }: Failure<string>): Retry {
  return { class: 'transient', retryAt: now + 100 * 2 ** (failures - 1) };
}

function start(options: Partial<ControllerOptions<string>> = {}): void {
  const defaults = { reconcile: runs.reconcile, retryPolicy: doubling, concurrency: 10, clock };
  subscription = runController(requests$, { ...defaults, ...options }).subscribe({
    next: (outcome) => outcomes.push(outcome),
    error: (error) => endings.push(error),
    complete: () => endings.push('complete'),
  });
}

async function request(...keys: readonly string[]): Promise<void> {
  for (const key of keys) requests$.next({ key, dueAt: clock.now() });
  await turn();
}

async function succeed(key: string, requeueAt?: number): Promise<void> {
  runs.succeed(key, { requeueAt });
  await turn();
}

async function fail(key: string, error?: unknown): Promise<void> {
  runs.fail(key, error);
  await turn();
}

async function advance(ms: number): Promise<void> {
  clock.advance(ms);
  await turn();
}

describe('runController', () => {
  it('runs a requested key and emits the outcome', async () => {
    start();
    await request('a');
    clock.advance(30);
    await succeed('a', START + 5_000);
    expect(outcomes).toEqual([
      {
        type: 'reconciled',
        key: 'a',
        failures: 0,
        startedAt: START,
        finishedAt: START + 30,
        durationMs: 30,
        latenessMs: 0,
        result: { requeueAt: START + 5_000 },
      },
    ]);
  });

  it('runs a key exactly once more after two requests during its run', async () => {
    start();
    await request('a');
    await request('a', 'a');
    expect(runs.started).toEqual(['a']);
    await succeed('a');
    expect(runs.started).toEqual(['a', 'a']);
    await succeed('a');
    expect(runs.started).toEqual(['a', 'a']);
    expect(clock.pending).toBe(0);
  });

  it('respects the concurrency limit', async () => {
    start({ concurrency: 2 });
    await request('a', 'b', 'c', 'd');
    expect(runs.running).toEqual(['a', 'b']);
    await succeed('b');
    expect(runs.running).toEqual(['a', 'c']);
  });

  it('runs keys in order of their due times', async () => {
    start({ concurrency: 1 });
    for (const [key, lateMs] of [
      ['b', 10],
      ['c', 10],
      ['a', 20],
    ] as const)
      requests$.next({ key, dueAt: START - lateMs });
    await turn();
    for (const key of ['a', 'b', 'c']) await succeed(key);
    expect(outcomes.map(({ key, latenessMs }) => [key, latenessMs])).toEqual([
      ['a', 20],
      ['b', 10],
      ['c', 10],
    ]);
  });

  it('runs the most urgent of simultaneous requests first', async () => {
    const deadlines: Readonly<Record<string, number>> = { idle: Infinity, tomorrow: 2, today: 1 };
    start({ concurrency: 1, priorityOf: (key) => ({ lane: 'eu', deadlineAt: deadlines[key] ?? 0 }) });
    await request(...Object.keys(deadlines));
    for (const key of ['today', 'tomorrow', 'idle']) await succeed(key);
    expect(outcomes).toHaveLength(3);
  });

  it('limits the concurrent runs of each lane, so that a hanging lane does not delay other lanes', async () => {
    start({ concurrency: 4, concurrencyPerLane: 2, priorityOf: (key) => ({ lane: key.charAt(0), deadlineAt: 0 }) });
    await request('x1', 'x2', 'x3', 'x4', 'y1', 'z1');
    expect(runs.running).toEqual(['x1', 'x2', 'y1', 'z1']);
    await succeed('y1');
    await request('z2');
    expect(runs.running).toEqual(['x1', 'x2', 'z1', 'z2']);
  });

  it('reconciles a key again at its requeue time, with one timer for all keys', async () => {
    start();
    await request('a', 'b');
    await succeed('a', START + 2_000);
    await succeed('b', START + 1_000);
    expect(clock.pending).toBe(1);
    await advance(1_000);
    expect(runs.running).toEqual(['b']);
    expect(clock.pending).toBe(1);
    await advance(1_000);
    expect(runs.running).toEqual(['b', 'a']);
    expect(clock.pending).toBe(0);
  });

  it('runs a key early after an event and cancels the timer of its requeue', async () => {
    start();
    await request('a');
    await succeed('a', START + 288 * 86_400_000);
    expect(clock.pending).toBe(1);
    await request('a');
    expect(runs.running).toEqual(['a']);
    expect(clock.pending).toBe(0);
    await succeed('a', START + 500);
    await advance(500);
    expect(runs.started).toHaveLength(3);
  });

  it('delays a requeue for a time in the past by 100 ms', async () => {
    start();
    await request('a');
    await succeed('a', START - 5_000);
    await advance(99);
    expect([runs.running, clock.pending]).toEqual([[], 1]);
    await advance(1);
    expect(runs.running).toEqual(['a']);
  });

  it('runs a key requested during its run before a later requeue', async () => {
    start();
    await request('a');
    await request('a');
    await succeed('a', START + 60_000);
    expect(runs.running).toEqual(['a']);
    await succeed('a');
    expect(clock.pending).toBe(0);
  });

  it('backs off for 100, 200 and 400 ms, and resets the delay after a success', async () => {
    start();
    await request('a');
    for (const waitMs of [100, 200, 400]) {
      await fail('a');
      await advance(waitMs - 1);
      expect(runs.running).toEqual([]);
      await advance(1);
      expect(runs.running).toEqual(['a']);
    }
    await succeed('a', clock.now() + 100);
    await advance(100);
    await fail('a');
    expect(outcomes.map(({ failures }) => failures)).toEqual([1, 2, 3, 0, 1]);
    await advance(100);
    expect(runs.running).toEqual(['a']);
  });

  it('keeps counting failures when an event triggers the retry', async () => {
    start();
    await request('a');
    await fail('a');
    await request('a');
    await fail('a');
    expect(outcomes.map(({ failures }) => failures)).toEqual([1, 2]);
  });

  it('does not retry a terminal failure before a new request, then counts failures from zero', async () => {
    start({ retryPolicy: () => ({ class: 'gone', retryAt: undefined }) });
    await request('a');
    await fail('a');
    expect(clock.pending).toBe(0);
    await request('a');
    expect(runs.running).toEqual(['a']);
    await fail('a');
    expect(outcomes.map(({ failures }) => failures)).toEqual([1, 1]);
  });

  it('counts no failure for a deferred run', async () => {
    const policy = (failure: Failure<string>): Retry => ({ ...doubling(failure), isDeferred: failure.error === 'put off' });
    start({ retryPolicy: policy });
    await request('a');
    for (const error of ['broken', 'put off', 'put off', 'broken']) {
      await fail('a', error);
      await advance(10_000);
    }
    expect(outcomes.map(({ failures }) => failures)).toEqual([1, 1, 1, 2]);
  });

  it('counts consecutive conflicts separately from failures', async () => {
    const conflicts: number[] = [];
    const policy = (failure: Failure<string>): Retry => {
      conflicts.push(failure.conflicts);
      return failure.error === 'conflict' ? { class: 'conflict', retryAt: failure.now + 1 } : doubling(failure);
    };
    start({ retryPolicy: policy });
    await request('a');
    for (const error of ['broken', 'conflict', 'conflict', 'broken', 'conflict']) {
      await fail('a', error);
      await advance(1_000);
    }
    expect(outcomes.map(({ failures }) => failures)).toEqual([1, 1, 1, 2, 2]);
    expect(conflicts).toEqual([1, 1, 2, 3, 1]);
  });

  it.each([
    ['a rejected promise', () => Promise.reject(new Error('no')), new Error('no')],
    [
      'a synchronous throw',
      () => {
        throw new Error('no');
      },
      new Error('no'),
    ],
    ['a rejection with a string', () => Promise.reject('no'), 'no'],
    ['a rejection with undefined', () => Promise.reject(undefined), undefined],
    ['a result of undefined', () => Promise.resolve(undefined as never), expect.any(TypeError)],
    ['a requeue time of NaN', () => Promise.resolve({ requeueAt: Number.NaN }), expect.any(RangeError)],
  ])('emits %s as an outcome, not as an error of the stream', async (_case, reconcile, error) => {
    start({ reconcile });
    await request('a');
    expect(outcomes).toEqual([
      {
        type: 'failed',
        key: 'a',
        error,
        failures: 1,
        retry: { class: 'transient', retryAt: START + 100 },
        startedAt: START,
        finishedAt: START,
        durationMs: 0,
        latenessMs: 0,
      },
    ]);
    expect(endings).toEqual([]);
  });

  it('drains running work when the requests complete, drops the rest and leaves no timer', async () => {
    start({ concurrency: 2 });
    await request('a', 'b', 'dropped');
    requests$.next({ key: 'later', dueAt: START + 1_000 });
    requests$.complete();
    await succeed('a', START + 1);
    expect(endings).toEqual([]);
    await fail('b');
    expect(outcomes.map(({ key, type }) => `${key} ${type}`)).toEqual(['a reconciled', 'b failed']);
    expect(endings).toEqual(['complete']);
    expect(runs.started).toEqual(['a', 'b']);
    expect(clock.pending).toBe(0);
  });

  it('completes immediately when the requests complete and no key runs', async () => {
    start();
    await request('a');
    await succeed('a', START + 1_000);
    requests$.complete();
    expect([endings, clock.pending]).toEqual([['complete'], 0]);
  });

  it('aborts the signal on unsubscribe, leaves no timer and drops later requests', async () => {
    start({ retryPolicy: broken });
    await request('a', 'b', 'c');
    await succeed('b', START + 1_000);
    const signal = runs.signalOf('a');
    subscription.unsubscribe();
    expect([signal.aborted, clock.pending, requests$.observed]).toEqual([true, 0, false]);
    await succeed('a', START + 1);
    await fail('c');
    expect([outcomes.length, clock.pending, endings]).toEqual([1, 0, []]);
  });

  it('starts no key after a reconcile has stopped the controller', async () => {
    start({
      reconcile: (key, signal) => {
        subscription.unsubscribe();
        return runs.reconcile(key, signal);
      },
    });
    await request('a', 'b');
    expect(runs.started).toEqual(['a']);
  });

  it('fails with the error of the request stream and aborts running work', async () => {
    start();
    await request('a');
    const signal = runs.signalOf('a');
    requests$.error(new Error('defect'));
    expect([endings, signal.aborted]).toEqual([[new Error('defect')], true]);
  });

  it.each([
    ['priorityOf', { priorityOf: () => broken() }],
    ['the retry policy', { retryPolicy: () => broken() }],
  ])('fails when %s throws and leaves no timer', async (_case, options) => {
    start(options);
    await request('a');
    if (runs.running.length > 0) await fail('a');
    expect([endings, clock.pending]).toEqual([[new Error('broken')], 0]);
  });

  it('checks the time every minute while a key waits', async () => {
    start();
    await request('a');
    await succeed('a', START + 150_000);
    for (const ms of [59_999, 60_000, 30_000]) {
      await advance(ms);
      expect([runs.running, clock.pending]).toEqual([[], 1]);
    }
    await advance(1);
    expect([runs.running, clock.pending, outcomes.length]).toEqual([['a'], 0, 1]);
  });

  it('detects within a minute that the clock was set forward, as after a suspend', async () => {
    start();
    await request('a');
    await succeed('a', START + 1_800_000);
    clock.set(START + 1_900_000);
    await advance(60_000);
    expect(runs.running).toEqual(['a']);
    await succeed('a');
    expect(outcomes.at(-1)).toMatchObject({ latenessMs: 160_000, durationMs: 0 });
  });

  it('reconciles all keys once after the clock was set back', async () => {
    start();
    await request('a', 'b', 'c');
    await fail('a');
    await succeed('b', START + 7_200_000);
    await request('c');
    clock.set(START - 3_600_000);
    await advance(100);
    expect(runs.running).toEqual(['c', 'a', 'b']);
    for (const key of ['a', 'b', 'c']) await succeed(key, START + 7_200_000);
    expect(runs.running).toEqual(['c']);
    await succeed('c', START);
    expect(outcomes.every(({ latenessMs, durationMs }) => latenessMs >= 0 && durationMs >= 0)).toBe(true);
    await advance(60_000);
    expect(runs.running).toEqual([]);
  });

  it('ignores small corrections of the clock', async () => {
    start();
    await request('a');
    await succeed('a', START + 90_000);
    clock.set(START - 500);
    await advance(60_000);
    expect(runs.running).toEqual([]);
  });

  it('drops keys that are requested in the same turn in which the requests complete', async () => {
    start();
    requests$.next({ key: 'a', dueAt: START });
    requests$.complete();
    await turn();
    expect([runs.started, endings]).toEqual([[], ['complete']]);
  });

  it('uses one timer for 10,000 keys with the same due time', async () => {
    start({ concurrency: 10_000, reconcile: () => Promise.resolve({}) });
    for (let index = 0; index < 10_000; index++) requests$.next({ key: String(index), dueAt: START + 1_000 });
    await turn();
    expect(clock.pending).toBe(1);
    await advance(1_000);
    while (outcomes.length < 10_000) await turn();
    expect([outcomes.length, new Set(outcomes.map(({ key }) => key)).size, clock.pending]).toEqual([10_000, 10_000, 0]);
  });
});

function broken(): never {
  throw new Error('broken');
}

it('lets other work of the process proceed between reconciles that wait for nothing', async () => {
  const count = 1_000;
  start({ reconcile: async () => ({}) });
  let others = 0;
  const proceed = () => {
    others += 1;
    if (outcomes.length < count) setImmediate(proceed);
  };
  setImmediate(proceed);
  await request(...Array.from({ length: count }, (_, index) => `key-${index}`));
  while (outcomes.length < count) await turn();
  expect(others).toBeGreaterThanOrEqual(5);
});

it('orders many due keys by deadline before the first starts, and lets other work proceed meanwhile', async () => {
  const count = 5_000;
  let ordered = 0;
  const deadlineOf = (key: string) => {
    ordered += 1;
    return count - Number(key);
  };
  start({ concurrency: 1, reconcile: async () => ({}), priorityOf: (key) => ({ lane: '', deadlineAt: deadlineOf(key) }) });
  await request(...Array.from({ length: count }, (_, index) => String(index)));
  expect([ordered < count, outcomes.length]).toEqual([true, 0]);
  while (outcomes.length < count) await turn();
  expect(outcomes.slice(0, 2).map(({ key }) => key)).toEqual([String(count - 1), String(count - 2)]);
});

it('starts keys even if all are requested again before they are ordered', async () => {
  start({ concurrency: 1, reconcile: async () => ({}), priorityOf: () => ({ lane: '', deadlineAt: 0 }) });
  const keys = Array.from({ length: 5_000 }, (_, index) => String(index));
  for (let round = 0; round < 20; round++) {
    await request(...keys);
    for (let turns = 0; turns < 20; turns++) await turn();
  }
  expect(outcomes.length).toBeGreaterThan(1_000);
});

/** Requests `keys` again, some before each turn, until `isDone` returns true; returns the number of turns, at most `maxTurns`. */
async function turnsUntil(isDone: () => boolean, { keys, perTurn, maxTurns }: Flood): Promise<number> {
  let next = 0;
  for (let turns = 0; turns < maxTurns; turns++) {
    if (isDone()) return turns;
    for (let index = 0; index < perTurn; index++) requests$.next({ key: keys[next++ % keys.length] ?? '', dueAt: clock.now() });
    await advance(1);
  }
  return maxTurns;
}

interface Flood {
  readonly keys: readonly string[];
  readonly perTurn: number;
  readonly maxTurns: number;
}

it('starts the key of another lane while keys that wait for a slot are requested again and again', async () => {
  const keys = Array.from({ length: 5_000 }, (_, index) => `evil/${index}`);
  start({ concurrency: 8, concurrencyPerLane: 4, priorityOf: (key) => ({ lane: key.split('/')[0] ?? '', deadlineAt: 0 }) });
  await request(...keys);
  await turnsUntil(() => false, { keys, perTurn: 0, maxTurns: 60 });
  await turnsUntil(() => false, { keys, perTurn: 150, maxTurns: 100 });
  requests$.next({ key: 'good', dueAt: clock.now() });

  expect(await turnsUntil(() => runs.started.includes('good'), { keys, perTurn: 150, maxTurns: 1_000 })).toBeLessThan(100);
});

it('starts keys under a flood of requests, regardless of the number of keys that are not due', async () => {
  const keys = Array.from({ length: 5_000 }, (_, index) => `key-${index}`);
  start({ concurrency: 8, reconcile: async () => ({}), priorityOf: () => ({ lane: '', deadlineAt: 0 }) });
  for (let index = 0; index < 20_000; index++) requests$.next({ key: `idle-${index}`, dueAt: START + 3_600_000 });
  await turnsUntil(() => false, { keys, perTurn: 130, maxTurns: 200 });

  expect(outcomes.length).toBeGreaterThan(1_000);
});

it('starts keys under a flood of requests after the clock was set back', async () => {
  const keys = Array.from({ length: 5_000 }, (_, index) => `key-${index}`);
  start({ concurrency: 8, reconcile: async () => ({}), priorityOf: () => ({ lane: '', deadlineAt: 0 }) });
  await request(...keys);
  await turnsUntil(() => false, { keys, perTurn: 150, maxTurns: 30 });
  clock.set(START - 3_600_000);
  await turnsUntil(() => false, { keys, perTurn: 150, maxTurns: 200 });

  expect(outcomes.length).toBeGreaterThan(1_000);
});

describe('runController in the long run', () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ type: fc.constant('request' as const), key: fc.nat(15), delayMs: fc.nat(30) }) },
    { weight: 3, arbitrary: fc.record({ type: fc.constant('succeed' as const), which: fc.nat(), requeueMs: fc.option(fc.nat(50)) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('fail' as const), which: fc.nat() }) },
    { weight: 3, arbitrary: fc.record({ type: fc.constant('wait' as const), ms: fc.nat(20) }) },
  );

  it('runs no key twice at the same time, respects the concurrency limits and handles every request in random steps', async () => {
    const laneOf = (key: string) => String(Number(key) % 3);
    start({ concurrency: 4, concurrencyPerLane: 2, priorityOf: (key) => ({ lane: laneOf(key), deadlineAt: Number(key) % 5 }) });
    /** Requested keys that have not started since. */
    const requested = new Set<string>();
    const steps = fc.sample(step, { numRuns: scaled({ full: 4_000, quick: 1_000 }), seed: 20260301 });
    for (const move of steps) {
      const { running } = runs;
      const startedBefore = runs.started.length;
      if (move.type === 'request') {
        requests$.next({ key: String(move.key), dueAt: clock.now() + move.delayMs });
        requested.add(String(move.key));
      } else if (move.type === 'wait') clock.advance(move.ms);
      else if (running.length > 0) {
        const key = running[move.which % running.length] ?? '';
        if (move.type === 'fail') runs.fail(key);
        else runs.succeed(key, move.requeueMs === null ? {} : { requeueAt: clock.now() + move.requeueMs });
      }
      await turn();
      for (const key of runs.started.slice(startedBefore)) requested.delete(key);
      expect(new Set(runs.running).size).toBe(runs.running.length);
      expect(runs.running.length).toBeLessThanOrEqual(4);
      for (const lane of ['0', '1', '2']) expect(runs.running.filter((key) => laneOf(key) === lane).length).toBeLessThanOrEqual(2);
      expect(clock.pending).toBeLessThanOrEqual(1);
    }
    expect(runs.started.length).toBeGreaterThan(steps.length / 8);
    await settle(requested);
    expect([...requested]).toEqual([]);
    expect([runs.running, clock.pending, endings]).toEqual([[], 0, []]);
  });

  /** Completes all runs until no work is left. */
  async function settle(requested: Set<string>): Promise<void> {
    for (let round = 0; round < 200 && (runs.running.length > 0 || clock.pending > 0); round++) {
      for (const key of runs.running) runs.succeed(key);
      const startedBefore = runs.started.length;
      await turn();
      await advance(10_000);
      for (const key of runs.started.slice(startedBefore)) requested.delete(key);
    }
  }
});
