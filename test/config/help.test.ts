import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { manualWithOptions } from '../../src/config/generate.ts';
import { helpText, optionsTable } from '../../src/config/help.ts';
import { OPTIONS } from '../../src/config/options.ts';

const NAMES = Object.keys(OPTIONS);

describe('helpText', () => {
  it('names every option with its default', () => {
    expect(helpText()).toContain(
      '  --data-dir DIR                      where everything is kept; a second start goes on with it (default .purser)\n',
    );
    expect(helpText().match(/^ {2}--[a-z-]+/gm)).toEqual(NAMES.map((name) => `  --${name}`));
  });

  it.each([undefined, 'run', 'dev'] as const)('keeps what is to be typed apart from what it means, for the command %s', (command) => {
    const [, tables = ''] = helpText(command).split('Options:\n');
    const rows = tables.match(/^ .+/gm) ?? [];

    expect(rows).toContainEqual(expect.stringContaining('--facade-default-audiences AUD,AUD  audiences of tokens'));
    expect(rows.filter((row) => !/^.{36} {2}\S/.test(row))).toEqual([]);
  });

  it('of a command names its own options', () => {
    expect(helpText('dev').match(/^ {2}--[a-z-]+/gm)).toHaveLength(NAMES.length);
    expect(helpText('run')).toMatch(/^Usage: purser run /);
    expect(helpText('run')).toContain('--metrics-port PORT');
    expect(helpText('run')).not.toContain('--data-dir');
  });
});

describe('The options in docs/operating.md', () => {
  it('are those that there are (run `npm run generate` when this fails)', async () => {
    const manual = await readFile(new URL('../../docs/operating.md', import.meta.url), 'utf8');

    expect(await manualWithOptions()).toBe(manual);
    expect(manual).toContain(optionsTable());
  });
});
