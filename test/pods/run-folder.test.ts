import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from '@jest/globals';
import { newFolder } from '../support/folders.ts';
import { hierarchies } from './node.ts';
import { removeAbandonedRuns } from './run-folder.ts';

const SCRIPT = join(import.meta.dirname, '../support/pods-run-process.ts');

it('removes processes, control groups and the folder of a run that was killed, and nothing of a run that continues', async () => {
  const parent = await newFolder();
  const child = spawn(process.execPath, [SCRIPT, parent], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const { value: printed } = (await child.stdout[Symbol.asyncIterator]().next()) as { readonly value: Buffer | undefined };
    const folder = String(printed).trim();
    const paths = [folder, ...(await hierarchies()).map((path) => join(path, basename(folder)))];
    await removeAbandonedRuns(parent);
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);

    child.kill('SIGKILL');
    await once(child, 'exit');
    // The kernel removes a control group only when its processes have ended.
    await removeAbandonedRuns(parent);
    expect(paths.filter((path) => existsSync(path))).toEqual([]);
  } finally {
    child.kill('SIGKILL');
  }
});
