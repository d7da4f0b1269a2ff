// A test's time, by which requests under way are not late when it passes in leaps.

import { type Clock, systemClock } from '../../src/std/clock.ts';

export function patient(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    wakeAt: (at, wake) => clock.wakeAt(at, wake),
    wakeAfter: (ms, wake) => systemClock.wakeAfter(ms, wake),
  };
}
