// Ever longer pauses between failures, forgotten only after a time without any.

/** How pauses grow, and when growth is forgotten. */
export interface BackoffOptions {
  readonly initialMs: number;
  readonly maxMs: number;
  /** So long after the last failure, the next one counts as the first. */
  readonly calmMs: number;
  /** A number in [0, 1): each pause is longer by up to itself times this. */
  readonly random: () => number;
}

/** The pauses of client-go's reflectors. */
export const REFLECTOR_BACKOFF = { initialMs: 800, maxMs: 30_000, calmMs: 120_000 };

/** Counts failures by the time at which they happen. Success in between does not reset it: only calm does. */
export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;
  #failedAt = -Infinity;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  /** How long to wait after a failure that happens `now`, on a clock that is never set. */
  nextMs(now: number): number {
    const { calmMs, random } = this.#options;
    if (now - this.#failedAt > calmMs) this.#failures = 0;
    this.#failedAt = now;
    return doubledMs(this.#failures++, this.#options) * (1 + random());
  }
}

/** The pause after a number of failures in a row, without jitter. */
export function doubledMs(failures: number, { initialMs, maxMs }: Pick<BackoffOptions, 'initialMs' | 'maxMs'>): number {
  return Math.min(initialMs * 2 ** failures, maxMs);
}
