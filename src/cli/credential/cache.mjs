// @ts-check
// The cache of `purser credential`: the credential of each request, its clients, and the failure of its last request. Plain
// JavaScript, so that the launcher reads the cache with an older Node, too.

import { closeSync, constants, lstatSync, mkdirSync, openSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { LOCK_MS, RequestLock } from './lock.mjs';
import { codeOf, parseObject, problemOf, readTrusted, remove, replaceFile } from './private-file.mjs';

/**
 * @typedef {object} Entry A cached credential. Times are on the clock of this machine, in epoch milliseconds.
 * @property {string} token
 * @property {number} issuedAt Time of the request for the token.
 * @property {number} expiresAt
 * @property {string} request Everything that the request depended on.
 * @property {readonly Input[]} inputs Files that the request depended on.
 */
/**
 * @typedef {object} Input A file and its version.
 * @property {string} path
 * @property {string} version Empty for a file that does not exist.
 */

/** Share of the lifetime for which a credential is returned from the cache. */
const USABLE_SHARE = 0.8;
/** Age of a credential at which a second request of the same client means that the cluster rejected it, in milliseconds. */
const REJECTED_MS = 10000;
/** Length at which the list of clients is started afresh, in bytes. */
const MAX_CLIENTS_BYTES = 262144;

/** Cause and remedy for a relative folder of the cache, which would be one of the current folder. */
export const NO_HOME = 'HOME is not an absolute path; set HOME or XDG_CACHE_HOME';

/**
 * Returns the folder of the cache; a relative path without a home folder, which must not be used.
 * @param {Readonly<Record<string, string | undefined>>} env
 */
export function cacheFolder(env) {
  const base = env['XDG_CACHE_HOME'];
  // The XDG specification ignores relative paths.
  return join(base && isAbsolute(base) ? base : join(env['HOME'] || homedir(), '.cache'), 'purser', 'credentials');
}

/** Credentials of one request. */
export class CachedCredential {
  /**
   * @param {string} folder
   * @param {string} request Everything that the credential depends on.
   * @param {(text: string) => void} warn Receives one line for each file that is not used, again for every object of the same folder.
   * @param {(text: string) => void} notify Receives one line for a lock file that is replaced.
   */
  constructor(folder, request, warn, notify) {
    const key = hashOf(request);
    this.folder = folder;
    this.request = request;
    this.file = join(folder, `${key}.json`);
    this.lock = new RequestLock(join(folder, `${key}.lock`), notify);
    this.failureFile = join(folder, `${key}.failed`);
    this.clientsFile = join(folder, `${key}.clients`);
    this.warn = warn;
    /** @type {Set<string>} */
    this.warned = new Set();
  }

  /** Creates the folder. Returns false if other users could read or replace its files; it is then not used at all. */
  open() {
    if (!isAbsolute(this.folder)) {
      this.warnOnce(`not using a cache: ${NO_HOME}`);
      return false;
    }
    try {
      mkdirSync(this.folder, { recursive: true, mode: 0o700 });
      const problem = problemOf(lstatSync(this.folder), 'folder');
      if (problem === undefined) return true;
      this.warnOnce(`not using the cache ${this.folder}: ${problem}; remove it`);
    } catch (error) {
      this.warnOnce(`not using the cache ${this.folder}: ${codeOf(error)}`);
    }
    return false;
  }

  /**
   * Returns the credential; undefined if there is none to use at this time.
   * @param {number} now
   * @returns {Entry | undefined}
   */
  read(now) {
    const text = this.readPrivate(this.file);
    const entry = text === undefined ? undefined : parseEntry(text);
    if (text !== undefined && entry === undefined) this.warnOnce(`not using ${this.file}: it is damaged; requesting a new credential`);
    if (entry === undefined) return undefined;
    // A clock that was set back gives the credential an unknown age.
    const isFresh = entry.issuedAt <= now && now < entry.issuedAt + USABLE_SHARE * (entry.expiresAt - entry.issuedAt);
    const isSame = entry.request === this.request && entry.inputs.every(({ path, version }) => versionOf(path) === version);
    return isFresh && isSame ? entry : undefined;
  }

  /**
   * Replaces the credential.
   * @param {Omit<Entry, 'request'>} entry
   */
  write(entry) {
    replaceFile(this.file, JSON.stringify(Object.assign({ request: this.request }, entry)));
    remove(this.clientsFile);
    remove(this.failureFile);
  }

  /**
   * Records that a client receives a credential. Returns false if it received the same one before: a client runs the plugin again only
   * after expiry, or after the cluster rejected the credential.
   * @param {string} client Empty if unknown.
   * @param {Pick<Entry, 'issuedAt'>} entry
   * @param {number} now
   */
  recordClient(client, entry, now) {
    if (client === '') return true;
    const line = `${client} ${entry.issuedAt}`;
    const { text: known = '', problem } = readTrusted(this.clientsFile);
    const isRepeated = known.split('\n').indexOf(line) >= 0;
    if (isRepeated) return now - entry.issuedAt < REJECTED_MS;
    if (problem !== undefined) this.warnOnce(`not using ${this.clientsFile}: ${problem}`);
    if (problem !== undefined || known.length > MAX_CLIENTS_BYTES) remove(this.clientsFile);
    const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW } = constants;
    const file = openSync(this.clientsFile, O_APPEND | O_CREAT | O_WRONLY | (O_NOFOLLOW || 0), 0o600);
    try {
      writeFileSync(file, `${line}\n`);
    } finally {
      closeSync(file);
    }
    return true;
  }

  /**
   * Records the failure of a request for the processes that wait for it.
   * @param {string} message
   * @param {number} at
   */
  writeFailure(message, at) {
    replaceFile(this.failureFile, JSON.stringify({ message, at }));
  }

  /**
   * Returns the message of a failure since `startedAt`; undefined without one. A failure after `now` is ignored: the clock was set back.
   * @param {number} startedAt
   * @param {number} now
   * @returns {string | undefined}
   */
  failureSince(startedAt, now) {
    const { message, at } = parseObject(this.readPrivate(this.failureFile) || '');
    return typeof message === 'string' && typeof at === 'number' && at >= startedAt && at <= now ? message : undefined;
  }

  /**
   * Returns the content of a file that only this user can read and write; undefined for any other file, which a warning names.
   * @param {string} path
   */
  readPrivate(path) {
    const { text, problem } = readTrusted(path);
    if (problem !== undefined) this.warnOnce(`not using ${path}: ${problem}`);
    return text;
  }

  /** @param {string} text */
  warnOnce(text) {
    if (this.warned.has(text)) return;
    this.warned.add(text);
    this.warn(`purser: ${text}\n`);
  }
}

/**
 * Removes all files of the cache. Returns the number of credentials among them.
 * @param {string} folder
 */
export function removeAll(folder) {
  const names = listFiles(folder);
  for (const name of names) remove(join(folder, name));
  return names.filter((name) => name.endsWith('.json')).length;
}

/**
 * Removes the files of credentials that have expired, and files that a process left when it was ended.
 * @param {string} folder
 * @param {number} now
 */
export function removeExpired(folder, now) {
  for (const name of listFiles(folder)) {
    const path = join(folder, name);
    const key = name.split('.')[0] || '';
    if (name === `${key}.json` && isExpired(path, now))
      for (const type of ['json', 'clients', 'failed']) remove(join(folder, `${key}.${type}`));
    else if (name.split('.').length > 2 && Math.abs(now - changedAt(path)) > LOCK_MS) remove(path);
  }
}

/**
 * @param {string} path
 * @param {number} now
 */
function isExpired(path, now) {
  const { text } = readTrusted(path);
  if (text === undefined) return false;
  const entry = parseEntry(text);
  return entry === undefined || entry.expiresAt <= now;
}

/**
 * Returns the time of the last change of a file, in epoch milliseconds; 0 if it does not exist.
 * @param {string} path
 */
function changedAt(path) {
  try {
    return lstatSync(path).mtimeMs;
  } catch {
    return 0;
  }
}

/**
 * Returns a string that differs after a change of the file; empty if the file does not exist. Reading the file would take longer.
 * @param {string} path
 */
export function versionOf(path) {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(path);
    return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch {
    return '';
  }
}

/**
 * Returns the name of a request's files. Two requests may have the same name: the file has the request. node:crypto would take longer.
 * @param {string} text
 */
function hashOf(text) {
  let [a, b] = [0x811c9dc5, 0x01000193];
  for (let index = 0; index < text.length; index += 1) {
    a = Math.imul(a ^ text.charCodeAt(index), 0x01000193);
    b = Math.imul(b + text.charCodeAt(index), 0x85ebca6b) ^ (b >>> 13);
  }
  return [a, b].map((part) => (part >>> 0).toString(16).padStart(8, '0')).join('');
}

/** @param {string} folder */
function listFiles(folder) {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [] : [entry.name]));
  } catch {
    return [];
  }
}

/**
 * @param {string} text
 * @returns {Entry | undefined}
 */
function parseEntry(text) {
  const { token, issuedAt, expiresAt, request, inputs } = parseObject(text);
  const isValid =
    typeof token === 'string' &&
    token !== '' &&
    typeof issuedAt === 'number' &&
    typeof expiresAt === 'number' &&
    !Number.isNaN(new Date(expiresAt).getTime()) &&
    typeof request === 'string' &&
    Array.isArray(inputs) &&
    inputs.every((input) => input !== null && typeof input === 'object' && typeof input.path === 'string');
  return isValid ? { token, issuedAt, expiresAt, request, inputs } : undefined;
}
