// @ts-check
// The lock of a credential request: only the process that holds the lock sends the request. Plain JavaScript, like the cache.

import { linkSync, lstatSync, readFileSync, renameSync } from 'node:fs';
import { codeOf, createFile, createUniqueName, parseObject, readTrusted, removeFile } from './private-file.mjs';

/**
 * @typedef {object} Owner The process that holds a lock.
 * @property {number} pid
 * @property {string} startedAt Start time of the process in ticks; empty if unknown.
 * @property {string} client The process that runs the plugin; empty if unknown.
 */

/** Age at which a lock is taken over even if its owner is running, in milliseconds. */
export const LOCK_MS = 120000;
/** Age at which an empty lock is taken over, in milliseconds: the process that created it ended before it wrote the owner. */
const EMPTY_LOCK_MS = 5000;

/** The lock of one request. */
export class RequestLock {
  /**
   * @param {string} file
   * @param {(text: string) => void} notify Receives one line for a lock file that is replaced.
   */
  constructor(file, notify) {
    this.file = file;
    this.notify = notify;
  }

  /**
   * Takes the lock, or takes it over from a process that has ended or has held it for too long. Also replaces a lock file that is not
   * trusted; this is safe, because only this user can write to the folder. Returns false while another process holds the lock. Throws if
   * the lock is not a file.
   * @param {Owner} owner
   * @param {number} now
   */
  take(owner, now) {
    if (createFile(this.file, JSON.stringify(owner))) return true;
    const held = this.read();
    if (held === undefined) return this.removeUntrusted() && createFile(this.file, JSON.stringify(owner));
    // The launcher may have taken the lock before it started this process.
    if (held.owner.pid === owner.pid || held.owner.pid === process.ppid) return true;
    // A process creates the lock file before it writes the owner.
    const maxAgeMs = held.text === '' ? EMPTY_LOCK_MS : LOCK_MS;
    if ((held.text === '' || isRunning(held.owner)) && Math.abs(now - held.at) < maxAgeMs) return false;
    return this.takeOver((moved) => readTrusted(moved).text === held.text) && createFile(this.file, JSON.stringify(owner));
  }

  /** Returns the client in the lock that the launcher of this process took; empty if the launcher took no lock. */
  readLauncherClient() {
    const held = this.read();
    return held !== undefined && held.owner.pid === process.ppid ? held.owner.client : '';
  }

  release() {
    removeFile(this.file);
  }

  /**
   * Returns the content of the lock, its owner, and the time of its last change in epoch milliseconds; undefined if the file is missing or
   * not trusted.
   */
  read() {
    const { text } = readTrusted(this.file);
    if (text === undefined) return undefined;
    const { pid, startedAt, client } = parseObject(text);
    const owner = { pid: Number(pid) || 0, startedAt: String(startedAt || ''), client: String(client || '') };
    try {
      return { text, owner, at: lstatSync(this.file).mtimeMs };
    } catch {
      return undefined;
    }
  }

  /** Removes a lock file that is not trusted. Returns false if another process has removed or replaced it. */
  removeUntrusted() {
    const { problem } = readTrusted(this.file);
    if (problem === undefined) return false;
    if (problem === 'it is not a file') throw new Error(`${this.file} is not a file. Remove it`);
    this.notify(`purser: replacing the lock file ${this.file}, which is not trusted: ${problem}\n`);
    return this.takeOver((moved) => readTrusted(moved).problem !== undefined);
  }

  /**
   * Removes the lock if it is the expected one. If several processes try, only one succeeds; in the worst case, two requests are sent.
   * @param {(moved: string) => boolean} isExpected
   */
  takeOver(isExpected) {
    const moved = `${this.file}.${createUniqueName()}`;
    try {
      renameSync(this.file, moved);
      const isSame = isExpected(moved);
      // Restores the lock if another process has replaced it since it was read.
      if (!isSame) linkSync(moved, this.file);
      return isSame;
    } catch {
      return false;
    } finally {
      removeFile(moved);
    }
  }
}

/**
 * Returns an identifier that distinguishes a process from a later one with the same id; empty if its start time is unknown.
 * @param {number} pid
 */
export function identifyProcess(pid) {
  const startedAt = readStartTime(pid);
  return startedAt === '' ? '' : `${pid}:${startedAt}`;
}

/**
 * Returns the start time of a process in ticks since boot; empty if unknown. It distinguishes the process from a later one with the same
 * id.
 * @param {number} pid
 */
export function readStartTime(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program, in parentheses, may contain spaces. The start time is the 22nd field.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] || '';
  } catch {
    return '';
  }
}

/** @param {Owner} owner */
function isRunning({ pid, startedAt }) {
  if (pid === 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
  return startedAt === '' || readStartTime(pid) === startedAt;
}
