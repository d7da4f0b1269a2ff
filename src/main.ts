// Purser's main program. Entry point of the image; the entry point of the npm package is bin/purser.cjs.

import { askUser } from './cli/ask.ts';
import type { CommandHost } from './cli/command.ts';
import { handleInterrupts, INTERRUPTED_EXIT_CODE } from './cli/interrupt.ts';
import type { Programs } from './cli/serve.ts';
import { systemClock } from './std/clock.ts';

/** Runs a command line and sets the exit code of the process. `dev` implements `purser dev`; undefined in the image. */
export async function main(args: readonly string[], dev?: Programs['dev']): Promise<void> {
  const interruption = handleInterrupts(process, systemClock);
  const host: CommandHost = {
    clock: systemClock,
    env: process.env,
    columns: process.stdout.isTTY ? process.stdout.columns : undefined,
    print: (text) => process.stdout.write(text),
    warn: (text) => process.stderr.write(text),
    ask: process.stdin.isTTY && process.stderr.isTTY ? (question) => askUser(question, process, interruption.signal) : undefined,
    signal: interruption.signal,
  };
  const programs: Programs = {
    run: async (config) => {
      const { runOperator } = await import('./operator.ts');
      interruption.release();
      await runOperator(config);
    },
    ...(dev !== undefined && {
      dev: async (config) => {
        interruption.release();
        await dev(config);
      },
    }),
  };
  const { COMPLETE, run } = await import('./cli/purser.ts');
  const code = await run(args, host, programs);
  if (interruption.signal.aborted) process.exit(INTERRUPTED_EXIT_CODE);
  // Do not wait for a running credential plugin: the shell waits until this process exits.
  if (args[0] === COMPLETE) process.exit(code);
  process.exitCode = code;
}

if (import.meta.main) void main(process.argv.slice(2));
