// Answers that are good for a while. The oldest go first when there are too many; failures are never kept.

import type { Clock } from '../std/clock.ts';

export interface FreshCacheOptions {
  readonly clock: Clock;
  /** How long an answer counts from the moment that its question was asked. */
  readonly ttlMs: number;
  readonly maxEntries: number;
}

/** Keeps answers by key, and lets all who ask the same at the same time wait for one answer. */
export class FreshCache<V> {
  readonly #options: FreshCacheOptions;
  readonly #entries = new Map<string, { readonly value: V; readonly askedAt: number }>();
  readonly #asked = new Map<string, Promise<V>>();

  constructor(options: FreshCacheOptions) {
    this.#options = options;
  }

  /** The answer, if it is fresh, or younger than is asked for. */
  get(key: string, ttlMs = this.#options.ttlMs): V | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && this.#options.clock.monotonic() - entry.askedAt < ttlMs ? entry.value : undefined;
  }

  /** The last answer, however old. */
  last(key: string): V | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Keeps an answer to a question that was asked at `askedAt`, by the monotonic clock. */
  set(key: string, value: V, askedAt: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, askedAt });
    if (this.#entries.size <= this.#options.maxEntries) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** The answer: a fresh one, or the one to a question that is under way, or else what `ask` finds. */
  find(key: string, ask: () => Promise<V>): Promise<V> {
    const fresh = this.get(key);
    if (fresh !== undefined) return Promise.resolve(fresh);
    const underWay = this.#asked.get(key) ?? this.#ask(key, ask);
    this.#asked.set(key, underWay);
    return underWay;
  }

  async #ask(key: string, ask: () => Promise<V>): Promise<V> {
    const askedAt = this.#options.clock.monotonic();
    try {
      const value = await ask();
      this.set(key, value, askedAt);
      return value;
    } finally {
      this.#asked.delete(key);
    }
  }
}
