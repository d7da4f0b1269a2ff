// `purser ui`: the command and its options.

import { type Command, Option } from 'commander';
import { port } from '../../config/values.ts';
import type { CommandHost } from '../command.ts';
import { addExamples, defineCommand, defineOption } from '../command-line.ts';
import { addFacadeOptions, withVariables } from '../facade/options.ts';
import type { UiOptions } from './options.ts';

/** Returns `purser ui`. */
export function defineUiCommand(host: CommandHost): Command {
  const command = addFacadeOptions(
    defineCommand(host, 'ui', 'show clusters and tokens in a browser')
      .description(
        'Serve a web page with the clusters and tokens that you, or the service account in --service-account, may see. Stop with Ctrl-C.',
      )
      .addOption(defineOption('--port <PORT>', 'local port to serve the UI on (0 selects a free port)', port).default(0))
      .addOption(new Option('--no-open', 'print the address without opening a browser')),
  );
  addExamples(command, {
    'Open the page in a browser': 'purser ui',
    'Serve the page without opening a browser': 'purser ui --no-open',
    'Use a context with a client certificate': 'purser ui --context kind-hub --service-account team-a/ci',
  });
  return command.action(async (options: UiOptions) => {
    const { servePage } = await import('./ui.ts');
    await servePage(withVariables(options, host.env), host);
  });
}
