// Exponential backoff.

import { type Clock, sleep } from './clock.ts';

/** Limits of a delay that doubles with every failure. */
export interface DelayLimits {
  readonly initialMs: number;
  readonly maxMs: number;
}

export interface BackoffOptions extends DelayLimits {
  /** Time without failures after a delay, in milliseconds, that resets the number of failures to 0. */
  readonly calmMs: number;
  /** Number of initial failures that cause no delay; 0 by default. */
  readonly free?: number;
  /** Returns the jitter as a fraction of the delay, a random number in [0, 1); no jitter by default. */
  readonly random?: () => number;
}

/**
 * Backoff of list-watches. The initial delay is that of client-go's reflectors. The maximum is lower, so that list-watches resume soon
 * after the hub recovers: within ten seconds, or twenty with jitter.
 */
export const REFLECTOR_BACKOFF = { initialMs: 800, maxMs: 10_000, calmMs: 15_000 };

/**
 * Computes delays from the number of consecutive failures. A period of `calmMs` without a failure resets this number. `now` is monotonic.
 */
export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;
  #endsAt = -Infinity;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** Records a failure at `now` and returns the delay before the next attempt. */
  nextMs(now: number): number {
    const { calmMs, free = 0, random = () => 0 } = this.#options;
    if (now - this.#endsAt > calmMs) this.#failures = 0;
    const delayed = this.#failures++ - free;
    const delayMs = delayed < 0 ? 0 : computeExponentialMs(delayed, this.#options) * (1 + random());
    this.#endsAt = now + delayMs;
    return delayMs;
  }

  /** Returns the rest of the current delay; 0 if there is none. */
  remainingMs(now: number): number {
    return Math.max(0, this.#endsAt - now);
  }

  /** Forgets all failures. */
  reset(): void {
    this.#failures = 0;
    this.#endsAt = -Infinity;
  }
}

/** Returns `initialMs`, doubled `failures` times, but at most `maxMs`. */
export function computeExponentialMs(failures: number, { initialMs, maxMs }: DelayLimits): number {
  return Math.min(initialMs * 2 ** failures, maxMs);
}

export interface RetryOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
  readonly delays?: DelayLimits;
  /** Called with the error of each attempt that rejects before `signal` aborts. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
}

/** Repeats `attempt`, with backoff, until it resolves to a value other than undefined. Rejects only if `signal` aborts. */
export async function retryUntilDone<T>(
  attempt: () => Promise<T | undefined>,
  { clock, random, signal, delays = RETRY_DELAYS, onFailure }: RetryOptions,
): Promise<T> {
  const backoff = new Backoff({ ...delays, calmMs: CALM_MS, random });
  for (;;) {
    try {
      const result = await attempt();
      if (result !== undefined) return result;
    } catch (error) {
      signal.throwIfAborted();
      onFailure?.(error);
    }
    await sleep(clock, backoff.nextMs(clock.monotonic()), signal);
  }
}

const RETRY_DELAYS = { initialMs: 50, maxMs: 5_000 };
const CALM_MS = 60_000;
