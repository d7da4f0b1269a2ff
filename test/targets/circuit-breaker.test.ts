import { describe, expect, it } from '@jest/globals';
import { array, assert, constantFrom, nat, property, tuple } from 'fast-check';
import { admit, type Breaker, type CallOutcome, CLOSED_BREAKER, settle } from '../../src/targets/circuit-breaker.ts';

/** Returns the breaker after these simultaneous outcomes. */
function after(outcomes: readonly CallOutcome[], breaker: Breaker = CLOSED_BREAKER, now = 0): Breaker {
  return outcomes.reduce((state, outcome) => endRequest(admit(state, now).breaker ?? state, outcome, now), breaker);
}

/** Returns the breaker after the outcome of the request that it admitted last. */
function endRequest(breaker: Breaker, outcome: CallOutcome, now: number): Breaker {
  return settle(breaker, { admitted: breaker, outcome }, now);
}

const failures = (count: number): readonly CallOutcome[] => Array.from({ length: count }, () => 'failure');

describe('circuit breaker', () => {
  it('admits all requests below five failures in a row', () => {
    expect(admit(after(failures(4)), 0)).toHaveProperty('breaker');
    expect(admit(after([...failures(4), 'success', ...failures(4)]), 0)).toHaveProperty('breaker');
    expect(admit(after([...failures(4), 'abandoned']), 0)).toHaveProperty('breaker');
  });

  it('opens after five failures in a row and returns the waiting time', () => {
    expect(admit(after(failures(5)), 0)).toEqual({ waitMs: 5_000 });
    expect(admit(after(failures(5)), 4_000)).toEqual({ waitMs: 1_000 });
  });

  it('admits one test request after the pause', () => {
    const { breaker } = admit(after(failures(5)), 5_000);
    expect(breaker).toEqual({ type: 'probing', since: 5_000, pauseMs: 5_000 });
    expect(admit(breaker ?? CLOSED_BREAKER, 5_001)).not.toHaveProperty('breaker');
  });

  it.each([
    ['for a second at first', 5_001, 1_000],
    ['for as long as the test request has lasted', 13_000, 8_000],
  ])('makes other requests wait for the test request %s', (_, now, waitMs) => {
    const { breaker = CLOSED_BREAKER } = admit(after(failures(5)), 5_000);
    expect(admit(breaker, now)).toEqual({ waitMs });
  });

  it('closes when the test request succeeds', () => {
    const { breaker = CLOSED_BREAKER } = admit(after(failures(5)), 5_000);
    expect(endRequest(breaker, 'success', 5_010)).toEqual(CLOSED_BREAKER);
  });

  it('doubles the pause when the test request fails, up to a minute', () => {
    let [breaker, now] = [after(failures(5)), 0];
    const pauses = Array.from({ length: 6 }, () => {
      const pauseMs = breaker.type === 'open' ? breaker.until - now : 0;
      now += pauseMs;
      breaker = endRequest(admit(breaker, now).breaker ?? breaker, 'failure', now);
      return pauseMs;
    });
    expect(pauses).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  });

  it('admits the next request as a test when the test request is abandoned', () => {
    const { breaker = CLOSED_BREAKER } = admit(after(failures(5)), 5_000);
    expect(admit(endRequest(breaker, 'abandoned', 5_010), 5_010).breaker).toEqual({ type: 'probing', since: 5_010, pauseMs: 5_000 });
  });

  it('closes when an earlier request succeeds, and ignores failures of earlier requests', () => {
    const open = after(failures(5));
    expect(endRequest(open, 'success', 1)).toEqual(CLOSED_BREAKER);
    expect(endRequest(open, 'failure', 4_999)).toBe(open);
  });

  it.each<CallOutcome>(['failure', 'abandoned'])(
    'keeps waiting for the test request when a request from before the circuit opened ends as %s',
    (outcome) => {
      const { breaker = CLOSED_BREAKER } = admit(after(failures(5)), 5_000);
      expect(settle(breaker, { admitted: CLOSED_BREAKER, outcome }, 5_010)).toBe(breaker);
    },
  );

  it('never makes a request wait longer than a minute', () => {
    const step = tuple(constantFrom<CallOutcome>('success', 'failure', 'abandoned'), nat(100_000));
    assert(
      property(array(step), (steps) => {
        let [breaker, now] = [CLOSED_BREAKER, 0];
        for (const [outcome, ms] of steps) {
          now += ms;
          const admission = admit(breaker, now);
          if (admission.breaker === undefined) expect(admission.waitMs).toBeLessThanOrEqual(60_000);
          else breaker = endRequest(admission.breaker, outcome, now);
        }
      }),
    );
  });
});
