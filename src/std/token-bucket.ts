// Rate limiting.

import type { Clock } from './clock.ts';

export interface Rate {
  readonly perSecond: number;
  /** Maximum burst, in events. */
  readonly burst: number;
}

/** Limits events per second; a rate of 0 means no limit. */
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

  /** Takes a token and returns 0, or returns the milliseconds until the next token is available. */
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
