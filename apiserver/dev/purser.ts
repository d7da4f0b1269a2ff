// The command line in a checkout and in the npm package, both of which contain the embedded API server.

import { StartError } from '../../src/config/start-error.ts';
import { main } from '../../src/main.ts';

/** Runs a command line that may be `purser dev`. */
export function runPurser(args: readonly string[]): void {
  void main(args, async (config) => {
    const { runLocally } = await import('./main.ts').catch(rejectMissing);
    await runLocally(config);
  });
}

/** Throws a StartError if a package of the embedded API server, which are optional dependencies, is not installed. */
function rejectMissing(cause: NodeJS.ErrnoException): never {
  if (cause.code !== 'ERR_MODULE_NOT_FOUND') throw cause;
  throw new StartError('purser dev needs packages that are not installed; run npm install with --include=optional', { cause });
}
