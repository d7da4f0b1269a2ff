// Runs before each test file: looks at every line that a logger makes. See leaks.ts.

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, expect } from '@jest/globals';
import { scanForLeaks } from './leaks.ts';

/** How pino tells of each line that it has made. */
const LINES = 'tracing:pino_asJson:end';

let lines = 0;

function look(message: unknown): void {
  const { result } = message as { readonly result?: unknown };
  if (typeof result !== 'string') return;
  lines += 1;
  scanForLeaks(result, `a log line in ${expect.getState().testPath}, ${expect.getState().currentTestName}`);
}

subscribe(LINES, look);
Object.assign(globalThis, { loggedLines: () => lines });

afterAll(() => {
  unsubscribe(LINES, look);
});
