import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import LongestFirst, { LONGEST } from './sequencer.ts';

const ROOT = join(import.meta.dirname, '../..');

describe('LONGEST', () => {
  it.each(LONGEST)('names only files that exist: %s', (file) => expect(existsSync(join(ROOT, file))).toBe(true));
});

describe('LongestFirst', () => {
  it('sorts the longest files to the front, and other files by size', async () => {
    const sizes = {
      '/r/small.test.ts': 10,
      '/r/test/e2e/start.test.ts': 20,
      '/r/large.test.ts': 30,
      '/r/test/e2e/replicas.exhaustive.test.ts': 5,
    };
    const config = { id: 'none', cacheDirectory: '/nonexistent' };
    const context = { config, hasteFS: { getSize: (path: keyof typeof sizes) => sizes[path] } };
    const tests = Object.keys(sizes).map((path) => ({ path, context })) as unknown as Parameters<LongestFirst['sort']>[0];
    const options = { contexts: [], globalConfig: {} } as unknown as ConstructorParameters<typeof LongestFirst>[0];

    expect((await new LongestFirst(options).sort(tests)).map(({ path }) => path)).toEqual([
      '/r/test/e2e/replicas.exhaustive.test.ts',
      '/r/test/e2e/start.test.ts',
      '/r/large.test.ts',
      '/r/small.test.ts',
    ]);
  });
});
