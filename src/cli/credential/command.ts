// `purser credential`: the commands and their options.

import type { Command } from 'commander';
import type { CommandHost } from '../command.ts';
import { addExamples, defineCommand } from '../command-line.ts';
import { withVariables } from '../facade/options.ts';
import { addTokenOptions, type TokenOptions } from '../token/options.ts';

/** Returns `purser credential` with its commands. */
export function defineCredentialCommand(host: CommandHost): Command {
  const command = addTokenOptions(
    defineCommand(host, 'credential', 'print a token in the format of kubectl credential plugins')
      .description('Print an ExecCredential with a token for a service account, for kubectl and other clients that run credential plugins.')
      .option('--force-refresh', 'request a new token, even if the cached one is valid'),
  );
  addExamples(command, {
    'Print a credential': 'purser credential target-1 deploy/deployer',
    'Replace the cached token': 'purser credential target-1 deploy/deployer --force-refresh',
    'Remove all cached tokens': 'purser credential clean',
  });
  command.action(async (cluster: string, account: string, options: TokenOptions & { readonly forceRefresh?: true }) => {
    const { printCredential } = await import('./credential.ts');
    await printCredential({ ...withVariables(options, host.env), cluster, account }, host);
  });
  return command.addCommand(defineCleanCommand(host));
}

function defineCleanCommand(host: CommandHost): Command {
  const command = defineCommand(host, 'clean', 'remove all cached tokens').description(
    'Remove all tokens that purser credential has cached for the current user. The tokens stay valid until they expire.',
  );
  return command.action(async () => {
    const { removeCredentials } = await import('./credential.ts');
    removeCredentials(host);
  });
}
