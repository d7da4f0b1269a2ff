// Environment for the commands of the documentation: a checkout, two real clusters, and the programs that the commands use.

import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { parse } from 'yaml';
import { type Block, blocksOf, documents, stepsOf } from '../docs/documents.ts';
import { type Ran, runSteps, type Shell } from '../docs/shell.ts';
import { newFolder } from '../support/folders.ts';
import { helmBinary, kubeBinaries } from '../support/kube-binaries.ts';
import type { RealCluster } from '../support/real-cluster.ts';
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
    docs.shell = await createShell(docs.world);
  });
  afterAll(() => docs.world?.stop());
  return docs;
}

/** Creates a shell in a checkout, with the contexts `hub` and `target`. */
async function createShell({ hub, target }: DeployWorld): Promise<Shell> {
  const parent = await newFolder();
  const folder = join(parent, 'purser');
  for (const name of ['purser', 'home', 'bin']) await mkdir(join(parent, name));
  for (const name of ['deploy', 'crds']) await symlink(join(REPOSITORY, name), join(folder, name));
  const kubeconfig = join(parent, 'kubeconfig');
  await writeFile(kubeconfig, JSON.stringify(await mergeKubeconfigs({ hub, target })));
  for (const [name, script] of Object.entries({ docker: DOCKER, purser: PURSER })) {
    await writeFile(join(parent, 'bin', name), script);
    await chmod(join(parent, 'bin', name), 0o755);
  }
  const programs = [join(parent, 'bin'), ...[kubeBinaries()?.kubectl, helmBinary()].map((path) => dirname(path ?? ''))];
  const PATH = [...programs, process.env['PATH']].join(':');
  return { folder, env: { PATH, HOME: join(parent, 'home'), KUBECONFIG: kubeconfig, NODE_OPTIONS: '' } };
}

/** Runs the commands of a block, and returns those that fail, with their output. */
export async function runBlock(block: Block | undefined, shell: Shell): Promise<readonly Ran[]> {
  if (block === undefined) throw new Error('The block was not found in the documentation.');
  const strict = stepsOf(block).map(({ command, shown }) => ({ command: `set -eo pipefail\n${command}`, shown }));
  return (await runSteps(strict, shell)).filter(({ code }) => code !== 0);
}

/** The command that the documentation introduces as `purser`. */
const PURSER = `#!/bin/sh
exec ${process.execPath} ${join(REPOSITORY, 'bin/purser.cjs')} "$@"
`;

/** Stub for docker: `docker run --rm IMAGE …` runs the program of the image. image.test.ts tests the image itself. */
const DOCKER = `#!/bin/sh
[ "$1 $2" = 'run --rm' ] || exit 125
shift 3
exec ${process.execPath} ${join(REPOSITORY, 'src/main.ts')} "$@"
`;

/** Returns one kubeconfig with a context for each cluster. */
async function mergeKubeconfigs(clusters: Readonly<Record<string, RealCluster>>): Promise<object> {
  const entries = await Promise.all(
    Object.entries(clusters).map(async ([name, cluster]) => {
      const config = parse(await readFile(await cluster.kubeconfig('admin'), 'utf8')) as Config;
      return { name, cluster: config.clusters[0].cluster, user: config.users[0].user };
    }),
  );
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: entries.map(({ name, cluster }) => ({ name, cluster })),
    users: entries.map(({ name, user }) => ({ name, user })),
    contexts: entries.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
    'current-context': 'hub',
  };
}

interface Config {
  readonly clusters: readonly [{ readonly cluster: object }];
  readonly users: readonly [{ readonly user: object }];
}
