// A simulated clock whose jumps do not time out requests in progress.

import { type Clock, systemClock } from '../../src/std/clock.ts';

export function patient(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    wakeAt: (at, wake) => clock.wakeAt(at, wake),
    wakeAfter: (ms, wake) => systemClock.wakeAfter(ms, wake),
  };
}
