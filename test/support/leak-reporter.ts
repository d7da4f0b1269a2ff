// Fails the test run if a token was found in any output; see leaks.ts.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LEAKS_VARIABLE } from './leaks.ts';

/** Jest reporter; Jest creates it before the workers, which inherit its environment variable. */
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
    process.stderr.write(`\nTokens found in the output of tests:\n${notes.join('')}`);
    this.#error = new Error('tokens found in the output of tests');
  }

  getLastError(): Error | undefined {
    return this.#error;
  }
}
