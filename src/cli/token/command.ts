// `purser token`: the command and its options.

import type { Command } from 'commander';
import type { CommandHost } from '../command.ts';
import { addExamples, defineCommand } from '../command-line.ts';
import { withVariables } from '../facade/options.ts';
import { defineOutputOption } from '../options.ts';
import { addTokenOptions, type TokenOptions } from './options.ts';

/** Returns `purser token`. */
export function defineTokenCommand(host: CommandHost): Command {
  const command = addTokenOptions(
    defineCommand(host, 'token', 'print a token for a service account on a cluster')
      .description('Request a token from the façade for a service account on a registered cluster, and print the token.')
      .addOption(defineOutputOption(['json', 'yaml']).default(undefined, 'the token only')),
  );
  addExamples(command, {
    'Print a token that is valid for ten minutes': 'purser token target-1 deploy/deployer --duration 10m',
    'Print the TokenRequest with its expiry': 'purser token target-1 deploy/deployer -o json',
    'Use a context with a client certificate': 'purser token target-1 deploy/deployer --context kind-hub --service-account team-a/ci',
  });
  return command.action(async (cluster: string, account: string, options: TokenOptions & { readonly output?: 'json' | 'yaml' }) => {
    const { printToken } = await import('./token.ts');
    await printToken({ ...withVariables(options, host.env), cluster, account }, host);
  });
}
