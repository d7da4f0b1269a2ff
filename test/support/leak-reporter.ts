// Ends the run of all tests with a failure when a token was found in any output. See leaks.ts.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LEAKS_VARIABLE } from './leaks.ts';

/** A reporter of Jest. It is made before the workers are, which inherit its variable. */
export default class LeakReporter {
  readonly #folder = mkdtempSync(join(tmpdir(), 'purser-leaks-'));
  #error: Error | undefined;

  constructor() {
    process.env[LEAKS_VARIABLE] = this.#folder;
  }

  onRunComplete(): void {
    const notes = readdirSync(this.#folder).map((name) => readFileSync(join(this.#folder, name), 'utf8'));
    rmSync(this.#folder, { recursive: true });
    if (notes.length === 0) return;
    process.stderr.write(`\nTokens were found in the output of tests:\n${notes.join('')}`);
    this.#error = new Error('tokens were found in the output of tests');
  }

  getLastError(): Error | undefined {
    return this.#error;
  }
}
