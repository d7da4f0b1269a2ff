// Temporary folders of tests, removed after each test file.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';

/** Creates an empty folder. Call it while tests run. */
export async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'purser-test-'));
  folders.push(folder);
  return folder;
}

const folders: string[] = [];

afterAll(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});
