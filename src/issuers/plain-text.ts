// Texts that a target wrote, made fit for conditions, events and logs: short, on one line, and without anything like a token.

/** One line of at most 256 characters. Control characters, long runs that could be part of a token, and `secret` are gone. */
export function plainText(text: string, secret?: string): string {
  const visible = withoutSecret(text.slice(0, MAX_READ).replace(INVISIBLE, ''), secret);
  const line = visible
    .replace(/\s+/g, ' ')
    .trim()
    .replace(LONG_RUN, (run) => (isRandom(run) ? REDACTED : run));
  return line.length <= MAX_LENGTH ? line : `${line.slice(0, MAX_LENGTH - 1)}…`.toWellFormed();
}

/** The text with a secret blanked out wherever it stands. */
export function withoutSecret(text: string, secret: string | undefined): string {
  return secret === undefined || secret === '' ? text : text.replaceAll(secret, REDACTED);
}

const REDACTED = '[redacted]';
const MAX_READ = 4_096;
const MAX_LENGTH = 256;
/** Controls, formats that change the direction of text, unassigned and half characters; line breaks stay for now. */
const INVISIBLE = /(?![\t\n\r])[\p{C}\u2028\u2029]/gu;
const LONG_RUN = /[\w-]{32,}/g;

/** Names and UIDs are in one case; what is encoded in base64 is not. */
function isRandom(run: string): boolean {
  return /[a-z]/.test(run) && /[A-Z]/.test(run);
}
