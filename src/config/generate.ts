// Development tool: the table of options in docs/operating.md. Run it with `npm run generate`.

import { readFile, writeFile } from 'node:fs/promises';
import { optionsTable } from './help.ts';

const MANUAL = new URL('../../docs/operating.md', import.meta.url);
const TABLE = /\| option \| variable \|.*\n(\|.*\n)*/;

/** The manual with the table of options as it is now. */
export async function manualWithOptions(): Promise<string> {
  return (await readFile(MANUAL, 'utf8')).replace(TABLE, () => optionsTable());
}

if (import.meta.main) await writeFile(MANUAL, await manualWithOptions());
