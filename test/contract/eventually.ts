// Waiting for what a server does a little later.

import { setTimeout as delay } from 'node:timers/promises';

const PATIENCE_MS = 60_000;

/** Resolves once `check` does without throwing; throws its last error if that takes too long. */
export async function eventually(check: () => Promise<void>, stopMs = PATIENCE_MS): Promise<void> {
  const end = performance.now() + stopMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > end) throw error;
      await delay(20);
    }
  }
}
