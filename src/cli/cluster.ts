// `purser cluster`: commands for registered clusters.

import type { Command } from 'commander';
import type { CommandHost } from './command.ts';
import { addExamples, defineCommand } from './command-line.ts';
import { hubContextOption, kubeconfigOption, type SharedOptions, targetContextOption, timeoutOption } from './options.ts';

/** Returns `purser cluster` with its commands. */
export function clusterCommand(host: CommandHost): Command {
  return defineCommand(host, 'cluster', 'manage registered clusters')
    .description('Manage registered clusters with the contexts of your kubeconfig.')
    .addCommand(revokeCommand(host));
}

function revokeCommand(host: CommandHost): Command {
  const command = defineCommand(host, 'revoke', "revoke Purser's earlier tokens for a cluster")
    .description("Replace Purser's credential for a cluster, and revoke all earlier tokens that Purser obtained for it.")
    .argument('<NAME>', 'name of the Cluster')
    .addOption(targetContextOption(RECREATE))
    .addOption(hubContextOption())
    .addOption(kubeconfigOption())
    .addOption(timeoutOption('2m'));
  addExamples(command, {
    'Revoke the tokens that Purser obtained': 'purser cluster revoke target-1 --hub-context hub',
    "Re-create Purser's service account after a theft": 'purser cluster revoke target-1 --hub-context hub --context target-1',
  });
  return command.action(async (name: string, options: SharedOptions) => {
    const { Connections } = await import('./connection.ts');
    const { revoke } = await import('./revoke.ts');
    await using connections = new Connections(host, options.kubeconfig);
    const hub = await connections.open(options.hubContext);
    const target = options.context === undefined ? undefined : await connections.open(options.context);
    await revoke({ name, hub, target, timeoutMs: options.timeout ?? 0 }, host);
  });
}

const RECREATE =
  "also re-create Purser's service account on the target cluster, with this context; this revokes every token of the service account";
