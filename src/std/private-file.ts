// Private files that are written atomically.

import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Writes a file atomically. Only its owner can read it. The file survives a power failure once the promise resolves. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}${DRAFT}`;
  try {
    await using file = await open(draft, 'wx', 0o600);
    await file.writeFile(text);
    await file.sync();
    await rename(draft, path);
    await using folder = await open(dirname(path));
    await folder.sync();
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Returns whether a file name belongs to an unfinished write. */
export function isDraft(name: string): boolean {
  return name.endsWith(DRAFT);
}

const DRAFT = '.draft';
