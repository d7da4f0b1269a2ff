// Every case about ManagedTokens, and every fault that concerns them, is named by a test, or it is said here why there is none.

import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';

const WHY_NOT: Readonly<Record<string, string>> = {
  'M-10': 'the name of the Secret is the one that the spec says, or that of the ManagedToken: none is made up or cut short',
  'M-14': 'whoever may write ManagedTokens acts with the service accounts of their namespace; there is no policy at admission',
  'M-15': 'there is no policy at admission that could be in the way of status and finalizers',
};

const CASES = [
  ...numbers(1, 22).map((number) => `M-${number}`),
  ...[...numbers(8, 28), ...numbers(37, 47), 32].map((number) => `F${number}`),
  ...[3, 5].map((number) => `I${number}`),
];

describe('the cases of the threat model', () => {
  it('are each named by a test, or explained', async () => {
    const names = await namesOfTests(new URL('../', import.meta.url));
    const missing = CASES.filter((each) => !(each in WHY_NOT) && !new RegExp(`(?<![\\w-])${each}(?!\\w)`).test(names));
    expect(missing).toEqual([]);
  });
});

function numbers(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/** The lines of all tests that name a case: comments do not count. */
async function namesOfTests(folder: URL): Promise<string> {
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.test.ts') && !file.endsWith('cases.test.ts'));
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, folder), 'utf8')));
  return texts
    .flatMap((text) => text.split('\n'))
    .filter((line) => !line.trimStart().startsWith('//'))
    .join('\n');
}
