// Releases of Node.js and npm, which npm installs from test/real/nodes into the cache once.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheBase } from './kube-binaries.ts';
import { run } from './run.ts';

const PINS = join(import.meta.dirname, '../real/nodes');

/** Returns the folder with the `node` program of a major version. */
export async function nodeFolder(major: number): Promise<string> {
  return join(await installReleases(), 'node_modules', `node-${major}-${process.arch}`, 'bin');
}

/** Returns the folder of the package npm. */
export async function npmFolder(): Promise<string> {
  return join(await installReleases(), 'node_modules/npm');
}

/** Installs all releases unless they are cached. Installs in a new folder and renames it, so that concurrent processes do not conflict. */
async function installReleases(): Promise<string> {
  const lock = await readFile(join(PINS, 'package-lock.json'));
  const base = cacheBase('nodes');
  const folder = join(base, createHash('sha256').update(lock).digest('hex').slice(0, 12));
  if (existsSync(folder)) return folder;
  await mkdir(base, { recursive: true });
  const draft = await mkdtemp(`${folder}-`);
  await cp(PINS, draft, { recursive: true });
  const { code, stderr } = await run('npm', ['ci', '--prefix', draft, '--ignore-scripts', '--no-audit', '--no-fund']);
  if (code !== 0) throw new Error(`npm did not install Node.js: ${stderr}`);
  await rename(draft, folder).catch(() => rm(draft, { recursive: true }));
  return folder;
}
