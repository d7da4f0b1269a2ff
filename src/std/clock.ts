// Time as a dependency: everything that waits asks a Clock, and tests bring their own.

/** The time, and a way to wait for it. */
export interface Clock {
  /** The present instant, in milliseconds since the epoch. It jumps when the machine's clock is set. */
  now(): number;
  /** Milliseconds since some moment. Never jumps, so durations are measured by it. */
  monotonic(): number;
  /** Calls `wake` once, when `at` has come and never during this call. Returns how to call it off. */
  wakeAt(at: number, wake: () => void): () => void;
  /** The same `ms` from now, however the machine's clock is set meanwhile. */
  wakeAfter(ms: number, wake: () => void): () => void;
}

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  wakeAt: (at, wake) => arm(() => at - Date.now(), wake),
  wakeAfter(ms, wake) {
    const at = performance.now() + ms;
    return arm(() => at - performance.now(), wake);
  },
};

/** Resolves `ms` from now. Rejects with the signal's reason when it is aborted before. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.wakeAfter(ms, () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** Timers overflow after 25 days and do not see the wall clock being set, so none is armed for longer. */
const MAX_TIMER_MS = 3_600_000;

function arm(leftMs: () => number, wake: () => void): () => void {
  let timer = setTimeout(fire, clamped(leftMs()));
  function fire(): void {
    const ms = leftMs();
    if (ms > 0) timer = setTimeout(fire, clamped(ms));
    else wake();
  }
  return () => clearTimeout(timer);
}

function clamped(ms: number): number {
  return Math.min(Math.max(ms, 0), MAX_TIMER_MS);
}
