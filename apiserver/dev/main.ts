// Process of a local run (`purser dev`, `npm start`).

import { type RunningProgram, runProgram } from '../../src/cli/program.ts';
import type { Config } from '../../src/config/config.ts';
import { systemClock } from '../../src/std/clock.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { DeferredLog } from './deferred-log.ts';
import { startLocalRun } from './local-run.ts';

/** Maximum time to stop after Ctrl-C, in milliseconds. */
const STOP_MS = 1_800;

/** Runs Purser with a hub and target clusters until the process receives a signal, then exits the process. */
export async function runLocally(config: Config): Promise<void> {
  await runProgram({ host: process, clock: systemClock, stopMs: STOP_MS }, (stopped) => start(config, stopped));
}

async function start(config: Config, stopped: AbortSignal): Promise<RunningProgram> {
  const lines = new DeferredLog((line) => process.stderr.write(line));
  const log = createLogger({ level: config.logLevel ?? 'warn', readable: process.stderr.isTTY, write: (line) => lines.write(line) });
  // The finally block does not run if the process exits during startup.
  process.once('exit', () => lines.release());
  if (config.unknownVariables.length > 0) log.warn({ variables: config.unknownVariables }, 'ignoring unknown environment variables');
  try {
    return await startLocalRun({ config, log, cwd: process.cwd(), print: (text) => process.stdout.write(text), stopped });
  } finally {
    lines.release();
  }
}
