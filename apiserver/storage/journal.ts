// The journal: one SQLite file in a private folder. Only one process at a time can open the file.
// The server reads the journal at startup and serves requests from memory.

import { chmodSync, closeSync, mkdirSync, openSync, readdirSync, readSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { encodeGoJson } from '../../src/std/go-text.ts';

/** Error for an unusable data folder, with a message for the user. */
export class DataFolderError extends Error {
  override readonly name = 'DataFolderError';
}

/** A write of an object, or its removal if `object` is absent. */
export interface JournalEntry {
  readonly resource: string;
  readonly key: string;
  readonly object?: KubeObject;
}

export interface Journal {
  /** Revision of the last commit before the journal was opened. */
  readonly revision: number;
  /** Returns all stored objects. The server reads them at startup. */
  load(): Iterable<Required<JournalEntry>>;
  /** Writes all entries and the revision to disk in one transaction. Returns the total length of their JSON, in characters. */
  commit(revision: number, entries: readonly JournalEntry[]): number;
  /** Returns a value stored in the folder, such as the signing key; undefined for an unknown name. */
  readValue(name: string): string | undefined;
  /** Stores a value in the folder and returns the value. */
  writeValue(name: string, value: string): string;
  close(): void;
}

const FILE = 'state.db';
/** SQLite application id of Purser's files ("PRSR"). */
const APPLICATION_ID = 0x50525352;
const FORMAT = 1;
/** Suffix of an incomplete file. */
const DRAFT = '.draft';

/** Opens or creates the journal of a folder. Throws a DataFolderError for an unusable folder; does not change folders of other programs. */
export function openJournal(folder: string): Journal {
  const file = join(folder, FILE);
  const isPresent = prepareFolder(folder);
  try {
    if (isPresent) inspect(file);
    else create(file);
    return open(file);
  } catch (error) {
    throw error instanceof DataFolderError ? error : toDataFolderError(file, error);
  }
}

/** Creates the file under a temporary name, so that an incomplete file never has the final name. */
function create(file: string): void {
  const draft = `${file}${DRAFT}`;
  rmSync(draft, { force: true });
  const database = new DatabaseSync(draft);
  database.exec(`
    PRAGMA application_id = ${APPLICATION_ID};
    PRAGMA user_version = ${FORMAT};
    CREATE TABLE objects (resource TEXT, key TEXT, body TEXT NOT NULL, PRIMARY KEY (resource, key)) WITHOUT ROWID;
    CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    INSERT INTO facts VALUES ('revision', '1');
  `);
  database.close();
  chmodSync(draft, 0o600);
  renameSync(draft, file);
}

function createJournal(database: DatabaseSync): Journal {
  const put = database.prepare('INSERT INTO objects VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body');
  const remove = database.prepare('DELETE FROM objects WHERE resource = ? AND key = ?');
  const setFact = database.prepare('INSERT INTO facts VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value');
  const fact = database.prepare('SELECT value FROM facts WHERE name = ?');
  const all = database.prepare('SELECT resource, key, body FROM objects');
  return {
    revision: Number(readFact(fact, 'revision')),
    *load() {
      for (const row of all.iterate())
        yield { resource: toText(row['resource']), key: toText(row['key']), object: parseStored(toText(row['body'])) };
    },
    commit(revision, entries) {
      let length = 0;
      database.exec('BEGIN IMMEDIATE');
      try {
        for (const { resource, key, object } of entries) {
          const body = object === undefined ? undefined : encodeGoJson(object);
          if (body === undefined) remove.run(resource, key);
          else put.run(resource, key, body);
          length += body?.length ?? 0;
        }
        setFact.run('revision', String(revision));
        database.exec('COMMIT');
        return length;
      } catch (error) {
        if (database.isTransaction) database.exec('ROLLBACK');
        throw error;
      }
    },
    readValue: (name) => readFact(fact, name),
    writeValue(name, value) {
      setFact.run(name, value);
      return value;
    },
    close: () => database.close(),
  };
}

/** Creates a missing folder; returns true if the folder contains a journal. */
function prepareFolder(folder: string): boolean {
  let entries: readonly string[];
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    entries = readdirSync(folder);
    if (entries.length === 0) chmodSync(folder, 0o700);
  } catch (error) {
    throw new DataFolderError(`cannot use ${folder} as a data folder: ${messageOf(error)}. Choose another folder`, { cause: error });
  }
  if (entries.includes(FILE)) return true;
  const foreign = entries.find((name) => !name.startsWith(`${FILE}${DRAFT}`));
  if (foreign === undefined) return false;
  throw new DataFolderError(`${folder} is not a data folder of Purser (it contains ${foreign}). Choose another folder`);
}

/** Checks an existing file without writing to it. */
function inspect(file: string): void {
  const header = Buffer.alloc(100);
  const descriptor = openSync(file, 'r');
  try {
    readSync(descriptor, header, 0, header.length, 0);
  } finally {
    closeSync(descriptor);
  }
  const isOurs = header.toString('latin1', 0, 15) === 'SQLite format 3' && header.readUInt32BE(68) === APPLICATION_ID;
  if (!isOurs) throw new DataFolderError(`${file} was not written by Purser. Choose another data folder`);
  const format = header.readUInt32BE(60);
  if (format !== FORMAT)
    throw new DataFolderError(
      `${file} has format ${format}, but this version of Purser reads format ${FORMAT}. Choose another data folder`,
    );
  const reader = new DatabaseSync(file, { readOnly: true });
  try {
    const verdict = reader.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
    if (verdict !== 'ok') throw damaged(file, String(verdict).replace(/^\*{3} .* \*{3}\n/, ''));
  } catch (error) {
    // A reader needs disk space for shared memory; the exclusive connection needs none.
    if (!isLackOfSpace(error)) throw error;
  } finally {
    reader.close();
  }
}

/** SQLite's primary error codes that a full disk can cause: SQLITE_IOERR, SQLITE_FULL and SQLITE_CANTOPEN. */
const LACK_OF_SPACE: ReadonlySet<number> = new Set([10, 13, 14]);

function isLackOfSpace(error: unknown): boolean {
  const { errcode = 0 } = error as Error & { readonly errcode?: number };
  return LACK_OF_SPACE.has(errcode & 0xff);
}

function open(file: string): Journal {
  const database = new DatabaseSync(file);
  try {
    // The exclusive lock ends with the process, even after a crash.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; BEGIN EXCLUSIVE; COMMIT;');
    return createJournal(database);
  } catch (error) {
    database.close();
    throw error;
  }
}

/** SQLite's error codes for a damaged file: SQLITE_CORRUPT and SQLITE_NOTADB. */
const DAMAGE: ReadonlySet<unknown> = new Set([11, 26]);

function toDataFolderError(file: string, error: unknown): DataFolderError {
  const message = messageOf(error);
  if (message.includes('locked'))
    return new DataFolderError(`${file} is in use by another process. Stop that process, or choose another data folder`, { cause: error });
  const { errcode } = error as Error & { readonly errcode?: number };
  if (DAMAGE.has((errcode ?? 0) & 0xff)) return damaged(file, message, error);
  return new DataFolderError(`cannot use ${file}: ${message}. Choose another data folder`, { cause: error });
}

function damaged(file: string, reason: string, cause?: unknown): DataFolderError {
  return new DataFolderError(`${file} is damaged: ${reason}. Purser has not changed the file. Choose another data folder`, { cause });
}

/** Parses a stored object; integers that a number cannot represent exactly become bigints. */
function parseStored(body: string): KubeObject {
  return JSON.parse(body, /\d{16}/.test(body) ? reviveBigInteger : undefined) as KubeObject;
}

function reviveBigInteger(_key: string, value: unknown, { source = '' }: { source?: string } = {}): unknown {
  return typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value;
}

function readFact(fact: StatementSync, name: string): string | undefined {
  const value = fact.get(name)?.['value'];
  return value === undefined ? undefined : toText(value);
}

function toText(value: SQLOutputValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function messageOf(error: unknown): string {
  return (error as Error).message;
}
