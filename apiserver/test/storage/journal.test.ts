import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DataFolderError, openJournal } from '../../storage/journal.ts';

const secret = (name: string) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name } });

describe('the journal of a data folder', () => {
  let folder: string;
  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'purser-journal-')), 'hub');
  });
  afterEach(() => rmSync(join(folder, '..'), { recursive: true }));

  it('gives back after a restart what was committed', () => {
    const journal = openJournal(folder);
    journal.commit(7, [
      { resource: 'secrets', key: 'a/x', object: secret('x') },
      { resource: 'secrets', key: 'a/y', object: secret('y') },
    ]);
    journal.commit(8, [{ resource: 'secrets', key: 'a/x' }]);
    journal.keep('signing-key', 'PEM');
    journal.close();

    const reopened = openJournal(folder);
    expect(reopened.revision).toBe(8);
    expect([...reopened.load()]).toEqual([{ resource: 'secrets', key: 'a/y', object: secret('y') }]);
    expect(reopened.kept('signing-key')).toBe('PEM');
    reopened.close();
  });

  it('keeps integers that a double cannot hold', () => {
    const journal = openJournal(folder);
    const object = { ...secret('x'), spec: { limit: 9223372036854775807n, ratio: 0.1, count: 3 } };
    journal.commit(2, [{ resource: 'secrets', key: 'a/x', object }]);
    journal.close();
    const reopened = openJournal(folder);
    expect([...reopened.load()][0]?.object).toEqual(object);
    reopened.close();
  });

  it('is readable for its owner alone', () => {
    openJournal(folder).close();
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, 'state.db')).mode & 0o777).toBe(0o600);
  });

  it('belongs to one server at a time', () => {
    const journal = openJournal(folder);
    expect(() => openJournal(folder)).toThrow(/state\.db is in use by another process/);
    journal.close();
    openJournal(folder).close();
  });

  it('leaves a folder of somebody else untouched', () => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'thesis.txt'), 'years of work');
    expect(() => openJournal(folder)).toThrow(/is not a data folder of Purser \(it holds thesis\.txt\)/);
    expect(readFileSync(join(folder, 'thesis.txt'), 'utf8')).toBe('years of work');
  });

  it.each([
    ['text', Buffer.from('not a database, but long enough to have a header of one hundred bytes: '.repeat(2))],
    ['nothing', Buffer.alloc(0)],
  ])('leaves a state file that holds %s untouched', (_, content) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'state.db'), content);
    expect(() => openJournal(folder)).toThrow(DataFolderError);
    expect(readFileSync(join(folder, 'state.db'))).toEqual(content);
  });

  it('leaves a damaged file as it is and says so', () => {
    const journal = openJournal(folder);
    for (let revision = 2; revision < 200; revision++) {
      journal.commit(revision, [{ resource: 'secrets', key: `a/${revision}`, object: secret('x'.repeat(500)) }]);
    }
    journal.close();
    const file = join(folder, 'state.db');
    const damaged = readFileSync(file);
    damaged.fill(0xff, 5000, 30_000);
    writeFileSync(file, damaged);
    expect(() => openJournal(folder)).toThrow(/is damaged and was left as it is/);
    expect(readFileSync(file).equals(damaged)).toBe(true);
  });

  it.each(['state.db', 'state.db.draft'])('says why %s cannot be used', (name) => {
    mkdirSync(join(folder, name), { recursive: true });
    const use = () => openJournal(folder);
    expect(use).toThrow(DataFolderError);
    expect(use).toThrow(/cannot use .*state\.db: .*directory/);
  });

  it('says why a folder cannot be made', () => {
    writeFileSync(join(folder, '..', 'file'), '');
    expect(() => openJournal(join(folder, '..', 'file', 'hub'))).toThrow(/cannot use .* as a data folder: ENOTDIR/);
  });
});
