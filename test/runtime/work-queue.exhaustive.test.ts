import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type Priority, type QueueOptions, type Request, WorkQueue } from '../../src/runtime/work-queue.ts';
import { scaled } from '../support/scaled.ts';
import { NaiveQueue } from './naive-queue.ts';

const WHENEVER = Infinity;

/** Returns a queue for keys such as `eu/ci`, whose lane is `eu`. */
function queueOf(options: Partial<QueueOptions<string>> = {}): WorkQueue<string> {
  const priorityOf = (key: string) => ({ lane: laneOf(key), deadlineAt: WHENEVER });
  return new WorkQueue({ concurrency: 100, concurrencyPerLane: 100, priorityOf, ...options });
}

function laneOf(key: string): string {
  return key.split('/')[0] ?? '';
}

function takeAll(queue: WorkQueue<string>, now: number): string[] {
  const keys: string[] = [];
  for (let request = queue.take(now); request !== undefined; request = queue.take(now)) keys.push(request.key);
  return keys;
}

/** Runs all due keys one after another. */
function runAll(queue: WorkQueue<string>, now: number): string[] {
  const keys: string[] = [];
  for (let request = queue.take(now); request !== undefined; request = queue.take(now)) {
    keys.push(request.key);
    queue.done(request.key);
  }
  return keys;
}

describe('WorkQueue', () => {
  it('returns a key when it is due, not before', () => {
    const queue = queueOf();
    queue.add('a', 10);
    expect([queue.take(9), queue.nextDueAt()]).toEqual([undefined, 10]);
    expect([queue.take(10), queue.nextDueAt()]).toEqual([{ key: 'a', dueAt: 10 }, undefined]);
  });

  it('counts due keys that are not running', () => {
    const queue = queueOf({ concurrency: 1 });
    for (const [index, key] of ['a', 'b', 'c', 'd'].entries()) queue.add(key, index);
    expect(queue.depth(2)).toBe(3);
    queue.take(1);
    expect([queue.depth(1), queue.depth(2), queue.depth(9)]).toEqual([1, 2, 3]);
    queue.done('a');
    queue.take(9);
    expect(queue.depth(9)).toBe(2);
  });

  it('returns keys in order of their due times', () => {
    const queue = queueOf();
    for (const [key, dueAt] of [
      ['c', 5],
      ['d', 5],
      ['a', 1],
      ['e', 9],
      ['b', 3],
    ] as const)
      queue.add(key, dueAt);
    expect(takeAll(queue, 9)).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it.each([
    ['the first of two requests', [5, 20], 5],
    ['the second of two requests', [20, 5], 5],
  ] as const)('applies the earliest of several requests: %s', (_case, dues, dueAt) => {
    const queue = queueOf();
    for (const due of dues) queue.add('a', due);
    expect(queue.nextDueAt()).toBe(dueAt);
    expect(takeAll(queue, 100)).toEqual(['a']);
    queue.done('a');
    expect(queue.take(100)).toBeUndefined();
  });

  it('runs a key exactly once more after two adds during its run', () => {
    const queue = queueOf();
    queue.add('a', 0);
    queue.take(0);
    queue.add('a', 2);
    queue.add('a', 1);
    expect([queue.take(5), queue.nextDueAt()]).toEqual([undefined, undefined]);
    queue.done('a');
    expect(queue.take(5)).toEqual({ key: 'a', dueAt: 1 });
    queue.done('a');
    expect([queue.take(5), queue.nextDueAt()]).toEqual([undefined, undefined]);
  });

  it('requeues a running key for a later time', () => {
    const queue = queueOf();
    queue.add('a', 0);
    queue.take(0);
    queue.add('a', 50);
    queue.done('a');
    expect([queue.take(49), queue.nextDueAt()]).toEqual([undefined, 50]);
  });

  it('keeps the due time of a ready key that is requested again', () => {
    const queue = queueOf({ concurrency: 1 });
    queue.add('a', 1);
    queue.add('b', 2);
    queue.take(5);
    queue.done('a');
    queue.add('b', 90);
    expect(queue.take(5)).toEqual({ key: 'b', dueAt: 2 });
  });

  it('makes all waiting and requeued keys due when expedited', () => {
    const queue = queueOf();
    for (const key of ['late', 'runs', 'soon']) queue.add(key, 1);
    takeAll(queue, 1);
    for (const [key, dueAt] of [
      ['late', 500],
      ['soon', 100],
      ['runs', 900],
    ] as const)
      queue.add(key, dueAt);
    queue.done('late');
    queue.done('soon');
    queue.expedite(50);
    expect(takeAll(queue, 50)).toEqual(['late', 'soon']);
    queue.done('runs');
    expect(queue.take(50)).toEqual({ key: 'runs', dueAt: 50 });
  });

  it('returns no next time while all slots are taken', () => {
    const queue = queueOf({ concurrency: 1 });
    queue.add('a', 0);
    queue.add('b', 5);
    queue.take(0);
    expect(queue.nextDueAt()).toBeUndefined();
    queue.done('a');
    expect(queue.nextDueAt()).toBe(5);
  });

  it('ignores the end of a run that never began', () => {
    const queue = queueOf();
    queue.done('a');
    expect(queue.running).toBe(0);
  });

  it('rejects NaN as a due time, and limits below one', () => {
    expect(() => queueOf().add('a', Number.NaN)).toThrow(RangeError);
    expect(() => queueOf({ concurrency: 0 })).toThrow('concurrency must be at least 1, not 0');
    expect(() => queueOf({ concurrencyPerLane: Number.NaN })).toThrow(RangeError);
  });
});

describe('WorkQueue with lanes', () => {
  it('respects the concurrency limits of the queue and of each lane', () => {
    const queue = queueOf({ concurrency: 3, concurrencyPerLane: 2 });
    for (const key of ['eu/1', 'eu/2', 'eu/3', 'us/1', 'us/2']) queue.add(key, 0);
    expect(takeAll(queue, 0)).toEqual(['eu/1', 'eu/2', 'us/1']);
    queue.done('us/1');
    expect(takeAll(queue, 0)).toEqual(['us/2']);
    queue.done('eu/2');
    expect(takeAll(queue, 0)).toEqual(['eu/3']);
  });

  it('returns the key with the earliest deadline first, across lanes', () => {
    const deadlines: Readonly<Record<string, number>> = {
      'eu/late': 900,
      'eu/soon': 100,
      'us/later': 950,
      'us/sooner': 50,
      'us/never': Infinity,
    };
    const queue = queueOf({ concurrency: 1, priorityOf: (key) => ({ lane: laneOf(key), deadlineAt: deadlines[key] ?? 0 }) });
    Object.keys(deadlines).forEach((key, index) => queue.add(key, index));
    expect(runAll(queue, 10)).toEqual(['us/sooner', 'eu/soon', 'eu/late', 'us/later', 'us/never']);
  });

  it('returns a key with a deadline of NaN last', () => {
    const priorityOf = (key: string) => ({ lane: 'eu', deadlineAt: Number(key) });
    const queue = queueOf({ concurrency: 1, priorityOf });
    for (const key of ['unreadable', '3', '1', 'garbage', '2']) queue.add(key, 0);
    expect(runAll(queue, 0)).toEqual(['1', '2', '3', 'unreadable', 'garbage']);
  });

  it('determines the lane and deadline of a key when it becomes ready, and again for a request while it is ready', () => {
    let place: Priority = { lane: 'eu', deadlineAt: 1 };
    const queue = queueOf({ concurrencyPerLane: 1, priorityOf: (key) => (key === 'moving' ? place : { lane: 'eu', deadlineAt: 0 }) });
    queue.add('hangs', 0);
    queue.add('moving', 0);
    expect(takeAll(queue, 0)).toEqual(['hangs']);
    place = { lane: 'us', deadlineAt: 1 };
    expect(takeAll(queue, 0)).toEqual([]);
    queue.add('moving', 5);
    expect(takeAll(queue, 0)).toEqual(['moving']);
    queue.done('moving');
    expect(queue.lanes).toBe(1);
  });

  it('keeps the deadline of a ready key that is requested again, so that later requests do not overtake it', () => {
    let now = 0;
    const queue = queueOf({ concurrency: 1, priorityOf: () => ({ lane: '', deadlineAt: now }) });
    const taken: (string | undefined)[] = [];
    for (const key of ['a', 'b', 'c']) queue.add(key, now);
    for (now = 1; now <= 6; now++) {
      const key = queue.take(now)?.key;
      taken.push(key);
      for (const requested of ['a', 'b', 'c']) queue.add(requested, now);
      queue.order(now, 100);
      queue.done(key ?? '');
    }
    expect(taken).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
  });

  it('frees the lane in which a key ran, even if the lane of the key changed', () => {
    let lane = 'eu';
    const queue = queueOf({ concurrencyPerLane: 1, priorityOf: () => ({ lane, deadlineAt: 0 }) });
    queue.add('a', 0);
    queue.take(0);
    lane = 'us';
    queue.add('a', 0);
    queue.done('a');
    expect([queue.take(0)?.key, queue.lanes]).toEqual(['a', 1]);
    lane = 'eu';
    queue.add('b', 0);
    expect(queue.take(0)?.key).toBe('b');
  });

  it('serves other lanes while a lane with a thousand urgent keys hangs', () => {
    const priorityOf = (key: string) => ({ lane: laneOf(key), deadlineAt: key.startsWith('dead/') ? 0 : WHENEVER });
    const queue = queueOf({ concurrency: 10, concurrencyPerLane: 4, priorityOf });
    for (let index = 0; index < 1_000; index++) queue.add(`dead/${index}`, 0);
    expect(takeAll(queue, 0)).toHaveLength(4);
    for (let round = 1; round <= 50; round++) {
      const lanes = ['eu', 'us', 'asia'].map((lane) => `${lane}/${round}`);
      for (const key of lanes) queue.add(key, round);
      expect(takeAll(queue, round)).toEqual(lanes);
      for (const key of lanes) queue.done(key);
    }
  });

  it('removes idle lanes from memory', () => {
    const queue = queueOf();
    for (let index = 0; index < 500; index++) queue.add(`lane-${index}/key`, index < 400 ? 0 : 10);
    runAll(queue, 0);
    expect(queue.lanes).toBe(0);
    expect(runAll(queue, 10)).toHaveLength(100);
    expect(queue.lanes).toBe(0);
  });
});

describe('WorkQueue with tenants', () => {
  /** Returns a queue for keys such as `eu/team-a/1`: lane, tenant, and a deadline that the tenant chooses. */
  const tenantQueue = (options: Partial<QueueOptions<string>> = {}) =>
    queueOf({
      priorityOf: (key) => ({ lane: laneOf(key), tenant: key.split('/')[1] ?? '', deadlineAt: Number(key.split('/')[2]) }),
      ...options,
    });
  const tenantsOf = (keys: readonly string[]) => keys.map((key) => key.split('/')[1]);

  it('serves tenants in turn, independently of the urgency of their keys', () => {
    const queue = tenantQueue({ concurrency: 1 });
    for (let index = 0; index < 1_000; index++) queue.add(`eu/crowd/${index}`, 0);
    for (let index = 0; index < 3; index++) queue.add(`eu/calm/${1_000_000 + index}`, 0);
    const order = runAll(queue, 0);
    expect(
      tenantsOf(order)
        .slice(0, 6)
        .filter((tenant) => tenant === 'calm'),
    ).toHaveLength(3);
    expect(order).toHaveLength(1_003);
  });

  it('serves the most urgent key of each tenant first, and the most urgent tenant after equal turns', () => {
    const queue = tenantQueue({ concurrency: 1 });
    for (const key of ['eu/a/5', 'eu/a/1', 'us/b/2', 'eu/b/4', 'us/c/3']) queue.add(key, 0);
    expect(runAll(queue, 0)).toEqual(['eu/a/1', 'us/b/2', 'us/c/3', 'eu/b/4', 'eu/a/5']);
  });

  it('gives free slots of a lane to the tenant with the fewest slots', () => {
    const queue = tenantQueue({ concurrencyPerLane: 4 });
    for (let index = 0; index < 9; index++) queue.add(`eu/crowd/${index}`, 0);
    const crowd = takeAll(queue, 0);
    for (let index = 0; index < 9; index++) queue.add(`eu/calm/${index}`, 1);
    expect([crowd.length, takeAll(queue, 1)]).toEqual([4, []]);
    for (const key of crowd.slice(0, 2)) queue.done(key);
    expect(tenantsOf(takeAll(queue, 1))).toEqual(['calm', 'calm']);
    queue.done(crowd[2] ?? '');
    expect(tenantsOf(takeAll(queue, 1))).toEqual(['crowd']);
  });

  it('reserves slots for tenants without running keys', () => {
    const queue = tenantQueue({ concurrency: 18, concurrencyPerLane: 9, tenantShare: 2 });
    for (let index = 0; index < 20; index++) for (const lane of ['eu', 'us', 'asia']) queue.add(`${lane}/crowd/${index}`, 0);
    expect(takeAll(queue, 0)).toHaveLength(12);
    expect([...queue.slotsByTenant()]).toEqual([['crowd', 12]]);
    for (const lane of ['eu', 'us', 'asia']) queue.add(`${lane}/calm/1`, 0);
    expect(tenantsOf(takeAll(queue, 0))).toEqual(['calm', 'calm', 'calm']);
  });

  it('gives the slot of a removed key to the next tenant', () => {
    let lane = 'eu';
    const priorityOf = (key: string) => ({ lane: key === 'moves' ? lane : 'eu', tenant: key, deadlineAt: key === 'moves' ? 0 : 1 });
    const queue = queueOf({ concurrency: 2, concurrencyPerLane: 1, priorityOf });
    queue.add('runs', 0);
    takeAll(queue, 0);
    queue.add('moves', 0);
    queue.add('waits', 0);
    expect(takeAll(queue, 0)).toEqual([]);
    queue.done('runs');
    lane = 'us';
    queue.add('moves', 0);
    expect(takeAll(queue, 0).toSorted()).toEqual(['moves', 'waits']);
  });

  it('respects the concurrency limits, wastes no slot and loses no key in 3,000 random steps', () => {
    const [lane, tenant] = [fc.nat(3), fc.nat(5)];
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ type: fc.constant('add' as const), lane, tenant, deadlineAt: fc.nat(30) }) },
      { weight: 3, arbitrary: fc.record({ type: fc.constant('take' as const) }) },
      { weight: 4, arbitrary: fc.record({ type: fc.constant('done' as const), which: fc.nat() }) },
    );
    const limits = fc.record({
      concurrency: fc.integer({ min: 1, max: 12 }),
      concurrencyPerLane: fc.integer({ min: 1, max: 5 }),
      tenantShare: fc.constantFrom(1, 2, 8, Infinity),
    });
    fc.assert(
      fc.property(limits, fc.array(step, { minLength: 3_000, maxLength: 3_000, size: 'max' }), (bounds, steps) => {
        const queue = tenantQueue(bounds);
        const ready = new Set<string>();
        const running = new Set<string>();
        const inLane = (keys: ReadonlySet<string>, wanted: string) => [...keys].filter((key) => laneOf(key) === wanted).length;
        const take = () => {
          const key = queue.take(0)?.key;
          if (key === undefined) {
            // With a share, slots may stay free for other tenants; no key may wait while no key runs.
            const couldRun = [...ready].some((each) => inLane(running, laneOf(each)) < bounds.concurrencyPerLane);
            if (bounds.tenantShare === Infinity) expect(couldRun && running.size < bounds.concurrency).toBe(false);
            expect(running.size === 0 && ready.size > 0).toBe(false);
            return undefined;
          }
          expect([ready.delete(key), running.has(key)]).toEqual([true, false]);
          running.add(key);
          expect(running.size).toBeLessThanOrEqual(bounds.concurrency);
          expect(inLane(running, laneOf(key))).toBeLessThanOrEqual(bounds.concurrencyPerLane);
          return key;
        };
        const done = (key: string) => {
          running.delete(key);
          queue.done(key);
        };
        for (const move of steps) {
          const key = move.type === 'add' ? `${move.lane}/${move.tenant}/${move.deadlineAt}` : '';
          if (move.type === 'take') take();
          else if (move.type === 'done') done([...running][move.which % Math.max(running.size, 1)] ?? '');
          else if (!running.has(key)) {
            ready.add(key);
            queue.add(key, 0);
          }
        }
        for (const key of running) done(key);
        for (let key = take(); key !== undefined; key = take()) done(key);
        expect([ready.size, queue.running, queue.lanes, [...queue.slotsByTenant()]]).toEqual([0, 0, 0, []]);
      }),
      { numRuns: scaled({ full: 8, quick: 2 }) },
    );
  });
});

describe('WorkQueue in the long run', () => {
  const key = fc.nat(24).map(String);
  const step = fc.oneof(
    { weight: 40, arbitrary: fc.record({ type: fc.constant('add' as const), key, delayMs: fc.integer({ min: -5, max: 40 }) }) },
    { weight: 30, arbitrary: fc.record({ type: fc.constant('take' as const) }) },
    { weight: 30, arbitrary: fc.record({ type: fc.constant('done' as const), which: fc.nat() }) },
    { weight: 20, arbitrary: fc.record({ type: fc.constant('wait' as const), ms: fc.nat(12) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('expedite' as const) }) },
    {
      weight: 10,
      arbitrary: fc.record({
        type: fc.constant('move' as const),
        key,
        lane: fc.nat(3).map(String),
        deadlineAt: fc.constantFrom(1, 2, 3, Infinity),
      }),
    },
  );
  const limits = fc.record({ concurrency: fc.integer({ min: 1, max: 8 }), concurrencyPerLane: fc.integer({ min: 1, max: 4 }) });

  it('runs no key twice at the same time, respects the concurrency limits and loses no key in 4,000 random steps', () => {
    fc.assert(
      fc.property(limits, fc.array(step, { minLength: 4_000, maxLength: 4_000, size: 'max' }), (bounds, steps) => {
        const places = new Map<string, Priority>();
        const priorityOf = (name: string) => places.get(name) ?? { lane: 'first', deadlineAt: Infinity };
        const queue = new WorkQueue<string>({ ...bounds, priorityOf });
        const model = new NaiveQueue({ ...bounds, priorityOf });
        const running = new Map<string, string>();
        let now = 0;
        const take = (): Request<string> | undefined => {
          const request = queue.take(now);
          expect(request).toEqual(model.take(now));
          if (request === undefined) return undefined;
          expect(running.has(request.key)).toBe(false);
          running.set(request.key, model.laneOf(request.key));
          expect(running.size).toBeLessThanOrEqual(bounds.concurrency);
          for (const lane of running.values()) {
            expect([...running.values()].filter((other) => other === lane).length).toBeLessThanOrEqual(bounds.concurrencyPerLane);
          }
          return request;
        };
        const done = (name: string): void => {
          running.delete(name);
          queue.done(name);
          model.done(name);
        };
        for (const move of steps) {
          if (move.type === 'add') {
            queue.add(move.key, now + move.delayMs);
            model.add(move.key, now + move.delayMs);
          } else if (move.type === 'expedite') {
            queue.expedite(now);
            model.expedite(now);
          } else if (move.type === 'take') take();
          else if (move.type === 'wait') now += move.ms;
          else if (move.type === 'move') places.set(move.key, move);
          else if (running.size > 0) done([...running.keys()][move.which % running.size] ?? '');
          expect(queue.nextDueAt()).toBe(model.nextDueAt());
        }
        now += 1_000;
        for (const name of running.keys()) done(name);
        for (let request = take(); request !== undefined; request = take()) done(request.key);
        expect([model.size, queue.running, queue.lanes, queue.nextDueAt()]).toEqual([0, 0, 0, undefined]);
      }),
      { numRuns: scaled({ full: 2, quick: 1 }) },
    );
  });

  it('visits each of 10,000 due keys once', () => {
    let placements = 0;
    const priorityOf = (name: string) => {
      placements += 1;
      return { lane: name.slice(-2), deadlineAt: Number(name) % 997 };
    };
    const queue = queueOf({ concurrency: 50, concurrencyPerLane: 5, priorityOf });
    for (let index = 0; index < 10_000; index++) queue.add(String(index), index % 100);
    expect(runAll(queue, 100)).toHaveLength(10_000);
    expect(placements).toBe(10_000);
  });
});
