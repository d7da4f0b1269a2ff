// How much is allowed in how much time.

import type { Clock } from './clock.ts';

export interface Rate {
  readonly perSecond: number;
  /** How much may come at once after a pause. */
  readonly burst: number;
}

/** Lets a number of things happen per second; 0 per second means any number. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #rate: Rate;
  #left: number;
  #filledAt: number;

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#rate = rate;
    this.#left = rate.burst;
    this.#filledAt = clock.monotonic();
  }

  /** Takes one, if there is one: 0. Otherwise tells how many milliseconds it takes until there is. */
  take(): number {
    const { perSecond, burst } = this.#rate;
    if (perSecond === 0) return 0;
    const now = this.#clock.monotonic();
    this.#left = Math.min(burst, this.#left + ((now - this.#filledAt) * perSecond) / 1000);
    this.#filledAt = now;
    if (this.#left < 1) return ((1 - this.#left) * 1000) / perSecond;
    this.#left -= 1;
    return 0;
  }
}
