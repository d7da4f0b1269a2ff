// `purser status`: the problems of a fleet, or the chain of one ManagedToken.

import type { Command } from 'commander';
import { StartError } from '../../config/start-error.ts';
import { anyText } from '../../config/values.ts';
import type { CommandHost } from '../command.ts';
import { addExamples, defineCommand, defineOption } from '../command-line.ts';
import { parseManagedTokenName } from '../managed-token.ts';
import {
  defineAllNamespacesOption,
  defineContextOption,
  defineKubeconfigOption,
  defineNamespaceOption,
  defineOutputOption,
  type SharedOptions,
} from '../options.ts';
import type { Paint } from './text.ts';

interface StatusOptions extends SharedOptions {
  readonly targetContext?: string;
}

/** Returns `purser status`. */
export function defineStatusCommand(host: CommandHost): Command {
  const command = defineCommand(host, 'status', 'show failing tokens and clusters, with causes and remedies')
    .description(
      'Show failing ManagedTokens, ManagedTokenSets and clusters, with causes and remedies. For one ManagedToken, check each step from the permission to the Secret.',
    )
    .argument(
      '[mt/NAME]',
      'ManagedToken to check (default the ManagedTokens and ManagedTokenSets in the selected namespaces, and all Clusters)',
    )
    .addOption(defineNamespaceOption('namespace of the ManagedTokens and ManagedTokenSets'))
    .addOption(defineAllNamespacesOption())
    .addOption(
      defineOption(
        '--target-context <CONTEXT>',
        'with mt/NAME, context of the target cluster, to check the service account and the token there',
        anyText,
      ),
    )
    .addOption(defineOutputOption(['json', 'yaml']).default(undefined, 'text'))
    .addOption(defineContextOption())
    .addOption(defineKubeconfigOption());
  addExamples(command, {
    'Show failures in all namespaces': 'purser status -A',
    'Check one ManagedToken, including checks on the target cluster': 'purser status mt/ci-deployer -n team-a --target-context target-1',
  });
  return command.action(async (name: string | undefined, options: StatusOptions) => {
    const tokenName = name === undefined ? undefined : parseManagedTokenName(name);
    checkScope(tokenName, options);
    const { Connections } = await import('../connection.ts');
    const { callPeer } = await import('../cluster/peer.ts');
    const { showFleet, showToken } = await import('./show.ts');
    await using connections = new Connections(host, options.kubeconfig);
    const peer = await connections.openPeer('hub', options.context);
    const namespace = options.namespace ?? (await connections.readNamespace(options.context));
    const appearance = { output: options.output, paint: createPaint(host) };
    if (tokenName === undefined) {
      const selected = options.allNamespaces ? undefined : namespace;
      return await callPeer(peer, (hub) => showFleet({ hub, namespace: selected, ...appearance }, host));
    }
    const { targetContext: context } = options;
    const target = context === undefined ? undefined : await connections.openPeer('target cluster', context);
    await callPeer(peer, () => showToken({ hub: peer, target, name: { namespace, name: tokenName }, ...appearance }, host));
  });
}

/** Throws a StartError for options that would be ignored. */
function checkScope(tokenName: string | undefined, { allNamespaces, targetContext }: StatusOptions): void {
  if (tokenName !== undefined && allNamespaces)
    throw new StartError('-A selects all namespaces, but mt/NAME is in one namespace. Select that namespace with -n');
  if (tokenName === undefined && targetContext !== undefined)
    throw new StartError('--target-context applies only to one ManagedToken. Add the ManagedToken as mt/NAME');
}

const CODES = { red: 31, green: 32, yellow: 33, bold: 1 } as const;

/** Returns a function that colors text for a terminal, unless NO_COLOR is set. */
function createPaint({ columns, env }: CommandHost): Paint {
  const isColored = columns !== undefined && !env['NO_COLOR'];
  return (color, text) => (isColored ? `\u001b[${CODES[color]}m${text}\u001b[0m` : text);
}
