// Open streams to one server. A stream that was cut silently looks like a stream without events.

import type { Deadline } from './deadline.ts';

/** A stream; `heardAt` is the time of its last byte. */
export interface OpenStream {
  readonly deadline: Deadline;
  heardAt: number;
}

/** Minimum outage after which silent streams are ended; a single failure among successes does not end them. */
const MIN_OUTAGE_MS = 5_000;

/** Ends streams that an outage probably cut, long before their idle timeout. Times are monotonic. */
export class OpenStreams {
  readonly #open = new Set<OpenStream>();
  #respondedAt = -Infinity;
  /** Start of the period without responses; undefined after a response. */
  #silentSince: number | undefined;

  add(stream: OpenStream): void {
    this.#open.add(stream);
  }

  delete(stream: OpenStream): void {
    this.#open.delete(stream);
  }

  /** Records a request without a response. */
  recordFailure(sentAt: number): void {
    this.#silentSince ??= Math.max(sentAt, this.#respondedAt);
  }

  /** Records a response. After an outage it ends the streams that were silent since the outage began. */
  recordResponse(now: number): void {
    const since = this.#silentSince ?? now;
    this.#silentSince = undefined;
    this.#respondedAt = now;
    if (now - since < MIN_OUTAGE_MS) return;
    for (const { deadline, heardAt } of this.#open) if (heardAt < since) deadline.reset(0);
  }
}
