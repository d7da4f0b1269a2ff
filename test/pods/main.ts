// `npm run test:pods`: builds the image and the programs of a node, and runs the tests of this folder on a cluster with one node. Further
// arguments are passed to Jest. The cluster has its own network, without a route to other machines; the build needs a network.

import { spawnSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { helmBinary, kubeBinaries } from '../support/kube-binaries.ts';
import { buildBusybox, buildPurser } from './images.ts';
import { inNamespaces } from './namespaces.ts';
import { ensurePrerequisites } from './prerequisites.ts';
import { createRunFolder, RELEASE, removeAbandonedRuns, removeRun, runAsOwner } from './run-folder.ts';

const REPOSITORY = join(import.meta.dirname, '../..');

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function main(): Promise<number> {
  await ensurePrerequisites();
  await removeAbandonedRuns();
  buildPrograms();
  const folder = await createRunFolder();
  try {
    await buildBusybox(join(folder, 'busybox.tar'));
    await buildPurser(join(folder, 'purser.tar'));
    buildRelease(folder);
    return await runTests(folder);
  } finally {
    await removeRun(folder);
  }
}

function buildPrograms(): void {
  const { status } = spawnSync(process.execPath, [join(REPOSITORY, 'test/real/build.ts'), 'node'], { stdio: 'inherit' });
  if (status !== 0) throw new Error('The programs of a node could not be built.');
}

function buildRelease(folder: string): void {
  const args = [join(REPOSITORY, 'deploy/release.ts'), '--output', join(folder, RELEASE), '--image', join(folder, 'purser.tar')];
  const programs = [kubeBinaries()?.kubectl, helmBinary()].map((path) => dirname(path ?? ''));
  const env = { ...process.env, PATH: [dirname(process.execPath), ...programs, process.env['PATH']].join(':') };
  const { status } = spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'], env });
  if (status !== 0) throw new Error('The release could not be built.');
}

async function runTests(folder: string): Promise<number> {
  const temporary = join(folder, 'tmp');
  await mkdir(temporary);
  const jest = [process.execPath, join(REPOSITORY, 'node_modules/.bin/jest'), '--selectProjects', 'pods', '--config', 'jest.config.mjs'];
  // The programs of the cluster run until the namespaces end.
  const command = inNamespaces([...jest, '--runInBand', '--bail', '--forceExit', ...process.argv.slice(2)]);
  const path = `${dirname(process.execPath)}:${process.env['PATH']}:/usr/sbin:/sbin`;
  const env = { ...process.env, PATH: path, TMPDIR: temporary };
  return await runAsOwner(folder, command, { cwd: REPOSITORY, env });
}
