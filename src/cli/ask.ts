// Prompts for a user at a terminal.

import { createInterface } from 'node:readline/promises';

/** Streams of a terminal. */
export interface Terminal {
  readonly stdin: NodeJS.ReadableStream;
  readonly stderr: NodeJS.WritableStream;
}

/**
 * Prints a question to stderr, and returns the line that the user enters, or an empty string if the input ends. Throws if the signal is
 * aborted.
 */
export async function askUser(question: string, { stdin, stderr }: Terminal, signal: AbortSignal): Promise<string> {
  // With `terminal: true`, readline would switch the terminal to raw mode, in which Ctrl-C sends no SIGINT.
  const lines = createInterface({ input: stdin, output: stderr, terminal: false });
  try {
    const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
    return await Promise.race([lines.question(question, { signal }), ended]);
  } finally {
    lines.close();
  }
}
