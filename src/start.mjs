#!/usr/bin/env node
// `purser`, and `npm start`: plain JavaScript that an older Node can run, too. It continues with the Node that npm installed.

import { spawn } from 'node:child_process';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

const NEEDED = 24;

if (Number.parseInt(process.versions.node, 10) < NEEDED) runWith(installedNode());
else await run();

async function run() {
  module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)));
  const { isLocalRun } = await import('./config/arguments.ts');
  await import(isLocalRun(process.argv.slice(2), process.env) ? '../apiserver/dev/main.ts' : './main.ts');
}

/** The Node that npm installs on Linux; undefined elsewhere. */
function installedNode() {
  try {
    return module.createRequire(import.meta.url).resolve(`node-linux-${process.arch}/bin/node`);
  } catch {
    return undefined;
  }
}

/** Runs this program in another Node, passes signals on, and ends as it ends. */
function runWith(node) {
  if (node === undefined) {
    process.stderr.write(
      `purser: Node ${NEEDED} is needed, and this is ${process.version}. On Linux, run npm ci, which installs it; elsewhere, install it from nodejs.org.\n`,
    );
    process.exit(2);
  }
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 143)));
}
