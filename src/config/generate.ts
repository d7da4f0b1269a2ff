// Development tool: writes the table of options in docs/operating.md. Run `npm run generate`.

import { readFile, writeFile } from 'node:fs/promises';
import { optionsTable } from './help.ts';

const MANUAL = new URL('../../docs/operating.md', import.meta.url);
const TABLE = /\| option \| variable \|.*\n(\|.*\n)*/;

/** Returns docs/operating.md with the current table of options. */
export async function manualWithOptions(): Promise<string> {
  return (await readFile(MANUAL, 'utf8')).replace(TABLE, () => optionsTable());
}

if (import.meta.main) await writeFile(MANUAL, await manualWithOptions());
