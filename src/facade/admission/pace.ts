// The lowest rate at which a reader must take a long response. A slower reader would hold a place that others wait for.

import type { Clock } from '../../std/clock.ts';

export interface PaceOptions {
  readonly clock: Clock;
  /** Returns the number of bytes that the reader has taken. */
  readonly sent: () => number;
  /** Called once, when the reader is too slow. */
  readonly onTooSlow: () => void;
}

const LOWEST_BYTES_PER_SECOND = 64 * 1024;
/** Time for the network to begin, in milliseconds. */
const GRACE_MS = 10_000;
const CHECK_MS = 2_000;

/** Starts to measure; returns the function that stops it. */
export function keepPace({ clock, sent, onTooSlow }: PaceOptions): () => void {
  const startedAt = clock.monotonic();
  let cancel = () => {};
  const check = () => {
    const seconds = (clock.monotonic() - startedAt - GRACE_MS / 2) / 1_000;
    if (sent() < seconds * LOWEST_BYTES_PER_SECOND) onTooSlow();
    else cancel = clock.wakeAfter(CHECK_MS, check);
  };
  cancel = clock.wakeAfter(GRACE_MS, check);
  return () => cancel();
}
