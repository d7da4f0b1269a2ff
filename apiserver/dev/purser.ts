// The command line of a checkout and of the npm package, both of which contain the embedded API server.

import { StartError } from '../../src/config/start-error.ts';
import { main } from '../../src/main.ts';

/** Runs a command line of Purser, including `purser dev`. */
export function runPurser(args: readonly string[]): void {
  void main(args, async (config) => {
    const { runLocally } = await import('./main.ts').catch(throwImportError);
    await runLocally(config);
  });
}

/** Throws a StartError for an optional dependency that is not installed, and any other error unchanged. */
function throwImportError(cause: NodeJS.ErrnoException): never {
  if (cause.code !== 'ERR_MODULE_NOT_FOUND') throw cause;
  throw new StartError('purser dev needs packages that are not installed. Run npm install with --include=optional', { cause });
}
