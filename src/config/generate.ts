// Development tool: writes the table of options in docs/operating.md. Run `npm run generate`.

import { readFile, writeFile } from 'node:fs/promises';
import { formatUsage, OPTIONS, type Option, toVariableName } from './options.ts';

const MANUAL = new URL('../../docs/operating.md', import.meta.url);
const TABLE = /\| option \| variable \|.*\n(\|.*\n)*/;

/** Returns docs/operating.md with the current table of options. */
export async function renderManual(): Promise<string> {
  return (await readFile(MANUAL, 'utf8')).replace(TABLE, () => renderOptionsTable());
}

/** Returns the options as a Markdown table. */
export function renderOptionsTable(): string {
  const rows = Object.entries<Option>(OPTIONS).map(([name, option]) => {
    const initial = option.default === undefined ? (option.defaultDescription ?? '') : `\`${option.default}\``;
    const description = `${option.description}${option.localOnly ? ' (local run only)' : ''}`;
    return `| \`${formatUsage(name, option)}\` | \`${toVariableName(name)}\` | ${initial} | ${description} |\n`;
  });
  return `| option | variable | default | description |\n|---|---|---|---|\n${rows.join('')}`;
}

if (import.meta.main) await writeFile(MANUAL, await renderManual());
