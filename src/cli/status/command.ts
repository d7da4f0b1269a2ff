// `purser status`: the problems of a fleet, or the chain of one ManagedToken.

import type { Command } from 'commander';
import { anyText } from '../../config/values.ts';
import type { CommandHost } from '../command.ts';
import { addExamples, defineCommand, parsedOption } from '../command-line.ts';
import { managedTokenName } from '../managed-token.ts';
import { allNamespacesOption, contextOption, kubeconfigOption, namespaceOption, outputOption, type SharedOptions } from '../options.ts';
import type { Paint } from './text.ts';

interface StatusOptions extends SharedOptions {
  readonly targetContext?: string;
}

/** Returns `purser status`. */
export function statusCommand(host: CommandHost): Command {
  const command = defineCommand(host, 'status', 'show failing tokens and clusters, with causes and remedies')
    .description(
      'Show failing ManagedTokens and clusters, with causes and remedies. For one ManagedToken, check each link from the permission to the Secret.',
    )
    .argument('[mt/NAME]', 'ManagedToken to check (default all)')
    .addOption(namespaceOption())
    .addOption(allNamespacesOption())
    .addOption(parsedOption('--target-context <NAME>', 'context of the target cluster, to check service account and token there', anyText))
    .addOption(outputOption(['json', 'yaml']))
    .addOption(contextOption())
    .addOption(kubeconfigOption());
  addExamples(command, {
    'Show what fails in all namespaces': 'purser status -A',
    'Check one ManagedToken, on the target cluster too': 'purser status mt/ci-deployer -n team-a --target-context target-1',
  });
  return command.action(async (name: string | undefined, options: StatusOptions) => {
    const tokenName = name === undefined ? undefined : managedTokenName(name);
    const { Connections } = await import('../connection.ts');
    await using connections = new Connections(host, options.kubeconfig);
    const hub = await connections.open(options.context);
    const namespace = options.namespace ?? (await connections.namespaceOf(options.context));
    if (tokenName === undefined) {
      const { showFleet } = await import('./show.ts');
      return await showFleet(
        { hub, namespace: options.allNamespaces ? undefined : namespace, output: options.output, paint: paintFor(host) },
        host,
      );
    }
    const target = options.targetContext === undefined ? undefined : await connections.open(options.targetContext);
    const { showToken } = await import('./show.ts');
    await showToken({ hub, target, name: { namespace, name: tokenName }, output: options.output, paint: paintFor(host) }, host);
  });
}

const CODES = { red: 31, green: 32, yellow: 33, bold: 1 } as const;

/** Returns colors for a terminal, unless NO_COLOR is set. */
function paintFor({ columns, env }: CommandHost): Paint {
  const isColored = columns !== undefined && !env['NO_COLOR'];
  return (color, text) => (isColored ? `\u001b[${CODES[color]}m${text}\u001b[0m` : text);
}
