// Ever longer pauses between attempts that do not last. On the monotonic clock: setting the other one neither ends a pause
// nor makes it endless.

import { doubledMs } from '../std/backoff.ts';

export interface PauseOptions {
  readonly initialMs: number;
  readonly maxMs: number;
  /** How many attempts are followed by no pause. */
  readonly free: number;
  /** So long after the last pause has ended, everything before is forgotten. */
  readonly calmMs: number;
}

/** Counts attempts, and tells how long the next one has to wait. */
export class Pauses {
  readonly #options: PauseOptions;
  #attempts = 0;
  #endsAt = -Infinity;

  constructor(options: PauseOptions) {
    this.#options = options;
  }

  /** An attempt was made. */
  tried(monotonic: number): void {
    const { free, calmMs } = this.#options;
    if (monotonic - this.#endsAt > calmMs) this.#attempts = 0;
    const paidFor = this.#attempts++ - free;
    this.#endsAt = monotonic + (paidFor < 0 ? 0 : doubledMs(paidFor, this.#options));
  }

  /** How long the next attempt has to wait. */
  leftMs(monotonic: number): number {
    return Math.max(0, this.#endsAt - monotonic);
  }

  /** The last attempt was worth it. */
  reset(): void {
    this.#attempts = 0;
    this.#endsAt = -Infinity;
  }
}
