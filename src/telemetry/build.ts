// What this process was built from.

import { readFileSync } from 'node:fs';
import { version as node } from 'node:process';

/** The version of Purser, and of the Node that runs it. */
export function readBuild(): { readonly version: string; readonly node: string } {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { readonly version: string };
  return { version, node };
}

/** The text of `--version`. */
export function versionText(): string {
  return `purser ${readBuild().version}\n`;
}
