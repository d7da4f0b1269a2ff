// Environment for the commands of the documentation: a checkout, two real clusters, and the programs that the commands use.

import { execFileSync } from 'node:child_process';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { renderInstallManifests } from '../../deploy/release.ts';
import { type Block, blocksOf, documents, stepsOf } from '../docs/documents.ts';
import { type Ran, runSteps, type Shell } from '../docs/shell.ts';
import { newFolder } from '../support/folders.ts';
import { helmBinary, kubeBinaries } from '../support/kube-binaries.ts';
import { mergeKubeconfigs } from '../support/merge-kubeconfigs.ts';
import { DeployWorld } from './deploy-world.ts';

const REPOSITORY = join(import.meta.dirname, '../..');

/** Returns the blocks for a test, in order. */
export function blocksIn(place: string): readonly Block[] {
  return documents()
    .flatMap(blocksOf)
    .filter((block) => block.place === place);
}

/** Starts two clusters without Purser, and a shell, for the tests of a file. */
export function startDocsWorld(): { readonly world: DeployWorld; readonly shell: Shell } {
  const docs = {} as { world: DeployWorld; shell: Shell };
  beforeAll(async () => {
    docs.world = await DeployWorld.startEmpty();
    const { hub, target } = docs.world;
    // The clusters are on this machine.
    docs.shell = await createShell(await mergeKubeconfigs({ hub, target }), '--allow-loopback');
  });
  afterAll(() => docs.world?.stop());
  return docs;
}

/** Creates a shell in a checkout that is also the folder of a release, with a kubeconfig and these additional options of `purser cluster add`. */
export async function createShell(config: object, ...options: readonly string[]): Promise<Shell> {
  const parent = await newFolder();
  const folder = join(parent, 'purser');
  for (const name of ['purser', 'home', 'bin']) await mkdir(join(parent, name));
  for (const name of ['deploy', 'crds']) await symlink(join(REPOSITORY, name), join(folder, name));
  await writeFile(join(folder, 'install.yaml'), renderInstallManifests(renderText));
  const kubeconfig = join(parent, 'kubeconfig');
  await writeFile(kubeconfig, JSON.stringify(config));
  await writeFile(join(parent, 'bin', 'purser'), purserScript(options));
  await chmod(join(parent, 'bin', 'purser'), 0o755);
  const programs = [join(parent, 'bin'), ...[kubeBinaries()?.kubectl, helmBinary()].map((path) => dirname(path ?? ''))];
  const PATH = [...programs, process.env['PATH']].join(':');
  return { folder, env: { PATH, HOME: join(parent, 'home'), KUBECONFIG: kubeconfig, NODE_OPTIONS: '' } };
}

function renderText(path: string): string {
  return execFileSync(kubeBinaries()?.kubectl ?? 'kubectl', ['kustomize', join(REPOSITORY, 'deploy', path)], { encoding: 'utf8' });
}

/** Runs the commands of a block, and returns those that fail, with their output. */
export async function runBlock(block: Block | undefined, shell: Shell): Promise<readonly Ran[]> {
  if (block === undefined) throw new Error('The block was not found in the documentation.');
  const strict = stepsOf(block).map(({ command, shown }) => ({ command: `set -eo pipefail\n${command}`, shown }));
  return (await runSteps(strict, shell)).filter(({ code }) => code !== 0);
}

/** Returns the command that the documentation introduces as `purser`. */
function purserScript(options: readonly string[]): string {
  return `#!/bin/sh
[ "$1 $2" = 'cluster add' ] && set -- "$@" ${options.join(' ')}
exec ${process.execPath} ${join(REPOSITORY, 'bin/purser.cjs')} "$@"
`;
}
