// `purser run` and `purser dev`: programs that run until a signal stops them. src/config declares their options.

import { type Command, Option } from 'commander';
import { type Config, parseConfig } from '../config/config.ts';
import { formatUsage, OPTIONS, type OptionName, type Option as ServeOption, toVariableName } from '../config/options.ts';
import { StartError } from '../config/start-error.ts';
import type { OptionText, OptionTexts } from '../config/variables.ts';
import type { CommandHost } from './command.ts';
import { addExamples, defineCommand } from './command-line.ts';

/** Programs that run until a signal stops them. */
export interface Programs {
  /** Runs the operator on a cluster. */
  run(config: Config): Promise<void>;
  /** Runs Purser with a hub and target clusters on this machine; undefined in the image, which does not contain the embedded API server. */
  dev?(config: Config): Promise<void>;
}

/** Returns `purser run`. */
export function defineRunCommand(host: CommandHost, programs: Programs): Command {
  const command = defineCommand(host, 'run', 'run Purser for a hub cluster')
    .description(
      'Run Purser in this process. The hub is the cluster of the current context in KUBECONFIG or, if KUBECONFIG is not set, the cluster in which Purser runs as a pod.',
    )
    .addHelpText('after', `\n${VARIABLES}`);
  addOptions(command, ({ localOnly }) => localOnly === true);
  return command.action(() => programs.run(readConfig(command, host, false)));
}

/** Returns `purser dev`. */
export function defineDevCommand(host: CommandHost, programs: Programs): Command {
  const command = defineCommand(host, 'dev', 'run Purser on this machine, with a hub and target clusters')
    .description('Run Purser on this machine, with embedded API servers for the hub and the target clusters. KUBECONFIG is ignored.')
    .addHelpText('after', `\n${VARIABLES}`);
  addOptions(command, () => false);
  addExamples(command, {
    'Run with two target clusters': 'purser dev --clusters 2',
    'Run on free ports, with data in another folder': 'purser dev --data-dir /tmp/purser --api-port 0 --facade-port 0 --metrics-port 0',
  });
  return command.action(async () => {
    const config = readConfig(command, host, true);
    if (programs.dev === undefined) throw new StartError('purser dev is not part of the image. Install purser as docs/cli.md describes');
    host.print(formatStart(config.clusters));
    await programs.dev(config);
  });
}

/** Returns the text to print before the program is loaded. */
function formatStart(clusters: number): string {
  const targets = clusters === 0 ? '' : ` and ${clusters} target cluster${clusters === 1 ? '' : 's'}`;
  return `Starting Purser with a hub${targets} on this machine…\n\n`;
}

const VARIABLES = `Environment variables:
  HTTPS_PROXY, NO_PROXY  proxy for target clusters whose credential names no proxy, and hosts to reach without the proxy
  KUBECONFIG             kubeconfig file for the hub (purser run)
  PURSER_…               any option, for example ${toVariableName('verify-interval')}=1h; true or false for a flag;
                         the command line overrides environment variables`;

function addOptions(command: Command, isHidden: (option: ServeOption) => boolean): void {
  for (const [name, option] of Object.entries<ServeOption>(OPTIONS)) {
    const initial = option.default ?? option.defaultDescription;
    const description = initial === undefined ? option.description : `${option.description} (default ${initial})`;
    const flags = formatUsage(name, option).replace(/ (.+)$/, ' <$1>');
    const declared = new Option(flags, description).hideHelp(isHidden(option));
    // For shell completion only: parseConfig reports all invalid values together.
    if (option.parse.words !== undefined) declared.argChoices = [...option.parse.words];
    command.addOption(declared);
  }
  // readConfig rejects excess arguments, with a hint for users of npm.
  command.allowExcessArguments();
}

/** Returns the settings from the command line and the environment. Throws a StartError for invalid settings. */
function readConfig(command: Command, host: CommandHost, isLocal: boolean): Config {
  const [unexpected] = command.args;
  if (unexpected !== undefined) command.error(`unexpected argument ${JSON.stringify(unexpected)}. With npm, write options after --`);
  try {
    return parseConfig(readGivenOptions(command), host.env, { isLocal });
  } catch (error) {
    if (error instanceof StartError) return command.error(error.message);
    throw error;
  }
}

/** Returns the options that the command line sets, in the order of their declaration; the last occurrence of each applies. */
function readGivenOptions(command: Command): OptionTexts {
  return new Map(
    command.options.flatMap((option): (readonly [OptionName, OptionText])[] => {
      const key = option.attributeName();
      if (command.getOptionValueSource(key) !== 'cli') return [];
      const text = option.required ? String(command.getOptionValue(key)) : 'true';
      return [[option.name() as OptionName, { text, source: `--${option.name()}` }]];
    }),
  );
}
