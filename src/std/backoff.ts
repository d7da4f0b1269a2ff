// Ever longer pauses between failures, forgotten only when something has worked for a while.

import { type Clock, sleep } from './clock.ts';

/** How pauses grow, and when growth is forgotten. */
export interface BackoffOptions {
  readonly initialMs: number;
  readonly maxMs: number;
  /** What has lasted so long after a pause was no failure from the start: the next pause is the first again. */
  readonly calmMs: number;
  /** A number in [0, 1): each pause is longer by up to itself times this. */
  readonly random: () => number;
}

/**
 * The first pauses are those of client-go's reflectors. The longest are shorter: whoever waits for a minute after an outage
 * is late with everything that was changed or withdrawn meanwhile.
 */
export const REFLECTOR_BACKOFF = { initialMs: 800, maxMs: 10_000, calmMs: 15_000 };

/** Counts failures by the time at which they happen. Success in between does not reset it, unless it lasts. */
export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;
  /** When the last pause was over. */
  #goesOnAt = -Infinity;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** How long to wait after a failure that happens `now`, on a clock that is never set. */
  nextMs(now: number): number {
    const { calmMs, random } = this.#options;
    if (now - this.#goesOnAt > calmMs) this.#failures = 0;
    const pauseMs = doubledMs(this.#failures++, this.#options) * (1 + random());
    this.#goesOnAt = now + pauseMs;
    return pauseMs;
  }
}

/** The pause after a number of failures in a row, without jitter. */
export function doubledMs(failures: number, { initialMs, maxMs }: Pick<BackoffOptions, 'initialMs' | 'maxMs'>): number {
  return Math.min(initialMs * 2 ** failures, maxMs);
}

export interface RetryOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** The first pause, and the longest. */
  readonly pauses?: { readonly initialMs: number; readonly maxMs: number };
  /** Told of every attempt that failed. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
}

/** What `attempt` gives, once it neither fails nor gives undefined, however long that takes. Rejects only when it is aborted. */
export async function retried<T>(
  attempt: () => Promise<T | undefined>,
  { clock, random, signal, pauses = PAUSES, onFailure }: RetryOptions,
): Promise<T> {
  const backoff = new Backoff({ ...pauses, calmMs: CALM_MS, random });
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

const PAUSES = { initialMs: 50, maxMs: 5_000 };
const CALM_MS = 60_000;
