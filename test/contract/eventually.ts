// Waits for effects of a request that follow the response.

import { setTimeout as delay } from 'node:timers/promises';

const TIMEOUT_MS = 60_000;

/** Calls `check` until it resolves; throws its last error after `timeoutMs`. */
export async function eventually(check: () => Promise<void>, timeoutMs = TIMEOUT_MS): Promise<void> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > end) throw error;
      await delay(20);
    }
  }
}
