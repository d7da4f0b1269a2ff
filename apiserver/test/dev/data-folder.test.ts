import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { StartError } from '../../../src/config/start-error.ts';
import { newFolder } from '../../../test/support/folders.ts';
import { openDataFolder } from '../../dev/data-folder.ts';

const state = { tokens: { hub: { admin: 'opaque' } }, ports: { 'target-1': 1234 }, sampled: ['hub'] };

describe('openDataFolder', () => {
  it('creates a private folder with its parents', async () => {
    const path = join(await newFolder(), 'some', 'where');
    const folder = await openDataFolder(path);

    expect(folder).toMatchObject({ path, isNew: true, state: { tokens: {}, ports: {}, sampled: [] } });
    expect((await stat(path)).mode & 0o777).toBe(0o700);
    expect(await readdir(path)).toEqual([]);
  });

  it('makes an existing empty folder private', async () => {
    const path = await newFolder();
    await mkdir(join(path, 'open'), { mode: 0o755 });
    await openDataFolder(join(path, 'open'));

    expect((await stat(join(path, 'open'))).mode & 0o777).toBe(0o700);
  });

  it('restores the saved state', async () => {
    const path = await newFolder();
    const first = await openDataFolder(path);
    await first.saveState(state);
    await first.saveState({ ports: { 'target-1': 5678 } });
    const second = await openDataFolder(path);

    expect(second.isNew).toBe(false);
    expect(second.state).toEqual({ ...state, ports: { 'target-1': 5678 } });
    expect((await stat(join(path, 'purser.json'))).mode & 0o777).toBe(0o600);
  });

  it('does not write unchanged state', async () => {
    const path = await newFolder();
    await (await openDataFolder(path)).saveState(state);
    const before = await stat(join(path, 'purser.json'));
    await (await openDataFolder(path)).saveState({ ports: { ...state.ports } });

    expect((await stat(join(path, 'purser.json'))).ino).toBe(before.ino);
  });

  it('opens a folder after an interrupted write', async () => {
    const path = await newFolder();
    await writeFile(join(path, 'purser.json.0a1b2c.draft'), '{');

    await expect(openDataFolder(path)).resolves.toMatchObject({ isNew: true });
  });

  it('rejects a folder that belongs to another program, and does not change it', async () => {
    const path = await newFolder();
    await writeFile(join(path, 'thesis.txt'), 'years of work');
    const before = await stat(path);

    await expect(openDataFolder(path)).rejects.toThrow(
      new StartError(`${path} is not a data folder of Purser (it contains thesis.txt). Choose another --data-dir`),
    );
    expect(await readdir(path)).toEqual(['thesis.txt']);
    expect(await stat(path)).toMatchObject({ mode: before.mode, mtimeMs: before.mtimeMs });
  });

  it.each([
    ['with state that is not JSON', '{'],
    ['with state that is not an object', '[]'],
    ['with state without tokens', '{"format":1,"ports":{},"sampled":[]}'],
    ['with a token that is not a string', '{"format":1,"tokens":{"hub":{"admin":7}},"ports":{},"sampled":[]}'],
    ['with a port that is not a number', '{"format":1,"tokens":{},"ports":{"target-1":"x"},"sampled":[]}'],
    ['of a later format', '{"format":2,"everything":"different"}'],
  ])('rejects a folder %s, and does not change it', async (_name, text) => {
    const path = await newFolder();
    await writeFile(join(path, 'purser.json'), text);

    await expect(openDataFolder(path)).rejects.toThrow(/purser\.json (is damaged|has format 2).+\. Choose another --data-dir$/);
    expect(await readFile(join(path, 'purser.json'), 'utf8')).toBe(text);
  });

  it.each([
    ['is a file', async () => join(await newFolder(), 'file')],
    ['is below a file', async () => join(await newFolder(), 'file', 'below', 'it')],
  ])('rejects a folder that %s', async (_name, place) => {
    const path = await place();
    await writeFile(path.replace(/file.*/, 'file'), '');

    await expect(openDataFolder(path)).rejects.toThrow(/^cannot use .+\. Choose another --data-dir$/);
  });
});
