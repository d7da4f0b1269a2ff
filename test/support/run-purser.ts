// The command line of Purser in this process.

import type { CommandHost } from '../../src/cli/command.ts';
import { run } from '../../src/cli/purser.ts';
import type { Programs } from '../../src/cli/serve.ts';
import type { Config } from '../../src/config/config.ts';
import type { Env } from '../../src/config/variables.ts';
import { FakeClock } from './clock.ts';
import type { RunResult } from './run.ts';

/** Result of a command line, with the settings that it passed to `run` or `dev`. */
export interface CommandResult extends RunResult {
  readonly program?: 'run' | 'dev';
  readonly config?: Config;
}

/** Runs a command line with a fake host; `run` and `dev` start nothing unless `programs` contains them. */
export async function runPurser(
  argv: readonly string[],
  host: Partial<CommandHost> = {},
  programs: Partial<Programs> = {},
): Promise<CommandResult> {
  let [output, stderr] = ['', ''];
  let started: Pick<CommandResult, 'program' | 'config'> = {};
  const code = await run(
    argv,
    {
      clock: new FakeClock(),
      env: {},
      print: (text) => void (output += text),
      warn: (text) => void (stderr += text),
      signal: new AbortController().signal,
      ...host,
    },
    {
      run: async (config) => void (started = { program: 'run', config }),
      dev: async (config) => void (started = { program: 'dev', config }),
      ...programs,
    },
  );
  return { code, output, stderr, ...started };
}

/** Returns the settings of `purser run` or `purser dev`. Throws with the error text of a command line that fails. */
export async function configOf(argv: readonly string[], env: Env = {}): Promise<Config> {
  const { config, stderr } = await runPurser(argv, { env });
  if (config === undefined) throw new Error(stderr);
  return config;
}
