// An AbortSignal with a deadline that can move.

import type { Clock } from '../std/clock.ts';

/** Aborts when its time is up or the caller's signal aborts, whichever is first. Must be cleared when the work is done. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** True once the time is up (and not when the caller aborted). */
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
    // Whoever abandons a stream may never come to clear it.
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
      // A later end is armed when the present timer fires: a busy watch would otherwise replace it with every chunk.
      if (endsAt < armedAt) arm();
    },
    clear() {
      cancel();
      caller?.removeEventListener('abort', abort);
    },
  };
}

/** Rejects with the signal's reason as soon as that aborts, whether the work behind `promise` hears of it or not. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
