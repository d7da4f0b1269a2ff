// The streams that are open to one server. One that was cut off without an end looks just like one on which nothing happens.

import type { Deadline } from './deadline.ts';

/** A stream, and when something was last heard on it. */
export interface OpenStream {
  readonly deadline: Deadline;
  heardAt: number;
}

/** With a shorter silence of the server streams go on as before: one failure among many successes says nothing of them. */
const LEAST_SILENCE_MS = 5_000;

/** Finds the streams that are likely to be dead long before their own silence tells. Instants are on the monotonic clock. */
export class OpenStreams {
  readonly #open = new Set<OpenStream>();
  #answeredAt = -Infinity;
  /** Since when no request got an answer, if one failed. */
  #silentSince: number | undefined;

  add(stream: OpenStream): void {
    this.#open.add(stream);
  }

  delete(stream: OpenStream): void {
    this.#open.delete(stream);
  }

  /** A request got no answer. */
  unanswered(sentAt: number): void {
    this.#silentSince ??= Math.max(sentAt, this.#answeredAt);
  }

  /** A request got an answer. What kept others from one for long may have cut streams off, too: those that were as silent are ended. */
  answered(now: number): void {
    const since = this.#silentSince ?? now;
    this.#silentSince = undefined;
    this.#answeredAt = now;
    if (now - since < LEAST_SILENCE_MS) return;
    for (const { deadline, heardAt } of this.#open) if (heardAt < since) deadline.reset(0);
  }
}
