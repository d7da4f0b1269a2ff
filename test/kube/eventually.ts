// Waits for socket events without sleeping.

import type { FakeClock } from '../support/clock.ts';

/** Maximum wait, in milliseconds. Long, because a machine may be busy; only a failing test waits that long. */
const PATIENCE_MS = 60_000;

/** Resolves once `check` passes; lets I/O happen in between, and advances `clock` by a small step each time if one is given. */
export async function eventually(check: () => void, clock?: FakeClock, stepMs = 20): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      check();
      return;
    } catch (error) {
      if (performance.now() > end) throw error;
    }
    await turn();
    clock?.advance(stepMs);
  }
}

/** Waits for one turn of the event loop, in which Node handles the I/O that is ready. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Number of turns of the event loop that a request within one process takes, including its TLS handshake. */
const TURNS_OF_A_REQUEST = 10;

/** Lets requests within this process complete. Takes turns of the event loop instead of time, so that a busy machine does not matter. */
export async function turns(): Promise<void> {
  for (let count = 0; count < TURNS_OF_A_REQUEST; count++) await turn();
}
