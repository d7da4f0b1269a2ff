// Quotes words of commands that users copy into a shell.

/** Quotes a word for a POSIX shell; returns a word without special characters unchanged. */
export function quoteShell(word: string): string {
  return PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Matches a word without special characters. A leading `=` is special, because zsh expands it. */
const PLAIN_WORD = /^[\w%+,./:@-][\w%+,./:=@-]*$/;
