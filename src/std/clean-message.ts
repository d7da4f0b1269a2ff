// Texts of others, made fit for conditions, events and log lines: short, on one line, and without anything like a token.

import { withoutTokens } from './sensitive.ts';

/** One line of at most 256 characters. Control characters, and long runs that could be part of a token, are gone. */
export function cleanedMessage(text: string): string {
  // What cannot be seen goes first: a token that is cut by it is still one.
  const visible = text.slice(0, MAX_READ).replace(INVISIBLE, '');
  const line = withoutTokens(visible)
    .replace(/\s+/g, ' ')
    .trim()
    .replace(LONG_RUN, (run) => (isRandom(run) ? '[redacted]' : run));
  return line.length <= MAX_LENGTH ? line : `${line.slice(0, MAX_LENGTH - 1).toWellFormed()}…`;
}

const MAX_READ = 4_096;
const MAX_LENGTH = 256;
/** Controls, formats that change the direction of text, unassigned and half characters; line breaks stay for now. */
const INVISIBLE = /(?![\t\n\r])[\p{C}\u2028\u2029]/gu;
const LONG_RUN = /[\w-]{32,}/g;

/** Names and UIDs are in one case; what is encoded in base64 is not. */
function isRandom(run: string): boolean {
  return /[a-z]/.test(run) && /[A-Z]/.test(run);
}
