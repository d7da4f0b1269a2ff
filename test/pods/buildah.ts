// Builds images with buildah, in a storage that is part of the cache.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheBase } from '../support/kube-binaries.ts';
import { run } from '../support/run.ts';

/** Runs buildah, and returns its output without the last line break. Throws an Error with the output if buildah fails. */
export async function buildah(...args: readonly string[]): Promise<string> {
  const storage = join(cacheBase('pods'), 'storage');
  await mkdir(storage, { recursive: true });
  const options = ['--root', storage, '--runroot', join(storage, 'run'), '--storage-driver', 'overlay'];
  // Mounts end with the mount namespace, even if the process is killed.
  const { code, output, stderr } = await run('unshare', ['--mount', '--propagation=private', 'buildah', ...options, ...args]);
  if (code !== 0) throw new Error(`buildah ${args.join(' ')}:\n${output}${stderr}`);
  return output.trimEnd();
}

/** Removes all images if the storage has grown large: every build adds layers. */
export async function limitStorage(): Promise<void> {
  const { output } = await run('du', ['-s', '--block-size=1M', join(cacheBase('pods'), 'storage')]);
  if (Number.parseInt(output, 10) > MAX_STORAGE_MB) await buildah('rmi', '--all', '--force');
}

const MAX_STORAGE_MB = 8_000;

/** Returns whether the storage contains an image. */
export async function hasImage(name: string): Promise<boolean> {
  return (await buildah('images', '--format', '{{.Name}}:{{.Tag}}')).split('\n').includes(name);
}

/** Creates an image with the content of a folder and these settings of `buildah config`. */
export async function createImage(name: string, folder: string, settings: readonly string[]): Promise<void> {
  const container = await buildah('from', 'scratch');
  try {
    await buildah('add', '--quiet', container, folder, '/');
    await buildah('config', ...settings, container);
    await buildah('commit', '--quiet', container, name);
  } finally {
    await buildah('rm', container);
  }
}

/** Writes an image into an OCI archive. */
export async function exportImage(name: string, file: string): Promise<void> {
  await buildah('push', '--quiet', name, `oci-archive:${file}:${name}`);
}
