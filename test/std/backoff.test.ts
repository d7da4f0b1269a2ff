import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Backoff, computeExponentialMs, REFLECTOR_BACKOFF, retryUntilDone } from '../../src/std/backoff.ts';
import { turn } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';

const steady = { ...REFLECTOR_BACKOFF, random: () => 0 };

describe('Backoff', () => {
  it('doubles the delay from 0.8 s to 10 s', () => {
    const backoff = new Backoff(steady);
    const delays = Array.from({ length: 8 }, (_, index) => backoff.nextMs(index));
    expect(delays).toEqual([800, 1600, 3200, 6400, 10_000, 10_000, 10_000, 10_000]);
  });

  it('adds jitter as a fraction of the delay', () => {
    const backoff = new Backoff({ ...REFLECTOR_BACKOFF, random: () => 0.5 });
    expect([backoff.nextMs(0), backoff.nextMs(1)]).toEqual([1200, 2400]);
  });

  it('computes a delay that does not include the jitter of earlier delays', () => {
    const jitters = [0.9, 0];
    const backoff = new Backoff({ ...REFLECTOR_BACKOFF, random: () => jitters.shift() ?? 0 });
    backoff.nextMs(0);
    expect(backoff.nextMs(1)).toBe(1600);
  });

  it('returns the initial delay after 15 s without failures since the end of the last delay', () => {
    const backoff = new Backoff(steady);
    backoff.nextMs(0);
    backoff.nextMs(1000);
    expect(backoff.nextMs(2600 + 15_000)).toBe(3200);
    expect(backoff.nextMs(17_600 + 3200 + 15_001)).toBe(800);
  });

  it('doubles the delay if 5 s without failures follow each delay', () => {
    const backoff = new Backoff(steady);
    let now = 0;
    const delays = Array.from({ length: 7 }, () => {
      const delay = backoff.nextMs(now);
      now += delay + 5000;
      return delay;
    });
    expect(delays).toEqual([800, 1600, 3200, 6400, 10_000, 10_000, 10_000]);
  });

  it('returns no delay for the initial free failures', () => {
    const backoff = new Backoff({ ...steady, free: 2 });
    expect([backoff.nextMs(0), backoff.nextMs(1), backoff.nextMs(2)]).toEqual([0, 0, 800]);
  });

  it('returns the rest of a delay until the backoff is reset', () => {
    const backoff = new Backoff(steady);
    backoff.nextMs(100);
    expect([backoff.remainingMs(100), backoff.remainingMs(600), backoff.remainingMs(1_000)]).toEqual([800, 300, 0]);
    backoff.reset();
    expect([backoff.remainingMs(100), backoff.nextMs(100)]).toEqual([0, 800]);
  });

  it('returns delays within the limits for any sequence of failures', () => {
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

describe('computeExponentialMs', () => {
  it('returns the maximum after many failures', () => {
    expect(computeExponentialMs(100_000, { initialMs: 500, maxMs: 300_000 })).toBe(300_000);
  });
});

function world() {
  const clock = new FakeClock();
  const stopping = new AbortController();
  const failures: unknown[] = [];
  const onFailure = (error: unknown) => void failures.push(error);
  return { clock, stopping, failures, options: { clock, random: () => 0, signal: stopping.signal, onFailure } };
}

describe('retryUntilDone', () => {
  it('retries after errors and undefined results with growing delays', async () => {
    const { clock, options, failures } = world();
    const attempts = [() => Promise.reject(new Error('not now')), async () => undefined, async () => 'done'];
    const triedAt: number[] = [];
    const startedAt = clock.now();
    const result = retryUntilDone(
      async () => {
        triedAt.push(clock.now() - startedAt);
        return await attempts[triedAt.length - 1]?.();
      },
      { ...options, delays: { initialMs: 100, maxMs: 1_000 } },
    );
    for (let passed = 0; passed < 400; passed += 50) {
      await turn();
      clock.advance(50);
    }

    expect(await result).toBe('done');
    expect(triedAt).toEqual([0, 100, 300]);
    expect(failures).toEqual([new Error('not now')]);
  });

  it('rejects if the signal aborts during a delay or an attempt', async () => {
    const { stopping, options, failures } = world();
    const [pausing, working] = [
      retryUntilDone(async () => undefined, options),
      retryUntilDone(
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
