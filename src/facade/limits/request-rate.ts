// The limit on the request rate of each tenant, over all of its tokens.

import { tooManyRequests } from '../../kubernetes/status.ts';
import type { Clock } from '../../std/clock.ts';
import type { Rate } from '../../std/token-bucket.ts';
import { TenantRates } from './tenant.ts';

export class RequestRateLimiter {
  readonly #rates: TenantRates | undefined;

  /** A rate of 0 is no limit. */
  constructor(clock: Clock, rate: Rate) {
    this.#rates = rate.perSecond === 0 ? undefined : new TenantRates(clock, rate);
  }

  /** Counts one request of a tenant. Throws 429 above the rate. */
  count(tenant: string): void {
    const waitMs = this.#rates?.take(tenant) ?? 0;
    if (waitMs > 0) throw overloaded(waitMs);
  }
}

/** Returns a 429 with the time to wait in Retry-After. */
export function overloaded(waitMs: number): ReturnType<typeof tooManyRequests> {
  return tooManyRequests('Too many requests, please try again later.', Math.max(1, Math.ceil(waitMs / 1000)));
}
