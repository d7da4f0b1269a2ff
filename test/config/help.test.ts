import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { manualWithOptions } from '../../src/config/generate.ts';
import { helpText, optionsTable } from '../../src/config/help.ts';
import { OPTIONS } from '../../src/config/options.ts';

const NAMES = Object.keys(OPTIONS);

describe('helpText', () => {
  it('lists all options with their defaults', () => {
    expect(helpText()).toContain(
      '  --data-dir DIR                      directory for all data of the local run, reused on restart (default .purser)\n',
    );
    expect(helpText().match(/^ {2}--[a-z0-9-]+/gm)).toEqual(NAMES.map((name) => `  --${name}`));
  });

  it.each([undefined, 'run', 'dev'] as const)('aligns the descriptions for the command %s', (command) => {
    const [, tables = ''] = helpText(command).split('Options:\n');
    const rows = tables.match(/^ .+/gm) ?? [];

    expect(rows).toContainEqual(expect.stringContaining('--facade-default-audiences AUD,AUD  audiences of tokens'));
    expect(rows.filter((row) => !/^.{36} {2}\S/.test(row))).toEqual([]);
  });

  it('lists the options of the command run without those of the local run', () => {
    expect(helpText('dev').match(/^ {2}--[a-z0-9-]+/gm)).toHaveLength(NAMES.length);
    expect(helpText('run')).toMatch(/^Usage: purser run /);
    expect(helpText('run')).toContain('--metrics-port PORT');
    expect(helpText('run')).not.toContain('--data-dir');
  });
});

describe('optionsTable', () => {
  it('equals the table in docs/operating.md (if not, run `npm run generate`)', async () => {
    const manual = await readFile(new URL('../../docs/operating.md', import.meta.url), 'utf8');

    expect(await manualWithOptions()).toBe(manual);
    expect(manual).toContain(optionsTable());
  });
});
