// Builds the base image of the Dockerfile without an image registry: Debian with debootstrap, Node.js and npm from the npm registry.

import { createHash } from 'node:crypto';
import { copyFile, cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseDockerfile } from '../support/dockerfile.ts';
import { nodeFolder, npmFolder } from '../support/node-releases.ts';
import { readText } from '../support/repository.ts';
import { run } from '../support/run.ts';
import { createImage, hasImage } from './buildah.ts';

/** File with the CA certificates on Debian. */
export const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const PINS = join(import.meta.dirname, '../real/nodes/package-lock.json');

/** Returns the name of an image with the releases of Node.js and Debian that the Dockerfile names. Creates the image once. */
export async function baseImage(): Promise<string> {
  const [, release, suite] = /^node:([\d.]+)-(\w+)-slim$/.exec(parseDockerfile(readText('Dockerfile')).args.get('NODE_IMAGE') ?? '') ?? [];
  if (release === undefined || suite === undefined)
    throw new Error('NODE_IMAGE in the Dockerfile does not name a release of Node.js and Debian.');
  const sources = await Promise.all([import.meta.filename, PINS].map((path) => readFile(path)));
  const key = createHash('sha256').update(Buffer.concat(sources)).digest('hex').slice(0, 12);
  const name = `localhost/node:${release}-${suite}-${key}`;
  if (!(await hasImage(name))) await withFolder((folder) => createBase(name, folder, { release, suite }));
  return name;
}

async function createBase(name: string, folder: string, { release, suite }: { release: string; suite: string }): Promise<void> {
  console.log(`Creating the base image with Debian ${suite} and Node.js ${release}.`);
  // The mounts of debootstrap end with the mount namespace, even if the process is killed.
  const namespace = ['--mount', '--propagation=private'];
  await succeed('unshare', ...namespace, 'debootstrap', '--variant=minbase', '--include=ca-certificates', suite, folder);
  const [programs, modules] = [join(folder, 'usr/local/bin'), join(folder, 'usr/local/lib/node_modules')];
  await mkdir(modules, { recursive: true });
  await copyFile(join(await nodeFolder(Number.parseInt(release, 10)), 'node'), join(programs, 'node'));
  const version = (await succeed(join(programs, 'node'), '--version')).trim();
  if (version !== `v${release}`) throw new Error(`test/real/nodes has Node.js ${version}, and the Dockerfile names ${release}.`);
  await cp(await npmFolder(), join(modules, 'npm'), { recursive: true });
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(programs, 'npm'));
  const environment = [`--env=NODE_EXTRA_CA_CERTS=${CERTIFICATES}`, '--env=PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin'];
  await createImage(name, folder, environment);
}

/** Runs work with a temporary folder, and removes the folder. */
export async function withFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'purser-image-'));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function succeed(program: string, ...args: readonly string[]): Promise<string> {
  const { code, output, stderr } = await run(program, args);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}:\n${output}${stderr}`);
  return output;
}
