// The command line of a checkout and of the npm package, which contain the embedded API server.

import { main } from '../../src/main.ts';

/** Runs a command line, with `purser dev`. */
export function runPurser(args: readonly string[]): void {
  void main(args, async (config) => {
    const { runLocally } = await import('./main.ts');
    await runLocally(config);
  });
}
