#!/usr/bin/env node
// Launcher of `purser` and `npm start`. Plain JavaScript, so that an older Node can run it and continue with the Node that npm installed.

import { spawn } from 'node:child_process';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

const NEEDED = 24;

const isAnswered = process.argv[2] === 'credential' && (await answerCredential());
if (!isAnswered && Number.parseInt(process.versions.node, 10) < NEEDED) runWith(installedNode());
else if (!isAnswered) await run();

/** Prints a cached credential with any Node, and without loading the command line. Returns false without one. */
async function answerCredential() {
  const { answerArguments } = await import('./cli/credential/cached-answer.mjs');
  const code = answerArguments(process.argv.slice(3), {
    env: process.env,
    now: Date.now,
    print: (text) => process.stdout.write(text),
    warn: (text) => process.stderr.write(text),
  });
  if (code !== undefined) process.exitCode = code;
  return code !== undefined;
}

async function run() {
  module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)));
  const { main } = await import('./main.ts');
  await main(async (config) => {
    const { runLocally } = await import('../apiserver/dev/main.ts');
    await runLocally(config);
  });
}

/** Returns the path of the Node that npm installs on Linux; undefined elsewhere. */
function installedNode() {
  try {
    return module.createRequire(import.meta.url).resolve(`node-linux-${process.arch}/bin/node`);
  } catch {
    return undefined;
  }
}

/** Runs this program with another Node; forwards signals and the exit code. */
function runWith(node) {
  if (node === undefined) {
    process.stderr.write(
      `purser: requires Node ${NEEDED}, found ${process.version}; on Linux, run npm ci to install it; elsewhere, install it from nodejs.org\n`,
    );
    process.exit(2);
  }
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 143)));
}
