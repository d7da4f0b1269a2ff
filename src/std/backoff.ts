// Exponential backoff between attempts, on a clock that is never set.

export interface BackoffOptions {
  readonly initialMs: number;
  readonly maxMs: number;
  /** Time after the end of a pause after which earlier failures no longer apply, in milliseconds. */
  readonly calmMs: number;
  /** Number of attempts without a pause; 0 by default. */
  readonly free?: number;
  /** Returns a number in [0, 1): each pause is longer by up to itself times this. Without jitter by default. */
  readonly random?: () => number;
}

/**
 * The first pauses are those of client-go's reflectors. The longest are shorter: a reflector that waits for a minute after an outage
 * delays everything that was changed or withdrawn meanwhile.
 */
export const REFLECTOR_BACKOFF = { initialMs: 800, maxMs: 10_000, calmMs: 15_000 };

/** Counts attempts that failed. A success in between resets nothing unless it lasts for `calmMs`, or the caller calls `reset`. */
export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;
  /** End of the last pause. */
  #endsAt = -Infinity;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** Records an attempt at `now`, and returns the pause that follows, in milliseconds. */
  nextMs(now: number): number {
    const { calmMs, free = 0, random = () => 0 } = this.#options;
    if (now - this.#endsAt > calmMs) this.#failures = 0;
    const failures = this.#failures++ - free;
    const pauseMs = failures < 0 ? 0 : doubledMs(failures, this.#options) * (1 + random());
    this.#endsAt = now + pauseMs;
    return pauseMs;
  }

  /** Returns the rest of the pause at `now`, in milliseconds. */
  leftMs(now: number): number {
    return Math.max(0, this.#endsAt - now);
  }

  /** Forgets all attempts, after one that succeeded. */
  reset(): void {
    this.#failures = 0;
    this.#endsAt = -Infinity;
  }
}

/** Returns the pause after a number of failures in a row, without jitter, in milliseconds. */
export function doubledMs(failures: number, { initialMs, maxMs }: Pick<BackoffOptions, 'initialMs' | 'maxMs'>): number {
  return Math.min(initialMs * 2 ** failures, maxMs);
}
