// Arguments and options of commands that request tokens.

import type { Command, Option } from 'commander';
import { anyText, objectName, serviceAccount, tokenLifetime } from '../../config/values.ts';
import { defineArgument, defineOption, defineRepeatableOption } from '../command-line.ts';
import { addFacadeOptions, type FacadeClientOptions, toTextParser } from '../facade/options.ts';

/** Values of the options that tokens depend on. */
export interface TokenOptions extends FacadeClientOptions {
  readonly audience?: readonly string[];
  /** Duration, as written by the user. */
  readonly duration?: string;
}

/** Adds the arguments and options of a command that requests tokens for a service account. */
export function addTokenOptions(command: Command): Command {
  command
    .addArgument(defineArgument('<CLUSTER>', 'name of the registered cluster', objectName))
    .addArgument(defineArgument('<NAMESPACE/NAME>', 'service account on the cluster', toTextParser(serviceAccount)))
    .addOption(defineAudienceOption())
    .addOption(
      defineOption('--duration <DURATION>', 'requested lifetime of the token, at least 10m', toTextParser(tokenLifetime)).default(
        undefined,
        '1h',
      ),
    );
  return addFacadeOptions(command);
}

function defineAudienceOption(): Option {
  return defineRepeatableOption('--audience <AUD>', 'audience of the token', anyText).default(
    undefined,
    "the audiences of the cluster's API server",
  );
}
