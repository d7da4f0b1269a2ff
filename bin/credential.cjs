// Prints a cached credential of `purser credential`: kubectl runs it for every command, with any Node that runs the launcher.
'use strict';

const { existsSync } = require('fs');
const { join } = require('path');
const { pathToFileURL } = require('url');

/** Prints the credential for the arguments of `purser credential`, or calls `otherwise`. */
async function printCached(root, args, otherwise) {
  const source = join(root, 'src/cli/credential/print-cached.mjs');
  const path = existsSync(source) ? source : join(root, 'dist/src/cli/credential/print-cached.mjs');
  const { printForArguments } = await import(pathToFileURL(path));
  let warnings = '';
  const code = printForArguments(args, {
    env: process.env,
    now: Date.now,
    print: (text) => process.stdout.write(text),
    warn: (text) => {
      warnings += text;
    },
    notify: (text) => process.stderr.write(text),
  });
  // The command line reads the cache again, and prints the warnings.
  if (code === undefined) return otherwise();
  process.stderr.write(warnings);
  process.exitCode = code;
}

module.exports = { printCached };
