// One run of a program: starts it, stops it when it is told to, and ends with an exit code.

import { StartError } from '../config/start-error.ts';
import type { Clock } from '../std/clock.ts';
import { withoutTokens } from '../std/sensitive.ts';
import { createLogger } from '../telemetry/logger.ts';

/** What is running, and how it ends. */
export interface Running {
  stop(): Promise<void>;
}

/** The part of `process` that a program needs. */
export interface Host {
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean };
  on(event: 'SIGINT' | 'SIGTERM' | 'uncaughtException', listener: (error: unknown) => void): unknown;
  exit(code: number): void;
}

export interface ProgramOptions {
  readonly host: Host;
  readonly clock: Clock;
  /** How long stopping may take. */
  readonly patienceMs: number;
}

/**
 * Runs what `start` returns until SIGINT or SIGTERM, then stops it and exits with 0; a second signal exits at once.
 * `start` is told by its signal to give up. A StartError is told in one line, with exit code 2. What nobody catches ends the
 * process with 1: Kubernetes starts another in its place.
 */
export async function runProgram(options: ProgramOptions, start: (stopped: AbortSignal) => Promise<Running | undefined>): Promise<void> {
  const { host } = options;
  const stopped = stopSignal(options);
  host.on('uncaughtException', uncaught(host));
  try {
    const running = await start(stopped);
    if (running === undefined) return;
    if (!stopped.aborted) await new Promise((resolve) => stopped.addEventListener('abort', resolve));
    await running.stop();
    host.exit(0);
  } catch (error) {
    if (stopped.aborted) return host.exit(0);
    const text = error instanceof StartError ? error.message : ((error as Error).stack ?? String(error));
    host.stderr.write(`purser: ${withoutTokens(text)}\n`);
    host.exit(error instanceof StartError ? 2 : 1);
  }
}

/** Node brings promises that are rejected without anybody listening here as well. */
function uncaught(host: Host): (error: unknown) => void {
  const log = createLogger({ level: 'fatal', readable: host.stderr.isTTY === true, write: (line) => host.stderr.write(line) });
  return (error) => {
    log.fatal({ error }, 'a defect of Purser ended the process');
    host.exit(1);
  };
}

/** npm passes on the Ctrl-C that the terminal has sent already: signals this close together are one. */
const SAME_SIGNAL_MS = 300;
const KILLED_BY_SIGINT = 130;

function stopSignal({ host, clock, patienceMs }: ProgramOptions): AbortSignal {
  const stopping = new AbortController();
  let stoppedAt = 0;
  const onSignal = (): void => {
    if (stopping.signal.aborted) {
      if (clock.now() - stoppedAt > SAME_SIGNAL_MS) host.exit(KILLED_BY_SIGINT);
      return;
    }
    stoppedAt = clock.now();
    // Whatever was acknowledged is on disk by then.
    clock.wakeAt(stoppedAt + patienceMs, () => host.exit(0));
    stopping.abort();
  };
  host.on('SIGINT', onSignal);
  host.on('SIGTERM', onSignal);
  return stopping.signal;
}
