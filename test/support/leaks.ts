// Detection of tokens in test output, which must never contain one.
//
// Every token that test servers issue is a JWT: three long runs of base64url, the first of which starts with `eyJ`. The search therefore
// recognizes tokens, and parts of tokens, by their form. Static tokens have no such form; `addStaticTokens` adds them. The search covers:
//   - every line of every logger in a test process, before the logger's own redaction (leak-watch.ts);
//   - the output of processes of Purser and of API servers (e2e/local-run.ts, processes.ts).
// Leaks are recorded in a folder, and fail the test run (leak-reporter.ts).

import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { TEST_USERS } from './users.ts';

/** Environment variable with the path of the folder for leaks. */
export const LEAKS_VARIABLE = 'TEST_LEAKS';

/** Returns parts of a string that look like a token or a part of one, and known static tokens. */
export function leaksIn(text: string): readonly string[] {
  const runs = (text.match(LONG_RUN) ?? []).filter((run) => HEADER.test(run) || (run.length >= MIN_PART && isMixed(run)));
  return [...runs, ...[...known].filter((token) => text.includes(token))];
}

/** Adds static tokens to search for in this process. */
export function addStaticTokens(tokens: Iterable<string>): void {
  for (const token of tokens) known.add(token);
}

const known = new Set(TEST_USERS.keys());

/** Records the leaks in a string. */
export function scanForLeaks(text: string, where: string): void {
  const folder = process.env[LEAKS_VARIABLE];
  const leaks = leaksIn(text);
  if (folder === undefined || leaks.length === 0) return;
  const shown = leaks.map((leak) => `${leak.slice(0, SHOWN)}… (${leak.length} characters)`);
  appendFileSync(join(folder, String(process.pid)), `${where}: ${shown.join(', ')}\n`);
}

const LONG_RUN = /[\w-]{24,}/g;
const HEADER = /^eyJ[\w-]{21}/;
/** The shortest part of a token, an ECDSA signature, has 86 characters. */
const MIN_PART = 80;
const SHOWN = 24;

/** Returns true for mixed case with digits; long names have only one case. */
function isMixed(run: string): boolean {
  return /[a-z]/.test(run) && /[A-Z]/.test(run) && /\d/.test(run);
}
