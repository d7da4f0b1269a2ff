// Prints the cached credential of `purser credential` in the process of the launcher: kubectl runs the plugin for every command, and the
// start of another process would take longer.
'use strict';

const { existsSync } = require('fs');
const { join } = require('path');
const { pathToFileURL } = require('url');

/** Prints the cached credential for the arguments of `purser credential`. Calls `otherwise` if the full command has to run. */
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
  // The full command reads the cache again, and prints the same warnings.
  if (code === undefined) return otherwise();
  process.stderr.write(warnings);
  process.exitCode = code;
}

module.exports = { printCached };
