// `purser token`: the command and its options.

import type { Command, Option } from 'commander';
import { anyText, objectName, serviceAccount, tokenLifetime } from '../../config/values.ts';
import type { CommandHost } from '../command.ts';
import { addExamples, defineCommand, parsedArgument, parsedOption, repeatableOption } from '../command-line.ts';
import { addFacadeOptions, type FacadeOptions, sameText, withVariables } from '../facade/options.ts';
import { outputOption } from '../options.ts';

/** Values of the options that tokens depend on. */
export interface TokenOptions extends FacadeOptions {
  readonly audience?: readonly string[];
  /** Duration, as it was written. */
  readonly duration?: string;
}

/** Adds the arguments and options of a command that requests tokens for a service account. */
export function addTokenOptions(command: Command): Command {
  command
    .addArgument(parsedArgument('<CLUSTER>', 'name of the registered cluster', objectName))
    .addArgument(parsedArgument('<NAMESPACE/NAME>', 'service account on the cluster', sameText(serviceAccount)))
    .addOption(audienceOption())
    .addOption(
      parsedOption('--duration <DURATION>', 'lifetime of the token, at least 10m', sameText(tokenLifetime)).default(
        undefined,
        'that of the cluster, usually 1h',
      ),
    );
  return addFacadeOptions(command);
}

function audienceOption(): Option {
  return repeatableOption('--audience <AUD>', 'audience of the token', anyText).default(
    undefined,
    "the audiences of the cluster's API server",
  );
}

/** Returns `purser token`. */
export function tokenCommand(host: CommandHost): Command {
  const command = addTokenOptions(
    defineCommand(host, 'token', 'print a token for a service account on a cluster')
      .description('Request a token for a service account on a registered cluster from the façade, and print it.')
      .addOption(outputOption(['json', 'yaml'])),
  );
  addExamples(command, {
    'Print a token for ten minutes': 'purser token target-1 deploy/deployer --duration 10m',
    'Print the TokenRequest with its expiry': 'purser token target-1 deploy/deployer -o json',
    'Use a context with a client certificate': 'purser token target-1 deploy/deployer --context kind-hub --service-account team-a/ci',
  });
  return command.action(async (cluster: string, account: string, options: TokenOptions & { readonly output?: 'json' | 'yaml' }) => {
    const { printToken } = await import('./token.ts');
    await printToken({ ...withVariables(options, host.env), cluster, account }, host);
  });
}
