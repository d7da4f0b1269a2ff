import { describe, expect, it } from '@jest/globals';
import { retried } from '../../src/std/retried.ts';
import { turn } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';

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
