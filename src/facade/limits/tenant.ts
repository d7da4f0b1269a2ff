// Limits on the rates of tenants, and the keys that limits apply to: the tenant of a user, across all tokens of the user, and the source
// address of a connection.

import { isIPv6 } from 'node:net';
import { parseServiceAccountNamespace } from '../../kubernetes/service-account.ts';
import { tooManyRequests } from '../../kubernetes/status.ts';
import { BoundedCache } from '../../std/bounded-cache.ts';
import type { Clock } from '../../std/clock.ts';
import { type Rate, TokenBucket } from '../../std/token-bucket.ts';

const MAX_TENANTS = 10_000;

/** Rates of requests or of reviews, by tenant. Only the rates of recent tenants are kept. */
export class TenantRates {
  readonly #clock: Clock;
  readonly #rate: Rate;
  readonly #buckets = new BoundedCache<TokenBucket>(MAX_TENANTS);

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#rate = rate;
  }

  /** Counts one request or review of a tenant. Returns the time to wait in milliseconds; 0 within the rate. */
  take(tenant: string): number {
    const bucket = this.#buckets.get(tenant) ?? new TokenBucket(this.#clock, this.#rate);
    // Moves the bucket to the end, so that it is evicted last.
    this.#buckets.set(tenant, bucket);
    return bucket.take();
  }
}

export class RequestRateLimiter {
  readonly #rates: TenantRates | undefined;

  /** Creates a limiter; a rate of 0 disables it. */
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

/**
 * Returns the tenant of a user. All service accounts in a namespace are one tenant, because a user with permission to create service
 * accounts in the namespace could use any number of them. Any other user is one tenant.
 */
export function toTenant(username: string): string {
  const namespace = parseServiceAccountNamespace(username);
  return namespace === undefined ? username : `system:serviceaccounts:${namespace}`;
}

/**
 * Returns the key under which limits count a source address. An IPv4-mapped address has the key of its IPv4 address. All IPv6
 * addresses in a /64 share a key, because one host can use any of them.
 */
export function toAddressKey(remoteAddress: string | undefined): string {
  const address = (remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  // The regular expression behind `isIPv6` is slow, and this function runs for every request.
  if (!address.includes(':') || !isIPv6(address)) return address;
  const [head = '', tail] = address.split('::', 2);
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array.from({ length: Math.max(8 - first.length - last.length, 0) }, () => '0');
  const groups = [...first, ...zeros, ...last].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${groups.join(':')}::/64`;
}
