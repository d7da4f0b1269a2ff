#!/usr/bin/env node
// `purser`, and `npm start`: plain JavaScript, so that an older Node can at least say which one is needed.

import module from 'node:module';
import { fileURLToPath } from 'node:url';

const NEEDED = 24;

if (Number.parseInt(process.versions.node, 10) < NEEDED) {
  process.stderr.write(
    `purser: needs Node ${NEEDED}, and this is ${process.version}; npm brings the right one along: npm ci && npm start\n`,
  );
  process.exit(2);
}
module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)));
const { isLocalRun } = await import('./config/given.ts');
await import(isLocalRun(process.argv.slice(2), process.env) ? './dev.ts' : './main.ts');
