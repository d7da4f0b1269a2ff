// Work that is tried until it succeeds, with ever longer pauses.

import { Backoff } from './backoff.ts';
import { type Clock, sleep } from './clock.ts';

export interface RetryOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** The first pause, and the longest. */
  readonly pauses?: { readonly initialMs: number; readonly maxMs: number };
  /** Told of every attempt that failed. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
}

/** What `attempt` gives, once it neither fails nor gives undefined, however long that takes. Rejects only when it is aborted. */
export async function retried<T>(
  attempt: () => Promise<T | undefined>,
  { clock, random, signal, pauses = PAUSES, onFailure }: RetryOptions,
): Promise<T> {
  const backoff = new Backoff({ ...pauses, calmMs: CALM_MS, random });
  for (;;) {
    try {
      const result = await attempt();
      if (result !== undefined) return result;
    } catch (error) {
      signal.throwIfAborted();
      onFailure?.(error);
    }
    await sleep(clock, backoff.nextMs(clock.monotonic()), signal);
  }
}

const PAUSES = { initialMs: 50, maxMs: 5_000 };
const CALM_MS = 60_000;
