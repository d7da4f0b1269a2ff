// Waits for socket events without sleeping.

import type { FakeClock } from '../support/clock.ts';

const PATIENCE_MS = 5_000;

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

/** Lets all pending I/O complete. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
