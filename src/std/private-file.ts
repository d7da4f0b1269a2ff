// Files that only their owner may read, and that readers find whole or not at all.

import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';

/** Puts a file in place in one step; it survives a power failure once this resolves. */
export async function writePrivate(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}${DRAFT}`;
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Whether a file name is that of a file that was never finished. */
export function isDraft(name: string): boolean {
  return name.endsWith(DRAFT);
}

const DRAFT = '.draft';
