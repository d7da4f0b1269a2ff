import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { generateFiles } from '../../src/api/generate.ts';

const FOLDER = new URL('../../src/api/', import.meta.url);

describe('generateFiles', () => {
  it('equals the files in src/api (if not, run `npm run generate`)', async () => {
    const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.gen.ts'));
    const texts = await Promise.all(names.map((name) => readFile(new URL(name, FOLDER), 'utf8')));
    const committed = new Map(names.map((name, index) => [name, texts[index]]));

    expect(committed).toEqual(await generateFiles());
  });

  it('generates the schema of a kind whose patterns contain quotation marks', async () => {
    const files = await generateFiles(new Set(['ManagedTokenSet']));
    expect(files.get('managed-token-set-schema.gen.ts')).toContain('(cluster|label \\"[A-Za-z0-9]');
  });
});
