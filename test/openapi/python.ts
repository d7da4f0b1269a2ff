// The Python programs of `npm run test:openapi`, in a virtual environment that is created once.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheBase } from '../support/kube-binaries.ts';
import { run } from '../support/run.ts';

const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt');
/** Minor version of the oldest Python 3 whose dependencies requirements.txt pins. */
const MIN_MINOR = 11;

/**
 * Returns the folder of the programs. Installs them into the cache if they are missing. Throws an error with the remedy if Python is
 * missing or too old.
 */
export async function preparePython(): Promise<string> {
  const version = await pythonVersion();
  const key = createHash('sha256')
    .update(await readFile(REQUIREMENTS))
    .digest('hex')
    .slice(0, 12);
  const folder = join(cacheBase('openapi'), `python-${version}-${key}`);
  const installed = join(folder, 'installed');
  if (!existsSync(installed)) await install(folder, installed);
  return join(folder, 'bin');
}

async function pythonVersion(): Promise<string> {
  const { code, output } = await run('python3', ['--version']).catch(() => ({ code: 1, output: '' }));
  const [, version = '', minor] = /^Python (3\.(\d+))/.exec(output) ?? [];
  if (code === 0 && Number(minor) >= MIN_MINOR) return version;
  throw new Error(`Testing the OpenAPI document needs Python 3.${MIN_MINOR} or newer with venv. ${REMEDY}`);
}

const REMEDY = 'Install the packages python3 and python3-venv, and run `npm run test:openapi` again.';

/** Installs into the final folder, whose path the programs contain. The marker is written last, so that an incomplete folder is replaced. */
async function install(folder: string, marker: string): Promise<void> {
  console.log(`Installing Schemathesis and openapi-spec-validator into ${folder}.`);
  await rm(folder, { recursive: true, force: true });
  const created = await run('python3', ['-m', 'venv', folder]);
  if (created.code !== 0) throw new Error(`python3 -m venv failed. ${REMEDY}\n${created.output}${created.stderr}`);
  const args = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--require-hashes',
    '--only-binary',
    ':all:',
    '-r',
    REQUIREMENTS,
  ];
  const { code, stderr } = await run(join(folder, 'bin', 'python3'), args);
  if (code !== 0) throw new Error(`pip install failed:\n${stderr}`);
  await writeFile(marker, '');
}
