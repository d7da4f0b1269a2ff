// Open streams to one server. A stream whose connection was lost looks like a stream without events.

import type { Deadline } from './deadline.ts';

/** An open stream; `receivedAt` is the time at which the last bytes arrived, or at which the stream was opened. */
export interface OpenStream {
  readonly deadline: Deadline;
  receivedAt: number;
}

/** Minimum outage after which streams are ended, in milliseconds; a single failure among successes does not end them. */
const MIN_OUTAGE_MS = 5_000;

/** Ends streams that an outage probably interrupted, long before their idle timeout. Times are monotonic. */
export class OpenStreams {
  readonly #open = new Set<OpenStream>();
  #respondedAt = -Infinity;
  /** Start of the period without responses; undefined after a response. */
  #outageSince: number | undefined;
  #failedAt = -Infinity;

  /**
   * Time at which the latest request without a response was sent; -Infinity if there is none. The network may have dropped all older
   * connections.
   */
  get failedAt(): number {
    return this.#failedAt;
  }

  add(stream: OpenStream): void {
    this.#open.add(stream);
  }

  delete(stream: OpenStream): void {
    this.#open.delete(stream);
  }

  /** Records a request without a response. */
  recordFailure(sentAt: number): void {
    this.#outageSince ??= Math.max(sentAt, this.#respondedAt);
    this.#failedAt = Math.max(sentAt, this.#failedAt);
  }

  /** Records a response. After an outage of at least MIN_OUTAGE_MS, ends the streams that have received nothing since the outage began. */
  recordResponse(now: number): void {
    const since = this.#outageSince ?? now;
    this.#outageSince = undefined;
    this.#respondedAt = now;
    if (now - since < MIN_OUTAGE_MS) return;
    for (const { deadline, receivedAt } of this.#open) if (receivedAt < since) deadline.reset(0);
  }
}
