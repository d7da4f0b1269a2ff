// Deadlines as AbortSignals.

import type { Clock } from '../std/clock.ts';

/** Aborts at the deadline or when the caller's signal aborts. Clear it when the work is done. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** True after the deadline; false if the caller aborted. */
  readonly hasPassed: boolean;
  /** Moves the deadline to `ms` from now. */
  reset(ms: number): void;
  clear(): void;
}

/** Starts a deadline `ms` from now. */
export function startDeadline(clock: Clock, ms: number, caller?: AbortSignal): Deadline {
  const controller = new AbortController();
  let hasPassed = false;
  let endsAt = clock.monotonic() + ms;
  let armedAt = endsAt;
  let cancel = clock.wakeAfter(ms, wake);
  if (caller?.aborted) abort();
  caller?.addEventListener('abort', abort, { once: true });

  function arm(): void {
    cancel();
    armedAt = endsAt;
    cancel = clock.wakeAfter(endsAt - clock.monotonic(), wake);
  }

  function wake(): void {
    if (clock.monotonic() < endsAt) {
      arm();
      return;
    }
    hasPassed = true;
    controller.abort();
  }

  function abort(): void {
    // An abandoned stream never clears its deadline.
    cancel();
    controller.abort(caller?.reason);
  }

  return {
    signal: controller.signal,
    get hasPassed() {
      return hasPassed;
    },
    reset(next) {
      if (controller.signal.aborted) return;
      endsAt = clock.monotonic() + next;
      // The current timer re-arms for a later deadline: a busy watch would otherwise replace the timer with every chunk.
      if (endsAt < armedAt) arm();
    },
    clear() {
      cancel();
      caller?.removeEventListener('abort', abort);
    },
  };
}

/** Rejects with the signal's reason on abort, even if the work behind `promise` ignores the signal. */
export function rejectOnAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
