import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { renderManual, renderOptionsTable } from '../../src/config/generate.ts';

describe('renderOptionsTable', () => {
  it('equals the table in docs/operating.md (if not, run `npm run generate`)', async () => {
    const manual = await readFile(new URL('../../docs/operating.md', import.meta.url), 'utf8');

    expect(await renderManual()).toBe(manual);
    expect(manual).toContain(renderOptionsTable());
  });
});
