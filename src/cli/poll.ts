// Waits for Purser: a command reads an object repeatedly until Purser has changed it.

import { sleep } from '../std/clock.ts';
import type { CommandHost } from './command.ts';

/** Interval between two reads, in milliseconds. */
const INTERVAL_MS = 250;

/** Returns the first result of `read` that is not undefined; undefined if there is none within the timeout. Calls `read` at least once. */
export async function poll<T>(
  timeoutMs: number,
  { clock, signal }: CommandHost,
  read: () => Promise<T | undefined>,
): Promise<T | undefined> {
  for (const end = clock.monotonic() + timeoutMs; ; await sleep(clock, INTERVAL_MS, signal)) {
    const result = await read();
    if (result !== undefined || clock.monotonic() >= end) return result;
  }
}
