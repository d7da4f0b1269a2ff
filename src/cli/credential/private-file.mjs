// @ts-check
// Files that only this user can read and write, for the credential cache. Plain JavaScript, like the cache.

import { closeSync, constants, fstatSync, openSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';

/** Maximum length of a file that is read, in bytes. */
const MAX_FILE_BYTES = 1048576;

/**
 * Reads a file. Returns its content, or the reason not to trust the file; neither if the file does not exist.
 * @param {string} path
 * @returns {{ readonly text?: string, readonly problem?: string }}
 */
export function readTrusted(path) {
  let file;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW || 0) | (constants.O_NONBLOCK || 0));
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return {};
    return { problem: code === 'ELOOP' ? 'it is a symbolic link' : code };
  }
  try {
    const stat = fstatSync(file);
    const problem = findProblem(stat, 'file') || (stat.size > MAX_FILE_BYTES ? 'it is too long' : undefined);
    return problem === undefined ? { text: readFileSync(file, 'utf8') } : { problem };
  } finally {
    closeSync(file);
  }
}

/**
 * Replaces a file atomically.
 * @param {string} path
 * @param {string} text
 */
export function replaceFile(path, text) {
  const draft = `${path}.${createUniqueName()}`;
  try {
    writeFileSync(draft, text, { flag: 'wx', mode: 0o600 });
    renameSync(draft, path);
  } finally {
    removeFile(draft);
  }
}

/**
 * Creates a file. Returns false if the file exists.
 * @param {string} path
 * @param {string} text
 */
export function createFile(path, text) {
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Removes a file, if it exists.
 * @param {string} path
 */
export function removeFile(path) {
  try {
    unlinkSync(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

/**
 * Returns the code of a system error, or the text of any other error.
 * @param {unknown} error
 */
export function codeOf(error) {
  const { code } = /** @type {{ code?: unknown }} */ (error);
  return typeof code === 'string' ? code : String(error);
}

/** Returns a part of a file name that no other process uses. */
export function createUniqueName() {
  return `${process.pid}-${Math.random().toString(36).slice(2)}`;
}

/**
 * Returns the reason not to trust a file or folder; undefined if it can be trusted.
 * @param {import('node:fs').Stats} stat
 * @param {'file' | 'folder'} type
 */
export function findProblem(stat, type) {
  if (stat.isSymbolicLink()) return 'it is a symbolic link';
  if (type === 'file' ? !stat.isFile() : !stat.isDirectory()) return `it is not a ${type}`;
  // Files on Windows have neither a uid nor a mode.
  if (typeof process.getuid !== 'function') return undefined;
  if (stat.uid !== process.getuid()) return 'it belongs to another user';
  return (stat.mode & 0o077) === 0 ? undefined : 'other users have access to it';
}

/**
 * Parses a JSON object; returns an empty object for any other string.
 * @param {string} text
 * @returns {Record<string, any>}
 */
export function parseObject(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === 'object' ? value : {};
  } catch {
    return {};
  }
}
