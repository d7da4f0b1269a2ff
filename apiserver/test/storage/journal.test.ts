import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DataFolderError, openJournal } from '../../storage/journal.ts';

const secret = (name: string) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name } });

describe('openJournal', () => {
  let folder: string;
  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'purser-journal-')), 'hub');
  });
  afterEach(() => rmSync(join(folder, '..'), { recursive: true }));

  it('restores committed objects after a restart', () => {
    const journal = openJournal(folder);
    journal.commit(7, [
      { resource: 'secrets', key: 'a/x', object: secret('x') },
      { resource: 'secrets', key: 'a/y', object: secret('y') },
    ]);
    journal.commit(8, [{ resource: 'secrets', key: 'a/x' }]);
    journal.writeValue('signing-key', 'PEM');
    journal.close();

    const reopened = openJournal(folder);
    expect(reopened.revision).toBe(8);
    expect([...reopened.load()]).toEqual([{ resource: 'secrets', key: 'a/y', object: secret('y') }]);
    expect(reopened.readValue('signing-key')).toBe('PEM');
    reopened.close();
  });

  it('keeps all digits of integers that a double cannot represent', () => {
    const journal = openJournal(folder);
    const object = { ...secret('x'), spec: { limit: 9223372036854775807n, ratio: 0.1, count: 3 } };
    journal.commit(2, [{ resource: 'secrets', key: 'a/x', object }]);
    journal.close();
    const reopened = openJournal(folder);
    expect([...reopened.load()][0]?.object).toEqual(object);
    reopened.close();
  });

  it('creates files that only their owner can read', () => {
    openJournal(folder).close();
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, 'state.db')).mode & 0o777).toBe(0o600);
  });

  it('locks the folder for one process', () => {
    const journal = openJournal(folder);
    expect(() => openJournal(folder)).toThrow(/state\.db is in use by another process/);
    journal.close();
    openJournal(folder).close();
  });

  it('rejects a folder that belongs to another program, and does not change it', () => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'thesis.txt'), 'years of work');
    expect(() => openJournal(folder)).toThrow(/is not a data folder of Purser \(it contains thesis\.txt\)/);
    expect(readFileSync(join(folder, 'thesis.txt'), 'utf8')).toBe('years of work');
  });

  it.each([
    ['text', Buffer.from('not a database, but long enough to have a header of one hundred bytes: '.repeat(2))],
    ['nothing', Buffer.alloc(0)],
  ])('rejects a state file with %s as content, and does not change it', (_, content) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'state.db'), content);
    expect(() => openJournal(folder)).toThrow(DataFolderError);
    expect(readFileSync(join(folder, 'state.db'))).toEqual(content);
  });

  it('rejects a damaged file, and does not change it', () => {
    const journal = openJournal(folder);
    for (let revision = 2; revision < 200; revision++) {
      journal.commit(revision, [{ resource: 'secrets', key: `a/${revision}`, object: secret('x'.repeat(500)) }]);
    }
    journal.close();
    const file = join(folder, 'state.db');
    const damaged = readFileSync(file);
    damaged.fill(0xff, 5000, 30_000);
    writeFileSync(file, damaged);
    expect(() => openJournal(folder)).toThrow(/is damaged: .+\. Purser has not changed the file\. Choose another data folder$/);
    expect(readFileSync(file).equals(damaged)).toBe(true);
  });

  it.each(['state.db', 'state.db.draft'])('reports a directory in place of %s', (name) => {
    mkdirSync(join(folder, name), { recursive: true });
    const use = () => openJournal(folder);
    expect(use).toThrow(DataFolderError);
    expect(use).toThrow(/cannot use .*state\.db: .*directory/);
  });

  it('reports why a folder cannot be created', () => {
    writeFileSync(join(folder, '..', 'file'), '');
    expect(() => openJournal(join(folder, '..', 'file', 'hub'))).toThrow(/cannot use .* as a data folder: ENOTDIR/);
  });
});
