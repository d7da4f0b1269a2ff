// How often one caller may ask, whichever token they use.

import { tooManyRequests } from '../api/status.ts';
import type { Clock } from '../std/clock.ts';
import { Recent } from '../std/recent.ts';
import { type Rate, TokenBucket } from '../std/token-bucket.ts';

const MAX_CALLERS = 10_000;

/** Remembers who asked how often lately. */
export class RateLimit {
  readonly #clock: Clock;
  readonly #rate: Rate;
  readonly #buckets = new Recent<TokenBucket>(MAX_CALLERS);

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#rate = rate;
  }

  /** Throws 429 when this caller asks too often. */
  check(caller: string): void {
    if (this.#rate.perSecond === 0) return;
    const waitMs = this.#bucketOf(caller).take();
    if (waitMs > 0) throw overloaded(waitMs);
  }

  #bucketOf(caller: string): TokenBucket {
    const bucket = this.#buckets.get(caller) ?? new TokenBucket(this.#clock, this.#rate);
    // Whoever asked last is forgotten last.
    this.#buckets.set(caller, bucket);
    return bucket;
  }
}

/** The refusal of what comes too often. */
export function overloaded(waitMs: number): ReturnType<typeof tooManyRequests> {
  return tooManyRequests('Too many requests, please try again later.', Math.max(1, Math.ceil(waitMs / 1000)));
}
