// The limit on the request rate of each tenant, over all of its tokens.

import { tooManyRequests } from '../../kubernetes/status.ts';
import type { Clock } from '../../std/clock.ts';
import { Recent } from '../../std/recent.ts';
import { type Rate, TokenBucket } from '../../std/token-bucket.ts';

const MAX_TENANTS = 10_000;

export class RequestRateLimiter {
  readonly #clock: Clock;
  readonly #rate: Rate;
  readonly #buckets = new Recent<TokenBucket>(MAX_TENANTS);

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#rate = rate;
  }

  /** Counts one request of a tenant. Throws 429 above the rate. */
  count(tenant: string): void {
    if (this.#rate.perSecond === 0) return;
    const waitMs = this.#bucketOf(tenant).take();
    if (waitMs > 0) throw overloaded(waitMs);
  }

  #bucketOf(tenant: string): TokenBucket {
    const bucket = this.#buckets.get(tenant) ?? new TokenBucket(this.#clock, this.#rate);
    // Moves the bucket to the end, so that it is evicted last.
    this.#buckets.set(tenant, bucket);
    return bucket;
  }
}

/** Returns a 429 with the time to wait in Retry-After. */
export function overloaded(waitMs: number): ReturnType<typeof tooManyRequests> {
  return tooManyRequests('Too many requests, please try again later.', Math.max(1, Math.ceil(waitMs / 1000)));
}
