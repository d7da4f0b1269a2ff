// Waiting for what sockets do, without sleeping.

import type { FakeClock } from '../support/clock.ts';

const PATIENCE_MS = 5_000;

/** Resolves once `check` passes; lets I/O happen meanwhile, and moves `clock` a little each time if there is one. */
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

/** Lets everything that is ready happen. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
