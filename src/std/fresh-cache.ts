// A cache of results with an expiry. The oldest entries are evicted first; failures are never cached.

import type { Clock } from './clock.ts';
import { SingleFlight } from './single-flight.ts';

export interface FreshCacheOptions {
  readonly clock: Clock;
  /** Lifetime of an entry from the start of its request, in milliseconds. */
  readonly ttlMs: number;
  readonly maxEntries: number;
}

/** Caches results by key. Concurrent callers with the same key share one request. */
export class FreshCache<V> {
  readonly #options: FreshCacheOptions;
  /** Entries in the order in which they were set, which is about the order of their expiry. */
  readonly #entries = new Map<string, { readonly value: V; readonly askedAt: number }>();
  readonly #asked = new SingleFlight<V>();

  constructor(options: FreshCacheOptions) {
    this.#options = options;
  }

  /** Number of entries. */
  get size(): number {
    return this.#entries.size;
  }

  /** Returns an entry that is younger than `ttlMs`. */
  get(key: string, ttlMs = this.#options.ttlMs): V | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && this.#ageMs(entry) < ttlMs ? entry.value : undefined;
  }

  /** Stores the result of a request that started at `askedAt` on the monotonic clock. Evicts expired entries. */
  set(key: string, value: V, askedAt: number): void {
    const { ttlMs, maxEntries } = this.#options;
    this.#entries.delete(key);
    this.#entries.set(key, { value, askedAt });
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= maxEntries && this.#ageMs(entry) < ttlMs) return;
      this.#entries.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** Returns a fresh entry, the result of a request in progress, or else the result of `ask`. */
  async find(key: string, ask: () => Promise<V>): Promise<V> {
    return this.get(key) ?? (await this.#asked.do(key, () => this.#ask(key, ask)));
  }

  async #ask(key: string, ask: () => Promise<V>): Promise<V> {
    const askedAt = this.#options.clock.monotonic();
    const value = await ask();
    this.set(key, value, askedAt);
    return value;
  }

  #ageMs({ askedAt }: { readonly askedAt: number }): number {
    return this.#options.clock.monotonic() - askedAt;
  }
}
