import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { manualWithOptions, optionsTable } from '../../src/config/generate.ts';

describe('optionsTable', () => {
  it('equals the table in docs/operating.md (if not, run `npm run generate`)', async () => {
    const manual = await readFile(new URL('../../docs/operating.md', import.meta.url), 'utf8');

    expect(await manualWithOptions()).toBe(manual);
    expect(manual).toContain(optionsTable());
  });
});
