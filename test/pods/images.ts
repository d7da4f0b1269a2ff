// Images of the cluster, as OCI archives: Purser, from the Dockerfile, and BusyBox, for other containers.

import { existsSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { IMAGE } from '../../deploy/release.ts';
import { baseImage, CERTIFICATES, withFolder } from './base-image.ts';
import { buildah, createImage, exportImage, limitStorage } from './buildah.ts';

const REPOSITORY = join(import.meta.dirname, '../..');

/** Image for pause containers and clients: BusyBox, which sleeps unless another command is given. */
export const BUSYBOX = 'localhost/busybox:1';

/** Builds the image of Purser from the Dockerfile, and writes it into an OCI archive. */
export async function buildPurser(file: string): Promise<void> {
  await limitStorage();
  const base = await baseImage();
  // During the build, npm and apt trust the authorities of this machine, which may include that of a proxy.
  const trust = existsSync(CERTIFICATES) ? [`--volume=${CERTIFICATES}:${CERTIFICATES}:ro`] : [];
  await buildah('bud', '--layers', '--isolation=chroot', ...trust, `--build-arg=NODE_IMAGE=${base}`, '--tag', IMAGE, REPOSITORY);
  await exportImage(IMAGE, file);
}

/** Writes the image of BusyBox into an OCI archive. */
export async function buildBusybox(file: string): Promise<void> {
  await withFolder(async (folder) => {
    await mkdir(join(folder, 'bin'));
    await copyFile('/bin/busybox', join(folder, 'bin/busybox'));
    await createImage(BUSYBOX, folder, ['--entrypoint=["/bin/busybox"]', '--cmd=sleep 2147483647', '--env=PATH=/bin']);
  });
  await exportImage(BUSYBOX, file);
}
