// Versions of this build.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { version as node } from 'node:process';
import { packageRoot } from '../std/package-root.ts';

/** Returns the versions of Purser and Node. */
export function readBuild(): { readonly version: string; readonly node: string } {
  const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { readonly version: string };
  return { version, node };
}

/** Returns the output of `--version`. */
export function formatVersion(): string {
  return `purser ${readBuild().version}\n`;
}
