// The minimum rate at which a client must read a long response. A slower client would occupy resources that other requests wait for.

import type { Clock } from '../../std/clock.ts';

export interface ReadRateOptions {
  readonly clock: Clock;
  /** Returns the number of bytes that have been sent so far. */
  readonly sentBytes: () => number;
  /** Called once, when the client reads too slowly. */
  readonly onTooSlow: () => void;
}

const MIN_BYTES_PER_SECOND = 64 * 1024;
/** Time before the first check, in milliseconds. Half of this time does not count as reading time. */
const GRACE_MS = 10_000;
const CHECK_MS = 2_000;

/** Checks the rate after ten seconds and then every two seconds, until the client reads too slowly or the returned function is called. */
export function enforceReadRate({ clock, sentBytes, onTooSlow }: ReadRateOptions): () => void {
  const startedAt = clock.monotonic();
  let cancel = () => {};
  const check = () => {
    const seconds = (clock.monotonic() - startedAt - GRACE_MS / 2) / 1_000;
    if (sentBytes() < seconds * MIN_BYTES_PER_SECOND) onTooSlow();
    else cancel = clock.wakeAfter(CHECK_MS, check);
  };
  cancel = clock.wakeAfter(GRACE_MS, check);
  return () => cancel();
}
