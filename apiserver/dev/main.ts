// Entry point of a local run (`npm start`).

import { type Running, runProgram } from '../../src/cli/program.ts';
import { parseConfig } from '../../src/config/config.ts';
import { helpText } from '../../src/config/help.ts';
import { systemClock } from '../../src/std/clock.ts';
import { versionText } from '../../src/telemetry/build.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { startLocalRun } from './local-run.ts';

/** Maximum time to stop after Ctrl-C, in milliseconds. */
const STOP_MS = 1_800;

async function start(stopped: AbortSignal): Promise<Running | undefined> {
  const config = parseConfig(process.argv.slice(2), process.env);
  const print = (text: string) => process.stdout.write(text);
  if (config.help) {
    print(helpText(config.command));
    return undefined;
  }
  if (config.version) {
    print(versionText());
    return undefined;
  }
  const write = (line: string) => process.stderr.write(line);
  const log = createLogger({ level: config.logLevel ?? 'warn', readable: process.stderr.isTTY, write });
  if (config.unknownVariables.length > 0) log.warn({ variables: config.unknownVariables }, 'ignoring unknown environment variables');
  return await startLocalRun({ config, log, cwd: process.cwd(), print, stopped });
}

await runProgram({ host: process, clock: systemClock, stopMs: STOP_MS }, start);
