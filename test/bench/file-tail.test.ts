import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TextCounter } from './file-tail.ts';

let path: string;
beforeEach(async () => {
  path = join(await mkdtemp(join(tmpdir(), 'purser-file-tail-')), 'log');
});
afterEach(async () => {
  await rm(join(path, '..'), { recursive: true, force: true });
});

describe('TextCounter', () => {
  it('counts each occurrence that was written since the last call', async () => {
    await writeFile(path, 'abba abba ab');
    const abba = new TextCounter(path, 'abba');
    expect(await abba.next()).toBe(2);
    expect(await abba.next()).toBe(0);
    await appendFile(path, 'ba ab');
    expect(await abba.next()).toBe(1);
  });

  it('does not count overlapping occurrences twice', async () => {
    await writeFile(path, 'aaa');
    const pair = new TextCounter(path, 'aa');
    expect(await pair.next()).toBe(1);
    await appendFile(path, 'a');
    expect(await pair.next()).toBe(1);
  });
});
