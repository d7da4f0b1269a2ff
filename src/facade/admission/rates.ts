// The rate of requests of one caller, whichever tokens they use.

import { tooManyRequests } from '../../kubernetes/status.ts';
import type { Clock } from '../../std/clock.ts';
import { Recent } from '../../std/recent.ts';
import { type Rate, TokenBucket } from '../../std/token-bucket.ts';

const MAX_CALLERS = 10_000;

/** One bucket for each caller. */
export class Rates {
  readonly #clock: Clock;
  readonly #rate: Rate;
  readonly #buckets = new Recent<TokenBucket>(MAX_CALLERS);

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#rate = rate;
  }

  /** Takes one request from the caller's bucket. Throws 429 if it is empty. */
  check(caller: string): void {
    if (this.#rate.perSecond === 0) return;
    const waitMs = this.#bucketOf(caller).take();
    if (waitMs > 0) throw overloaded(waitMs);
  }

  #bucketOf(caller: string): TokenBucket {
    const bucket = this.#buckets.get(caller) ?? new TokenBucket(this.#clock, this.#rate);
    // The caller with the latest request is forgotten last.
    this.#buckets.set(caller, bucket);
    return bucket;
  }
}

/** Returns the 429 for a caller who has to wait. */
export function overloaded(waitMs: number): ReturnType<typeof tooManyRequests> {
  return tooManyRequests('Too many requests, please try again later.', Math.max(1, Math.ceil(waitMs / 1000)));
}
