// Searches every line of every logger for tokens, from before the first test of a file; see leaks.ts.

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, expect } from '@jest/globals';
import { scanForLeaks } from './leaks.ts';

/** Diagnostics channel on which pino publishes each line. */
const LINES = 'tracing:pino_asJson:end';

let lines = 0;

function scanLine(message: unknown): void {
  const { result } = message as { readonly result?: unknown };
  if (typeof result !== 'string') return;
  lines += 1;
  scanForLeaks(result, `a log line in ${expect.getState().testPath}, ${expect.getState().currentTestName}`);
}

subscribe(LINES, scanLine);
Object.assign(globalThis, { loggedLines: () => lines });

afterAll(() => {
  unsubscribe(LINES, scanLine);
});
