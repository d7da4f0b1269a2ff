// Sanitizes strings from other programs for conditions, events and log lines: short, one line, no tokens.

import { redactTokens } from './sensitive.ts';

/** Returns one line of limited length without control characters. Redacts tokens, and long runs of characters that may be part of one. */
export function cleanMessage(text: string, maxLength = MAX_LENGTH): string {
  // Invisible characters are removed first, because they could split a token.
  const visible = text.slice(0, MAX_READ).replace(INVISIBLE, '');
  const line = redactTokens(visible)
    .replace(/\s+/g, ' ')
    .trim()
    .replace(LONG_RUN, (run) => (isRandom(run) ? '[redacted]' : run));
  return line.length <= maxLength ? line : `${line.slice(0, maxLength - 1).toWellFormed()}…`;
}

const MAX_READ = 4_096;
/** Default maximum length of the result, in characters. */
const MAX_LENGTH = 256;
/** Unicode category C and the line and paragraph separators. Tabs and line breaks are excluded, because they become spaces later. */
const INVISIBLE = /(?![\t\n\r])[\p{C}\u2028\u2029]/gu;
const LONG_RUN = /[\w-]{32,}/g;

/** Returns whether a run has mixed case, like base64 and unlike names and UIDs. */
function isRandom(run: string): boolean {
  return /[a-z]/.test(run) && /[A-Z]/.test(run);
}
