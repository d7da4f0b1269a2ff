// Texts of others, made fit for conditions, events and log lines.

/** One line, not too long, and without anything that looks like a JSON Web Token. */
export function cleanedMessage(text: string): string {
  const line = text
    .slice(0, 4 * MAX_LENGTH)
    .replace(/eyJ[\w-]+(?:\.[\w-]*)*/g, '[redacted]')
    .replace(/[\s\p{C}]+/gu, ' ')
    .trim();
  return line.length <= MAX_LENGTH ? line : `${line.slice(0, MAX_LENGTH - 1).toWellFormed()}…`;
}

const MAX_LENGTH = 256;
