// Commands that send requests with the kubeconfig of the user: the process that runs them, and their failures.

import type { Env } from '../config/arguments.ts';
import type { Clock } from '../std/clock.ts';

/** The process that runs a command. */
export interface CommandHost {
  readonly clock: Clock;
  readonly env: Env;
  /** Prints to standard output. */
  print(text: string): void;
  /** Prints to standard error. */
  warn(text: string): void;
  readonly signal: AbortSignal;
}

/** Exit codes of all commands. */
export const ExitCode = { done: 0, failed: 1, wrongUse: 2, notReady: 3 } as const;

/** A failed command, with its exit code. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly code: number;

  constructor(message: string, code = 1) {
    super(message);
    this.code = code;
  }
}
