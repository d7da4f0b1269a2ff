#!/usr/bin/env node
// Launcher of `purser` and `kubectl purser`. Written in ES2018 and CommonJS, so that an older Node can run it and start the Node that npm
// installed. In a checkout, the launcher runs the sources; in the package, it runs the compiled files.
'use strict';

const { existsSync } = require('fs');
const { join } = require('path');

/** Minimum major version of Node that runs the command line. */
const REQUIRED_MAJOR = 24;
const ROOT = join(__dirname, '..');
const NODE_MAJOR = Number.parseInt(process.versions.node, 10);

/** Runs the command line with the arguments. Prints a cached credential without loading the command line. */
function launch(args) {
  // The launcher itself has no dynamic import, which is a syntax error for a very old Node.
  if (args[0] !== 'credential' || NODE_MAJOR < 20) return launchCommand(args);
  void require('./credential.cjs').printCached(ROOT, args.slice(1), () => launchCommand(args));
}

function launchCommand(args) {
  if (NODE_MAJOR < REQUIRED_MAJOR) return launchWith(findInstalledNode(), args);
  require('module').enableCompileCache(join(ROOT, 'node_modules/.cache/compiled'));
  const source = join(ROOT, 'apiserver/dev/purser.ts');
  const isCheckout = existsSync(source);
  if (isCheckout) hideWarning('stripTypeScriptTypes');
  const { runPurser } = require(isCheckout ? source : join(ROOT, 'dist/apiserver/dev/purser.js'));
  runPurser(args);
}

/** Hides Node's warnings that start with `beginning`. In a checkout, Node strips the types of the web UI with an experimental function. */
function hideWarning(beginning) {
  const { emitWarning } = process;
  process.emitWarning = (warning, ...rest) => {
    if (!String(warning).startsWith(beginning)) emitWarning.call(process, warning, ...rest);
  };
}

/** Returns the path of the Node that npm installs on Linux as an optional dependency; undefined if it is not installed. */
function findInstalledNode() {
  try {
    return require.resolve(`node-linux-${process.arch}/bin/node`);
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    return undefined;
  }
}

/** Runs the command line with another Node, and forwards signals and the exit code. Exits with 2 if `node` is undefined. */
function launchWith(node, args) {
  if (node === undefined) {
    process.stderr.write(
      `purser: requires Node ${REQUIRED_MAJOR} or later, found ${process.version}. Install Node ${REQUIRED_MAJOR} from nodejs.org or, on Linux, run npm install with --include=optional\n`,
    );
    process.exit(2);
  }
  const child = require('child_process').spawn(node, [__filename, ...args], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code === null ? (signal === 'SIGINT' ? 130 : 143) : code));
}

module.exports = { launch };

if (require.main === module) launch(process.argv.slice(2));
