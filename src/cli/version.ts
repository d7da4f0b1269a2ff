// `purser version`.

import type { Command } from 'commander';
import { formatVersion, readBuild } from '../telemetry/build.ts';
import type { CommandHost } from './command.ts';
import { defineCommand } from './command-line.ts';
import { defineOutputOption } from './options.ts';

/** Returns `purser version`. */
export function defineVersionCommand(host: CommandHost): Command {
  return defineCommand(host, 'version', 'print the version of Purser')
    .description('Print the version of Purser; with -o json or -o yaml, also the version of Node.js.')
    .addOption(defineOutputOption(['json', 'yaml']).default(undefined, 'text'))
    .action(async ({ output }: { readonly output?: 'json' | 'yaml' }) => {
      if (output === undefined) return host.print(formatVersion());
      const { formatDocument } = await import('./output.ts');
      host.print(formatDocument(readBuild(), output));
    });
}
