import { describe, expect, it } from '@jest/globals';
import { array, assert, constantFrom, nat, property, tuple } from 'fast-check';
import { admit, type Breaker, CLOSED, type Outcome, settled } from '../../src/issuers/breaker.ts';

/** The breaker after these outcomes, all at once. */
function after(outcomes: readonly Outcome[], breaker: Breaker = CLOSED, now = 0): Breaker {
  return outcomes.reduce((state, outcome) => settled(admit(state, now).breaker ?? state, outcome, now), breaker);
}

const failures = (count: number): readonly Outcome[] => Array.from({ length: count }, () => 'failure');

describe('breaker', () => {
  it('lets everything pass while failures are fewer than five in a row', () => {
    expect(admit(after(failures(4)), 0)).toHaveProperty('breaker');
    expect(admit(after([...failures(4), 'success', ...failures(4)]), 0)).toHaveProperty('breaker');
    expect(admit(after([...failures(4), 'abandoned']), 0)).toHaveProperty('breaker');
  });

  it('opens after five failures in a row and says how long', () => {
    expect(admit(after(failures(5)), 0)).toEqual({ waitMs: 5_000 });
    expect(admit(after(failures(5)), 4_000)).toEqual({ waitMs: 1_000 });
  });

  it('lets one request pass when the pause is over', () => {
    const { breaker } = admit(after(failures(5)), 5_000);
    expect(breaker).toEqual({ type: 'probing', pauseMs: 5_000 });
    expect(admit(breaker ?? CLOSED, 5_001)).toEqual({ waitMs: 5_000 });
  });

  it('closes when that request succeeds', () => {
    const { breaker = CLOSED } = admit(after(failures(5)), 5_000);
    expect(settled(breaker, 'success', 5_010)).toEqual(CLOSED);
  });

  it('pauses twice as long when it fails, up to a minute', () => {
    let [breaker, now] = [after(failures(5)), 0];
    const pauses = Array.from({ length: 6 }, () => {
      const pauseMs = breaker.type === 'open' ? breaker.until - now : 0;
      now += pauseMs;
      breaker = settled(admit(breaker, now).breaker ?? breaker, 'failure', now);
      return pauseMs;
    });
    expect(pauses).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  });

  it('lets the next one find out when that request is abandoned', () => {
    const { breaker = CLOSED } = admit(after(failures(5)), 5_000);
    expect(admit(settled(breaker, 'abandoned', 5_010), 5_010).breaker).toEqual({ type: 'probing', pauseMs: 5_000 });
  });

  it('closes when a request from before succeeds, and is not held open longer when one fails', () => {
    const open = after(failures(5));
    expect(settled(open, 'success', 1)).toEqual(CLOSED);
    expect(settled(open, 'failure', 4_999)).toBe(open);
  });

  it('never waits for longer than a minute, whatever happens', () => {
    const step = tuple(constantFrom<Outcome>('success', 'failure', 'abandoned'), nat(100_000));
    assert(
      property(array(step), (steps) => {
        let [breaker, now] = [CLOSED, 0];
        for (const [outcome, ms] of steps) {
          now += ms;
          const admission = admit(breaker, now);
          if (admission.breaker === undefined) expect(admission.waitMs).toBeLessThanOrEqual(60_000);
          else breaker = settled(admission.breaker, outcome, now);
        }
      }),
    );
  });
});
