// Quotes words of commands that users copy into a shell.

/** Quotes a word for a POSIX shell; returns a word without special characters unchanged. */
export function quoteShell(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** zsh expands a leading `=`. */
const PLAIN = /^[\w%+,./:@-][\w%+,./:=@-]*$/;
