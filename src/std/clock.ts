// Time and timers as a dependency, which tests replace.

/** Current time and timers. */
export interface Clock {
  /** Returns the wall-clock time in milliseconds since the epoch; it jumps if the machine's clock is set. */
  now(): number;
  /** Returns the monotonic time in milliseconds, for durations. */
  monotonic(): number;
  /** Calls `wake` once when the wall clock reaches `at`, never synchronously. Returns a function that cancels the call. */
  wakeAt(at: number, wake: () => void): () => void;
  /** Calls `wake` once after `ms`, independent of the wall clock. Returns a function that cancels the call. */
  wakeAfter(ms: number, wake: () => void): () => void;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  wakeAt: (at, wake) => arm(() => at - Date.now(), wake),
  wakeAfter(ms, wake) {
    const at = performance.now() + ms;
    return arm(() => at - performance.now(), wake);
  },
};

/** Resolves after `ms`. Rejects with the signal's reason if the signal aborts first. */
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

/** Maximum length of one timer, in milliseconds: Node's timers overflow after 25 days and do not notice a change to the wall clock. */
const MAX_TIMER_MS = 3_600_000;

function arm(leftMs: () => number, wake: () => void): () => void {
  let timer = setTimeout(fire, clamp(leftMs()));
  function fire(): void {
    const ms = leftMs();
    if (ms > 0) timer = setTimeout(fire, clamp(ms));
    else wake();
  }
  return () => clearTimeout(timer);
}

function clamp(ms: number): number {
  return Math.min(Math.max(ms, 0), MAX_TIMER_MS);
}
