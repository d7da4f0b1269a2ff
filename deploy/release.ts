// `npm run release`: empties the `release` folder, and writes the files of a release into it: the image, the manifests, the chart, the npm
// package, the software bill of materials, samples, and checksums. Needs kubectl and helm on the PATH, and Docker 25 or buildah for the
// image.
//   --output FOLDER  empties and uses this folder instead
//   --image FILE     uses this OCI archive instead of building the image

import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Kustomize } from './generate-chart.ts';

const REPOSITORY = resolve(import.meta.dirname, '..');
const { version } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as { readonly version: string };

/** Full name of the image in the manifests, as a container runtime expands it. A node with an image of this name needs no registry. */
export const IMAGE = `docker.io/library/purser:${version}`;

/** Folders of a checkout that the commands of the README use. */
const FOLDERS = ['deploy/samples', 'deploy/target'];

/** Returns the manifests of the base and of the admission policies. */
export function renderInstallManifests(kustomize: Kustomize): string {
  return ['base', 'components/admission'].map(kustomize).join('---\n');
}

/** Writes all files of a release except the checksums. */
function writeFiles(folder: string, image: string | undefined): void {
  const archive = join(folder, `purser-${version}-image.tar`);
  if (image === undefined) buildImage(archive);
  else copyFileSync(image, archive);
  const kustomize: Kustomize = (path) => run('kubectl', 'kustomize', join(import.meta.dirname, path));
  writeFileSync(join(folder, 'install.yaml'), renderInstallManifests(kustomize));
  run('helm', 'package', join(import.meta.dirname, 'chart'), '--destination', folder);
  // The npm package has the same name as the package of the chart.
  renameSync(join(folder, `purser-${version}.tgz`), join(folder, `purser-chart-${version}.tgz`));
  run('npm', 'pack', '--pack-destination', folder);
  writeFileSync(join(folder, `purser-${version}-sbom.json`), run('npm', 'sbom', '--sbom-format=cyclonedx', '--omit=dev'));
  for (const path of FOLDERS) cpSync(join(REPOSITORY, path), join(folder, path), { recursive: true });
}

/** Builds the image for the platform of this machine, and writes it into an OCI archive. */
function buildImage(file: string): void {
  if (spawnSync('docker', ['info']).status === 0) {
    run('docker', 'build', '--tag', IMAGE, '.');
    // `docker save` writes an OCI archive since Docker 25.
    run('docker', 'save', '--output', file, IMAGE);
  } else {
    run('buildah', 'build', '--tag', IMAGE, '.');
    run('buildah', 'push', IMAGE, `oci-archive:${file}:${IMAGE}`);
  }
}

/** Returns the checksums of all files in a folder, in the format of sha256sum. */
function formatChecksums(folder: string): string {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => statSync(join(folder, path)).isFile());
  const hash = (path: string) =>
    createHash('sha256')
      .update(readFileSync(join(folder, path)))
      .digest('hex');
  return paths
    .toSorted()
    .map((path) => `${hash(path)}  ${path}\n`)
    .join('');
}

function run(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { cwd: REPOSITORY, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 2 ** 26 });
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { output: { type: 'string', default: 'release' }, image: { type: 'string' } } });
  const folder = resolve(values.output);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFiles(folder, values.image);
  writeFileSync(join(folder, 'SHA256SUMS'), formatChecksums(folder));
}
