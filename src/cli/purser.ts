// The command line of Purser: all commands, and their exit codes.

import { type Command, CommanderError } from 'commander';
import { StartError } from '../config/start-error.ts';
import { redactTokens } from '../std/sensitive.ts';
import { formatVersion } from '../telemetry/build.ts';
import { defineClusterCommand } from './cluster.ts';
import { CommandError, type CommandHost, ExitCode } from './command.ts';
import { addExamples, defineCommand, describeUnknownWord } from './command-line.ts';
import { defineCompletionCommand } from './completion.ts';
import { defineCredentialCommand } from './credential/command.ts';
import { defineKubeconfigCommand } from './kubeconfig/command.ts';
import { defineManagedTokenCommands } from './managed-token.ts';
import { definePrintCommand } from './print.ts';
import { defineDevCommand, defineRunCommand, type Programs } from './serve.ts';
import { defineStatusCommand } from './status/command.ts';
import { defineTokenCommand } from './token/command.ts';
import { defineUiCommand } from './ui/command.ts';
import { defineVersionCommand } from './version.ts';
import { toVisibleLine, withVisibleOutput } from './visible-text.ts';

/** Runs a command line and returns the exit code. Prints errors on one line, without tokens or control characters. */
export async function run(argv: readonly string[], process: CommandHost, programs: Programs): Promise<number> {
  const host = withVisibleOutput(process);
  const purser = definePurserCommand(host, programs);
  const [first, ...words] = argv;
  if (first === undefined) {
    purser.outputHelp();
    return ExitCode.done;
  }
  if (first === COMPLETE) {
    const { complete } = await import('./complete.ts');
    await complete(purser, words, host);
    return ExitCode.done;
  }
  try {
    await purser.parseAsync([...argv], { from: 'user' });
    return ExitCode.done;
  } catch (error) {
    // Commander has already printed the help or the version.
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.done : ExitCode.wrongUse;
    const message = error instanceof Error ? error.message : String(error);
    const text = host.signal.aborted ? 'interrupted' : toVisibleLine(redactTokens(message));
    if (text !== '') host.warn(`purser: ${text}\n`);
    if (error instanceof StartError) return ExitCode.wrongUse;
    return error instanceof CommandError ? error.code : ExitCode.failed;
  }
}

/** Hidden command that shells run for completion. Commander does not parse its arguments. */
export const COMPLETE = '__complete';

/** Returns the root command with all commands. */
export function definePurserCommand(host: CommandHost, programs: Programs): Command {
  const purser = defineCommand(host, 'purser', '')
    .description('Purser keeps short-lived service account tokens fresh across many Kubernetes clusters.')
    .version(formatVersion().trimEnd(), '--version', 'print the version of Purser')
    .commandsGroup('Programs:')
    .addCommand(defineRunCommand(host, programs))
    .addCommand(defineDevCommand(host, programs))
    .commandsGroup('Clusters:')
    .addCommand(defineClusterCommand(host))
    .addCommand(definePrintCommand(host))
    .commandsGroup('Tokens:')
    .addCommand(defineTokenCommand(host))
    .addCommand(defineKubeconfigCommand(host))
    .addCommand(defineCredentialCommand(host))
    .addCommand(defineStatusCommand(host))
    .addCommand(defineUiCommand(host));
  for (const command of defineManagedTokenCommands(host)) purser.addCommand(command);
  purser
    .commandsGroup('Other commands:')
    .addCommand(defineCompletionCommand(host))
    .addCommand(defineHelpCommand(host))
    .addCommand(defineVersionCommand(host));
  return addExamples(purser, {
    'Run Purser with a hub and a target cluster on this machine': 'purser dev',
    'Show failures in all namespaces': 'purser status -A',
    'Print help for a command': 'purser help cluster revoke',
  });
}

/** Returns `purser help`, which prints the same as `--help` of the named command. */
function defineHelpCommand(host: CommandHost): Command {
  const command = defineCommand(host, 'help', 'print help for a command').argument('[COMMAND...]', 'command, for example cluster revoke');
  return command.action((names: readonly string[]) => {
    let found = command.parent as Command;
    for (const name of names) {
      const next = found.commands.find((each) => each.name() === name);
      if (next === undefined) return found.error(describeUnknownWord('command', name, found.commands.map(nameOf)));
      found = next;
    }
    found.outputHelp();
  });
}

function nameOf(command: Command): string {
  return command.name();
}
