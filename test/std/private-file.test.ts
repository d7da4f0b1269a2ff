import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { isDraft, writePrivateFile } from '../../src/std/private-file.ts';
import { newFolder } from '../support/folders.ts';

describe('writePrivateFile', () => {
  it('creates a file that only its owner can read', async () => {
    const file = join(await newFolder(), 'secret');
    await writePrivateFile(file, 'text');

    expect(await readFile(file, 'utf8')).toBe('text');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('replaces the content and the permissions of a file', async () => {
    const file = join(await newFolder(), 'secret');
    await writeFile(file, 'a much longer text', { mode: 0o644 });
    await writePrivateFile(file, 'text');

    expect(await readFile(file, 'utf8')).toBe('text');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('leaves no draft after a failure', async () => {
    const folder = await newFolder();
    await mkdir(join(folder, 'taken'));

    await expect(writePrivateFile(join(folder, 'taken'), 'text')).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST/);
    expect(await readdir(folder)).toEqual(['taken']);
  });

  it('recognizes drafts by their names', () => {
    expect(isDraft('kubeconfig.0a1b2c.draft')).toBe(true);
    expect(isDraft('kubeconfig')).toBe(false);
  });
});
