// The streams that are open to one server. One that was cut off without an end looks just like one on which nothing happens.

import type { Deadline } from './deadline.ts';

/** A stream, and when something was last heard on it; on the monotonic clock. */
export interface OpenStream {
  readonly deadline: Deadline;
  heardAt: number;
}

/** Finds the streams that are likely to be dead long before their silence tells. */
export class OpenStreams {
  readonly #open = new Set<OpenStream>();
  /** When the last request was sent that got no answer, until another one gets one. */
  #unansweredAt: number | undefined;

  add(stream: OpenStream): void {
    this.#open.add(stream);
  }

  delete(stream: OpenStream): void {
    this.#open.delete(stream);
  }

  /** A request got no answer. */
  unanswered(sentAt: number): void {
    this.#unansweredAt = sentAt;
  }

  /** A request got an answer. What kept others from one may have cut streams off, too: those that were not heard of since are ended. */
  answered(): void {
    const since = this.#unansweredAt;
    if (since === undefined) return;
    this.#unansweredAt = undefined;
    for (const { deadline, heardAt } of this.#open) if (heardAt < since) deadline.reset(0);
  }
}
