// Types that all commands share: the process that runs a command, exit codes, and failures.

import type { Env } from '../config/variables.ts';
import type { Clock } from '../std/clock.ts';

/** The process that runs a command. */
export interface CommandHost {
  readonly clock: Clock;
  readonly env: Env;
  /** Width of the terminal that standard output is connected to, in characters; undefined for a file or a pipe. */
  readonly columns?: number | undefined;
  /** Prints to standard output. */
  print(text: string): void;
  /** Prints to standard error. */
  warn(text: string): void;
  /** Asks the user a question and returns the line that the user enters. Without a terminal, this property is undefined. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** Aborted by SIGINT and SIGTERM; the process exits with 130 shortly after. */
  readonly signal: AbortSignal;
}

/** Exit codes of all commands. */
export const ExitCode = { done: 0, failed: 1, wrongUse: 2, notReady: 3 } as const;

/** Remedy for messages about an object that Purser has not changed in time: a sentence without a full stop. */
export const CHECK_PURSER = 'Check that the pods of Purser on the hub are running';

/** A failed command, with its exit code. The message is one line: cause, then remedy. An empty message prints nothing. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly code: number;

  constructor(message: string, code: number = ExitCode.failed) {
    super(message);
    this.code = code;
  }
}
