// No output of the whole test run may hold a token, whoever issued it.
//
// Every token that the servers of these tests issue is a JWT: three long runs of base64url, the first of which begins with
// `eyJ`. So tokens need not be known to be found, nor whole: any of the three gives them away. Static tokens have no such form:
// those of the users of tests are known, others are made known. What is looked at:
//   - every line of every logger in a test process, before the logger's own last redaction (leak-watch.ts);
//   - what processes of Purser and of API servers print (e2e/local-run.ts, processes.ts).
// What is found is noted in a folder, and ends the run with a failure (leak-reporter.ts).

import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { TEST_USERS } from './users.ts';

/** Names the folder to those who find something. */
export const LEAKS_VARIABLE = 'TEST_LEAKS';

/** What looks like a token or like a part of one, and static tokens that are known. */
export function leaksIn(text: string): readonly string[] {
  const runs = (text.match(LONG_RUN) ?? []).filter((run) => HEADER.test(run) || (run.length >= MIN_PART && isMixed(run)));
  return [...runs, ...[...known].filter((token) => text.includes(token))];
}

/** From now on this process finds these static tokens, too. */
export function lookFor(tokens: Iterable<string>): void {
  for (const token of tokens) known.add(token);
}

const known = new Set(TEST_USERS.keys());

/** Notes what a text should not hold. */
export function scanForLeaks(text: string, where: string): void {
  const folder = process.env[LEAKS_VARIABLE];
  const leaks = leaksIn(text);
  if (folder === undefined || leaks.length === 0) return;
  const shown = leaks.map((leak) => `${leak.slice(0, SHOWN)}… (${leak.length} characters)`);
  appendFileSync(join(folder, String(process.pid)), `${where}: ${shown.join(', ')}\n`);
}

const LONG_RUN = /[\w-]{24,}/g;
const HEADER = /^eyJ[\w-]{21}/;
/** Signatures by elliptic curves are the shortest parts; they have 86 characters. */
const MIN_PART = 80;
const SHOWN = 24;

/** Names may be long, too, but those are of one case. */
function isMixed(run: string): boolean {
  return /[a-z]/.test(run) && /[A-Z]/.test(run) && /\d/.test(run);
}
