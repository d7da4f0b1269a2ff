// The npm package: packed, installed in an empty folder on several releases of Node.js, and used there.

import { cp, readdir, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { newFolder } from '../support/folders.ts';
import { kubeBinaries } from '../support/kube-binaries.ts';
import { nodeFolder } from '../support/node-releases.ts';
import { startProgram } from '../support/processes.ts';
import { readText } from '../support/repository.ts';
import { run } from '../support/run.ts';
import { waitUntil } from './deploy-world.ts';

jest.setTimeout(600_000);

const REPOSITORY = join(import.meta.dirname, '../..');
const SOURCES = ['apiserver', 'bin', 'crds', 'deploy', 'src', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'README.md'];
const { version } = JSON.parse(readText('package.json')) as { readonly version: string };
let tarball: string;

beforeAll(async () => {
  // A copy, because prepack writes compiled files.
  const checkout = await newFolder();
  for (const name of SOURCES) await cp(join(REPOSITORY, name), join(checkout, name), { recursive: true });
  await symlink(join(REPOSITORY, 'node_modules'), join(checkout, 'node_modules'));
  const { code, stderr } = await run('npm', ['pack', checkout, '--pack-destination', checkout], { NODE_OPTIONS: '' });
  expect([code, stderr]).toEqual([0, expect.anything()]);
  tarball = join(checkout, `purser-${version}.tgz`);
});

describe('npm pack', () => {
  it('packs compiled files and manifests, and no sources or tests', async () => {
    const { output } = await run('tar', ['-tzf', tarball]);
    const paths = output.trim().split('\n');
    const folders = new Set(paths.map((path) => path.split('/')[1]));
    expect(folders).toEqual(new Set(['README.md', 'bin', 'crds', 'deploy', 'dist', 'package.json']));
    expect(paths.filter((path) => /\.ts$|\.map$|\/test\/|\/generate\./.test(path))).toEqual([]);
    expect(paths).toEqual(
      expect.arrayContaining(['package/dist/src/main.js', 'package/dist/apiserver/dev/purser.js', 'package/deploy/target/access.yaml']),
    );
  });

  it('packs launchers that are executable', async () => {
    const { output } = await run('tar', ['-tvzf', tarball]);
    const launchers = output.split('\n').filter((line) => /package\/bin\/\S*purser\.cjs/.test(line));
    expect(launchers).toHaveLength(2);
    expect(launchers.filter((line) => !line.startsWith('-rwxr-xr-x'))).toEqual([]);
  });
});

/** Returns the variables that select the files of a user. */
function filesIn(folder: string): Readonly<Record<string, string>> {
  return { KUBECONFIG: join(folder, '.purser/kubeconfig'), XDG_CACHE_HOME: join(folder, 'cache') };
}

describe.each([20, 22, 24])('package on Node.js %i', (major) => {
  let folder: string;
  let env: Readonly<Record<string, string>>;
  const purser = (...args: readonly string[]) => run(join(folder, 'node_modules/.bin/purser'), args, env);

  beforeAll(async () => {
    folder = await newFolder();
    const programs = [await nodeFolder(major), join(folder, 'node_modules/.bin'), dirname(kubeBinaries()?.kubectl ?? '')];
    env = { PATH: [...programs, process.env['PATH']].join(':'), NODE_OPTIONS: '', ...filesIn(folder) };
    const options = ['--prefix', folder, '--no-audit', '--no-fund', '--prefer-offline'];
    const { code, stderr } = await run('npm', ['install', ...options, tarball], env);
    expect([code, stderr]).toEqual([0, expect.anything()]);
  });

  // The packages of all releases together would need too much memory.
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('installs no development dependencies, and prints its version', async () => {
    const packages = await readdir(join(folder, 'node_modules'));
    expect(packages.filter((name) => /^(typescript|jest|knip|oxlint|@biomejs)$/.test(name))).toEqual([]);
    expect(await run('node', ['--version'], env)).toMatchObject({ output: expect.stringMatching(`^v${major}\\.`) });
    expect(await purser('--version')).toEqual({ code: 0, output: `purser ${version}\n`, stderr: '' });
    expect(await purser('dev', '--clustres=2')).toMatchObject({ code: 2, stderr: expect.stringContaining('did you mean --clusters?') });
    expect(await purser('--nope')).toMatchObject({ code: 2, stderr: expect.stringMatching(/^purser: unknown option '--nope'/) });
  });

  it('runs a hub and a target, prints their status through kubectl purser, completes names, and obtains tokens for kubectl', async () => {
    const ports = ['--api-port', '0', '--facade-port', '0', '--metrics-port', '0'];
    const log = join(folder, 'dev.log');
    const dev = await startProgram(join(folder, 'node_modules/.bin/purser'), ['dev', ...ports], log, {
      cwd: folder,
      env: { ...process.env, ...env },
    });
    try {
      await waitUntil(async () => (await dev.output()).includes('Purser is ready'));
      expect(await run('kubectl', ['purser', 'version'], env)).toMatchObject({ code: 0, output: `purser ${version}\n` });
      expect(await run('kubectl', ['purser', 'status', '-A'], env)).toMatchObject({
        code: 0,
        output: expect.stringContaining('Clusters: '),
      });
      expect(await run('kubectl', ['purser', 'cluster', 'list', '-o', 'name'], env)).toMatchObject({
        code: 0,
        output: 'cluster.registry.purser.dev/target-1\n',
      });
      const { output } = await run('kubectl', ['__complete', 'purser', 'cluster', 'revoke', 'target'], env);
      expect(output).toBe('target-1\n:4\n');
      expect(await purser('kubeconfig', 'target-1', 'deploy/deployer', '--merge')).toMatchObject({ code: 0, stderr: '' });
      // The first run requests a token, the second one reads it from the cache.
      for (const _ of [1, 2]) {
        expect(await run('kubectl', ['--context', 'target-1', 'auth', 'whoami'], env)).toMatchObject({
          code: 0,
          stderr: '',
          output: expect.stringContaining('system:serviceaccount:deploy:deployer'),
        });
      }
    } finally {
      dev.signal('SIGINT');
      await dev.ended;
    }
  });

  it('exits with 2 and the remedy for purser dev without optional dependencies', async () => {
    await rm(join(folder, 'node_modules/jose'), { recursive: true });
    expect(await purser('dev')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^purser: purser dev needs .* --include=optional\n$/),
    });
  });
});
