// The ready file, which contains Purser's addresses. Purser writes the file when all components run, and removes the file at shutdown.

import { constants } from 'node:fs';
import { access, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { StartError } from '../config/start-error.ts';
import { writePrivateFile } from '../std/private-file.ts';

export interface ReadyFile {
  write(content: unknown): Promise<void>;
  remove(): Promise<void>;
}

/**
 * Removes the ready file of an earlier run, and returns a ReadyFile for this run. If `path` is undefined, the ReadyFile does nothing.
 * Throws a StartError if the earlier file cannot be removed, or if the folder is not writable.
 */
export async function prepareReadyFile(path: string | undefined): Promise<ReadyFile> {
  if (path === undefined) return { write: async () => {}, remove: async () => {} };
  try {
    await rm(path, { force: true });
    await access(dirname(path), constants.W_OK);
  } catch (cause) {
    throw new StartError(`cannot write ${path} (${(cause as Error).message}). Choose another --ready-file`, { cause });
  }
  let isWritten = false;
  return {
    write: async (content) => {
      await writePrivateFile(path, `${JSON.stringify(content, null, 2)}\n`);
      isWritten = true;
    },
    remove: async () => {
      if (isWritten) await rm(path, { force: true });
    },
  };
}
