// Answers that are good for a while. The oldest go first when there are too many; failures are never kept.

import type { Clock } from './clock.ts';
import { SingleFlight } from './single-flight.ts';

export interface FreshCacheOptions {
  readonly clock: Clock;
  /** How long an answer counts from the moment that its question was asked. */
  readonly ttlMs: number;
  readonly maxEntries: number;
}

/** Keeps answers by key, and lets all who ask the same at the same time wait for one answer. */
export class FreshCache<V> {
  readonly #options: FreshCacheOptions;
  /** In the order in which they were set, which is about that in which they expire. */
  readonly #entries = new Map<string, { readonly value: V; readonly askedAt: number }>();
  readonly #asked = new SingleFlight<V>();

  constructor(options: FreshCacheOptions) {
    this.#options = options;
  }

  /** How many answers are kept. */
  get size(): number {
    return this.#entries.size;
  }

  /** The answer, if it is fresh, or younger than is asked for. */
  get(key: string, ttlMs = this.#options.ttlMs): V | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && this.#ageMs(entry) < ttlMs ? entry.value : undefined;
  }

  /** Keeps an answer to a question that was asked at `askedAt`, by the monotonic clock. Those that have expired go. */
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

  /** The answer: a fresh one, or the one to a question that is under way, or else what `ask` finds. */
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
