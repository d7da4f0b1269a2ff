import { existsSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { prepareReadyFile } from '../../src/cli/ready-file.ts';
import { StartError } from '../../src/config/start-error.ts';
import { newFolder } from '../support/folders.ts';

describe('prepareReadyFile', () => {
  it('removes the file of an earlier run', async () => {
    const path = join(await newFolder(), 'ready.json');
    await writeFile(path, '{}');
    await prepareReadyFile(path);

    expect(existsSync(path)).toBe(false);
  });

  it('writes JSON that only its owner can read, and removes the file at the end', async () => {
    const path = join(await newFolder(), 'ready.json');
    const file = await prepareReadyFile(path);
    await file.write({ api: 'https://127.0.0.1:1' });

    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({ api: 'https://127.0.0.1:1' });
    expect((await stat(path)).mode & 0o777).toBe(0o600);

    await file.remove();
    expect(existsSync(path)).toBe(false);
  });

  it('keeps the file of another run', async () => {
    const path = join(await newFolder(), 'ready.json');
    const file = await prepareReadyFile(path);
    await writeFile(path, '{}');
    await file.remove();

    expect(existsSync(path)).toBe(true);
  });

  it.each([
    ['in a folder that is missing', async () => join(await newFolder(), 'missing', 'ready.json')],
    ['that is a folder', newFolder],
  ])('rejects %s', async (_name, place) => {
    await expect(prepareReadyFile(await place())).rejects.toThrow(StartError);
  });

  it('writes no file without a path', async () => {
    const file = await prepareReadyFile(undefined);
    await expect(file.write({})).resolves.toBeUndefined();
    await expect(file.remove()).resolves.toBeUndefined();
  });
});
