// Runs a program: start, signals, shutdown and exit code.

import { StartError } from '../config/start-error.ts';
import type { Clock } from '../std/clock.ts';
import { redactTokens } from '../std/sensitive.ts';
import { createLogger } from '../telemetry/logger.ts';
import { removeInvisible } from './visible-text.ts';

/** A started program. */
export interface RunningProgram {
  stop(): Promise<void>;
}

/** The part of `process` that `runProgram` uses. */
export interface Host {
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean };
  on(event: 'SIGINT' | 'SIGTERM' | 'uncaughtException', listener: (error: unknown) => void): unknown;
  exit(code: number): void;
}

export interface ProgramOptions {
  readonly host: Host;
  readonly clock: Clock;
  /** Maximum time between the first signal and the exit, in milliseconds. */
  readonly stopMs: number;
}

/**
 * Runs the program that `start` returns until SIGINT or SIGTERM, then stops the program and exits with 0, even if `stop` fails or takes too
 * long. The first signal also aborts the AbortSignal that `start` receives; a second signal exits immediately with 130. If `start` fails
 * before the first signal, prints the error, and exits with 2 for a StartError or with 1 for any other error. Returns without exiting if
 * `start` returns undefined.
 */
export async function runProgram(
  options: ProgramOptions,
  start: (stopped: AbortSignal) => Promise<RunningProgram | undefined>,
): Promise<void> {
  const { host } = options;
  const stopped = createStopSignal(options);
  host.on('uncaughtException', handleUncaught(host));
  try {
    const running = await start(stopped);
    if (running === undefined) return;
    if (!stopped.aborted) await new Promise((resolve) => stopped.addEventListener('abort', resolve));
    await running.stop();
    host.exit(0);
  } catch (error) {
    if (stopped.aborted) return host.exit(0);
    const text = error instanceof StartError ? error.message : ((error as Error).stack ?? String(error));
    host.stderr.write(`purser: ${removeInvisible(redactTokens(text))}\n`);
    host.exit(error instanceof StartError ? 2 : 1);
  }
}

/** Returns a handler that logs an uncaught exception or unhandled rejection and exits with 1. */
function handleUncaught(host: Host): (error: unknown) => void {
  const log = createLogger({ level: 'fatal', readable: host.stderr.isTTY === true, write: (line) => host.stderr.write(line) });
  return (error) => {
    log.fatal({ error }, 'uncaught error');
    host.exit(1);
  };
}

/** Interval within which two signals are treated as one, in milliseconds: npm also forwards a Ctrl-C that the terminal has already sent. */
const SAME_SIGNAL_MS = 300;
/** Exit code after a second signal, as for a process that SIGINT terminates. */
const KILLED_BY_SIGINT = 130;

function createStopSignal({ host, clock, stopMs }: ProgramOptions): AbortSignal {
  const stopping = new AbortController();
  let stoppedAt = 0;
  const onSignal = (): void => {
    if (stopping.signal.aborted) {
      if (clock.now() - stoppedAt > SAME_SIGNAL_MS) host.exit(KILLED_BY_SIGINT);
      return;
    }
    stoppedAt = clock.now();
    // Exits with 0 even if the shutdown takes longer than `stopMs`, because an incomplete shutdown loses no acknowledged writes.
    clock.wakeAt(stoppedAt + stopMs, () => host.exit(0));
    stopping.abort();
  };
  host.on('SIGINT', onSignal);
  host.on('SIGTERM', onSignal);
  return stopping.signal;
}
