// A cache of results with a time to live. When the cache is full, it evicts the oldest entries. Errors are not cached.

import type { Clock } from './clock.ts';
import { SingleFlight } from './single-flight.ts';

export interface ExpiringCacheOptions {
  readonly clock: Clock;
  /** Time for which a result is valid after its request was sent, in milliseconds. */
  readonly ttlMs: number;
  readonly maxEntries: number;
}

/** Caches results by key for a limited time. Concurrent lookups of a missing key share one request. */
export class ExpiringCache<V> {
  readonly #options: ExpiringCacheOptions;
  /** Entries in the order of `set`, which is approximately the order of expiry. */
  readonly #entries = new Map<string, { readonly value: V; readonly requestedAt: number }>();
  readonly #pending = new SingleFlight<V>();

  constructor(options: ExpiringCacheOptions) {
    this.#options = options;
  }

  /** Number of entries. */
  get size(): number {
    return this.#entries.size;
  }

  /** Returns the cached result if it is younger than `ttlMs`; otherwise undefined. */
  get(key: string, ttlMs = this.#options.ttlMs): V | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && this.#ageMs(entry) < ttlMs ? entry.value : undefined;
  }

  /** Stores the result of a request that was sent at `requestedAt` (monotonic). Evicts the oldest entries if expired or above the limit. */
  set(key: string, value: V, requestedAt: number): void {
    const { ttlMs, maxEntries } = this.#options;
    this.#entries.delete(key);
    this.#entries.set(key, { value, requestedAt });
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= maxEntries && this.#ageMs(entry) < ttlMs) return;
      this.#entries.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** Returns the cached result or the result of a request in progress. Without either, calls `request` and caches its result. */
  async find(key: string, request: () => Promise<V>): Promise<V> {
    return this.get(key) ?? (await this.#pending.do(key, () => this.#request(key, request)));
  }

  async #request(key: string, request: () => Promise<V>): Promise<V> {
    const requestedAt = this.#options.clock.monotonic();
    const value = await request();
    this.set(key, value, requestedAt);
    return value;
  }

  #ageMs({ requestedAt }: { readonly requestedAt: number }): number {
    return this.#options.clock.monotonic() - requestedAt;
  }
}
