// Time as a dependency: everything that waits asks a Clock, and tests bring their own.

/** The time, and a way to wait for it. */
export interface Clock {
  /** The present instant, in milliseconds since the epoch. */
  now(): number;
  /** Calls `wake` once, when `at` has come and never during this call. Returns how to call it off. */
  wakeAt(at: number, wake: () => void): () => void;
}

/** Timers overflow after 25 days and do not see the wall clock being set, so none is armed for longer. */
const MAX_TIMER_MS = 3_600_000;

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),

  wakeAt(at, wake) {
    let timer: NodeJS.Timeout;
    const arm = (): void => {
      timer = setTimeout(fire, Math.min(Math.max(at - Date.now(), 0), MAX_TIMER_MS));
    };
    const fire = (): void => {
      if (Date.now() < at) arm();
      else wake();
    };
    arm();
    return () => clearTimeout(timer);
  },
};

/** Resolves when `at` has come. Rejects with the signal's reason when it is aborted before. */
export function sleepUntil(clock: Clock, at: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.wakeAt(at, () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}
