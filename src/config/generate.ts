// Development tool: the table of options in the README. Run it with `npm run generate`.

import { readFile, writeFile } from 'node:fs/promises';
import { optionsTable } from './help.ts';

const README = new URL('../../README.md', import.meta.url);
const TABLE = /\| option \| variable \|.*\n(\|.*\n)*/;

/** The README with the table of options as it is now. */
export async function readmeWithOptions(): Promise<string> {
  return (await readFile(README, 'utf8')).replace(TABLE, () => optionsTable());
}

if (import.meta.main) await writeFile(README, await readmeWithOptions());
