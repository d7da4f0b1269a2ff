// @ts-check
// The cache of `purser credential`: for each request, the credential, the clients that received it, and the last failure. Plain JavaScript,
// so that the launcher can also read the cache with an older Node.js.

import { closeSync, constants, lstatSync, mkdirSync, openSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { LOCK_MS, RequestLock } from './lock.mjs';
import { codeOf, findProblem, parseObject, readTrusted, removeFile, replaceFile } from './private-file.mjs';

/**
 * @typedef {object} Entry A cached credential. Times are on the clock of this machine, in epoch milliseconds.
 * @property {string} token
 * @property {number} issuedAt Time of the request for the token.
 * @property {number} expiresAt
 * @property {string} request Cluster, service account and options of the request, as JSON.
 * @property {readonly Input[]} inputs Files that the request depended on, such as the kubeconfig.
 */
/**
 * @typedef {object} Input A file and its version.
 * @property {string} path
 * @property {string} version Empty for a file that does not exist.
 */

/** Share of the lifetime for which a credential is returned from the cache. */
const USABLE_SHARE = 0.8;
/**
 * Minimum age of a credential, in milliseconds, at which a repeated request from a client means that the cluster rejected the credential.
 */
const MIN_REJECTED_AGE_MS = 10000;
/** Maximum length of the list of clients, in bytes; a longer list is replaced with a new one. */
const MAX_CLIENTS_BYTES = 262144;

/** Cause and remedy if the path of the cache is relative: the cache must not depend on the current folder. */
export const NO_HOME = 'HOME is not an absolute path. Set HOME or XDG_CACHE_HOME';

/**
 * Returns the path of the cache. The path is relative if neither XDG_CACHE_HOME nor HOME is absolute; callers must not use a relative path.
 * @param {Readonly<Record<string, string | undefined>>} env
 */
export function resolveCacheFolder(env) {
  const base = env['XDG_CACHE_HOME'];
  // The XDG specification requires programs to ignore relative paths.
  return join(base && isAbsolute(base) ? base : join(env['HOME'] || homedir(), '.cache'), 'purser', 'credentials');
}

/** The cached credential of one request, with its lock, its clients and the last failure. */
export class CachedCredential {
  /**
   * @param {string} folder
   * @param {string} request Cluster, service account and options of the request, as JSON.
   * @param {(text: string) => void} warn Receives one line for each file that is not used, once per CachedCredential.
   * @param {(text: string) => void} notify Receives one line for a lock file that is replaced.
   */
  constructor(folder, request, warn, notify) {
    const key = hashText(request);
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

  /** Creates the folder. Returns false, with a warning, if the folder cannot be used or other users could read or replace its files. */
  open() {
    if (!isAbsolute(this.folder)) {
      this.warnOnce(`not using a cache: ${NO_HOME}`);
      return false;
    }
    try {
      mkdirSync(this.folder, { recursive: true, mode: 0o700 });
      const problem = findProblem(lstatSync(this.folder), 'folder');
      if (problem === undefined) return true;
      this.warnOnce(`not using the cache ${this.folder}: ${problem}. Remove it`);
    } catch (error) {
      this.warnOnce(`not using the cache ${this.folder}: ${codeOf(error)}. Check the path and its permissions`);
    }
    return false;
  }

  /**
   * Returns the cached credential; undefined if there is none, if 80% of its lifetime has passed, if the clock was set back, or if a
   * file that the credential depends on has changed.
   * @param {number} now
   * @returns {Entry | undefined}
   */
  read(now) {
    const text = this.readPrivate(this.file);
    const entry = text === undefined ? undefined : parseEntry(text);
    if (text !== undefined && entry === undefined) this.warnOnce(`not using ${this.file}: it is damaged; requesting a new credential`);
    if (entry === undefined) return undefined;
    // A credential from the future means that the clock was set back: its age is unknown, so it is not used.
    const isFresh = entry.issuedAt <= now && now < entry.issuedAt + USABLE_SHARE * (entry.expiresAt - entry.issuedAt);
    const isSame = entry.request === this.request && entry.inputs.every(({ path, version }) => readFileVersion(path) === version);
    return isFresh && isSame ? entry : undefined;
  }

  /**
   * Replaces the credential, and removes the clients of the earlier credential and the last failure.
   * @param {Omit<Entry, 'request'>} entry
   */
  write(entry) {
    replaceFile(this.file, JSON.stringify(Object.assign({ request: this.request }, entry)));
    removeFile(this.clientsFile);
    removeFile(this.failureFile);
  }

  /**
   * Records that a client receives a credential. Returns false if the cluster probably rejected the credential: a client that received it
   * before runs the plugin again only after expiry or after a rejection.
   * @param {string} client Empty if unknown.
   * @param {Pick<Entry, 'issuedAt'>} entry
   * @param {number} now
   */
  recordClient(client, entry, now) {
    if (client === '') return true;
    const line = `${client} ${entry.issuedAt}`;
    const { text: known = '', problem } = readTrusted(this.clientsFile);
    const isRepeated = known.split('\n').indexOf(line) >= 0;
    if (isRepeated) return now - entry.issuedAt < MIN_REJECTED_AGE_MS;
    if (problem !== undefined) this.warnOnce(`not using ${this.clientsFile}: ${problem}`);
    if (problem !== undefined || known.length > MAX_CLIENTS_BYTES) removeFile(this.clientsFile);
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
   * Records the failure of a request, so that processes that wait for the request fail with the same message.
   * @param {string} message
   * @param {number} at
   */
  writeFailure(message, at) {
    replaceFile(this.failureFile, JSON.stringify({ message, at }));
  }

  /**
   * Returns the message of a failure since `startedAt`; undefined if there is none. Ignores a failure after `now`: the clock was set back.
   * @param {number} startedAt
   * @param {number} now
   * @returns {string | undefined}
   */
  readFailure(startedAt, now) {
    const { message, at } = parseObject(this.readPrivate(this.failureFile) || '');
    return typeof message === 'string' && typeof at === 'number' && at >= startedAt && at <= now ? message : undefined;
  }

  /**
   * Returns the content of a file; undefined if the file does not exist or, with a warning, if other users could read or replace it.
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
 * Removes all files of the cache. Returns the number of removed credentials.
 * @param {string} folder
 */
export function removeAll(folder) {
  const names = listFiles(folder);
  for (const name of names) removeFile(join(folder, name));
  return names.filter((name) => name.endsWith('.json')).length;
}

/**
 * Removes the files of expired and damaged credentials, and temporary files of processes that ended early.
 * @param {string} folder
 * @param {number} now
 */
export function removeExpired(folder, now) {
  for (const name of listFiles(folder)) {
    const path = join(folder, name);
    const key = name.split('.')[0] || '';
    if (name === `${key}.json` && isExpired(path, now))
      for (const type of ['json', 'clients', 'failed']) removeFile(join(folder, `${key}.${type}`));
    else if (name.split('.').length > 2 && Math.abs(now - readChangeTime(path)) > LOCK_MS) removeFile(path);
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
function readChangeTime(path) {
  try {
    return lstatSync(path).mtimeMs;
  } catch {
    return 0;
  }
}

/**
 * Returns a string that changes with the file; empty if the file does not exist. Uses only metadata, because reading the file takes longer.
 * @param {string} path
 */
export function readFileVersion(path) {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(path);
    return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch {
    return '';
  }
}

/**
 * Returns the base name of a request's files. Two requests can have the same base name, so the file of the credential also contains the
 * request. Does not use node:crypto, which takes time to load.
 * @param {string} text
 */
function hashText(text) {
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
