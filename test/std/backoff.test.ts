import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Backoff, doubledMs, REFLECTOR_BACKOFF, retried } from '../../src/std/backoff.ts';
import { turn } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';

const steady = { ...REFLECTOR_BACKOFF, random: () => 0 };

describe('Backoff', () => {
  it('doubles from 0.8 s to 10 s', () => {
    const backoff = new Backoff(steady);
    const delays = Array.from({ length: 8 }, (_, index) => backoff.nextMs(index));
    expect(delays).toEqual([800, 1600, 3200, 6400, 10_000, 10_000, 10_000, 10_000]);
  });

  it('adds up to the same again as jitter', () => {
    const backoff = new Backoff({ ...REFLECTOR_BACKOFF, random: () => 0.5 });
    expect([backoff.nextMs(0), backoff.nextMs(1)]).toEqual([1200, 2400]);
  });

  it('does not carry the jitter over to later pauses', () => {
    const jitters = [0.9, 0];
    const backoff = new Backoff({ ...REFLECTOR_BACKOFF, random: () => jitters.shift() ?? 0 });
    backoff.nextMs(0);
    expect(backoff.nextMs(1)).toBe(1600);
  });

  it('F4: starts from the beginning after something has worked for 15 s, the pause itself not counted', () => {
    const backoff = new Backoff(steady);
    backoff.nextMs(0);
    backoff.nextMs(1000);
    expect(backoff.nextMs(2600 + 15_000)).toBe(3200);
    expect(backoff.nextMs(17_600 + 3200 + 15_001)).toBe(800);
  });

  it('is not reset by success: failures that come between short successes still grow apart', () => {
    const backoff = new Backoff(steady);
    let now = 0;
    const delays = Array.from({ length: 7 }, () => {
      const delay = backoff.nextMs(now);
      now += delay + 5000;
      return delay;
    });
    expect(delays).toEqual([800, 1600, 3200, 6400, 10_000, 10_000, 10_000]);
  });

  it('stays within its bounds, whatever happens', () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(300_000), random)), (failures) => {
        let now = 0;
        let jitter = 0;
        const backoff = new Backoff({ ...REFLECTOR_BACKOFF, random: () => jitter });
        for (const [elapsed, next] of failures) {
          now += elapsed;
          jitter = next;
          const delay = backoff.nextMs(now);
          expect(delay).toBeGreaterThanOrEqual(800);
          expect(delay).toBeLessThan(20_000);
        }
      }),
    );
  });
});

describe('doubledMs', () => {
  it('is the maximum also after failures beyond count', () => {
    expect(doubledMs(100_000, { initialMs: 500, maxMs: 300_000 })).toBe(300_000);
  });
});

function world() {
  const clock = new FakeClock();
  const stopping = new AbortController();
  const failures: unknown[] = [];
  const onFailure = (error: unknown) => void failures.push(error);
  return { clock, stopping, failures, options: { clock, random: () => 0, signal: stopping.signal, onFailure } };
}

describe('retried', () => {
  it('tries again after failures, and after nothing, with ever longer pauses', async () => {
    const { clock, options, failures } = world();
    const answers = [() => Promise.reject(new Error('not now')), async () => undefined, async () => 'done'];
    const triedAt: number[] = [];
    const startedAt = clock.now();
    const result = retried(
      async () => {
        triedAt.push(clock.now() - startedAt);
        return await answers[triedAt.length - 1]?.();
      },
      { ...options, pauses: { initialMs: 100, maxMs: 1_000 } },
    );
    for (let passed = 0; passed < 400; passed += 50) {
      await turn();
      clock.advance(50);
    }

    expect(await result).toBe('done');
    expect(triedAt).toEqual([0, 100, 300]);
    expect(failures).toEqual([new Error('not now')]);
  });

  it('ends when it is aborted, in a pause or at work', async () => {
    const { stopping, options, failures } = world();
    const [pausing, working] = [
      retried(async () => undefined, options),
      retried(
        () => new Promise<true>((_, reject) => stopping.signal.addEventListener('abort', () => reject(new Error('cut off')))),
        options,
      ),
    ];
    await turn();
    stopping.abort(new Error('stopped'));

    await expect(pausing).rejects.toThrow('stopped');
    await expect(working).rejects.toThrow('stopped');
    expect(failures).toEqual([]);
  });
});
