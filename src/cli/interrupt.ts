// Handles signals and uncaught errors of all commands except `run` and `dev`, which program.ts handles.

import type { Clock } from '../std/clock.ts';
import { redactTokens } from '../std/sensitive.ts';
import type { Host } from './program.ts';
import { removeInvisible } from './visible-text.ts';

/** Handler of signals and uncaught errors, active until `release` is called. */
export interface InterruptHandler {
  /** Aborted by SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
  /** Stops the handling, for a program that handles signals and uncaught errors itself. */
  release(): void;
}

/** Exit code of an interrupted command. */
export const INTERRUPTED_EXIT_CODE = 130;

/**
 * Makes SIGINT and SIGTERM abort a command: the process exits with 130 within a second, or at once on a second signal. Exits with 141 if
 * the reader of the output has exited, and with 1 on any other uncaught error.
 */
export function handleInterrupts(host: Host, clock: Clock): InterruptHandler {
  const stopping = new AbortController();
  let isReleased = false;
  const onSignal = (): void => {
    if (isReleased) return;
    if (stopping.signal.aborted) return host.exit(INTERRUPTED_EXIT_CODE);
    clock.wakeAt(clock.now() + STOP_MS, () => host.exit(INTERRUPTED_EXIT_CODE));
    stopping.abort();
  };
  host.on('SIGINT', onSignal);
  host.on('SIGTERM', onSignal);
  host.on('uncaughtException', (error) => {
    if (isReleased) return;
    if (isBrokenPipe(error)) return host.exit(BROKEN_PIPE);
    host.stderr.write(`purser: ${removeInvisible(redactTokens(formatUncaught(error)))}\n`);
    host.exit(1);
  });
  return {
    signal: stopping.signal,
    release: () => {
      isReleased = true;
    },
  };
}

/** Returns the stack of an error, or only the message if a system call failed, such as a write to a full disk. */
function formatUncaught(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'syscall' in error ? error.message : (error.stack ?? error.message);
}

/** Exit code of a program that SIGPIPE terminates. Node.js ignores this signal and reports EPIPE. */
const BROKEN_PIPE = 141;

/** Returns whether the reader of the output, such as `head`, has exited. */
function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}

/** Maximum time between a signal and the exit, in milliseconds. */
const STOP_MS = 1_000;
