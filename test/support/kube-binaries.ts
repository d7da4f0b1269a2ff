// Where the real Kubernetes programs are: in KUBEBUILDER_ASSETS, else in the cache that `npm run kube:build` fills.

import { createHash } from 'node:crypto';
import { accessSync, constants, readFileSync } from 'node:fs';
import { homedir, platform } from 'node:os';
import { join } from 'node:path';

/** Paths of the programs that a real cluster is made of. */
export interface KubeBinaries {
  readonly kubeApiserver: string;
  readonly etcd: string;
  readonly kubeControllerManager: string;
  readonly kubectl: string;
}

/** The folder of the Go module that pins what is built. */
export const MODULE_FOLDER = join(import.meta.dirname, '../real');

/** File names of the programs. */
export const BINARY_NAMES: KubeBinaries = {
  kubeApiserver: 'kube-apiserver',
  etcd: 'etcd',
  kubeControllerManager: 'kube-controller-manager',
  kubectl: 'kubectl',
};

type Environment = Readonly<Record<string, string | undefined>>;

/** All programs, or undefined when one is missing. */
export function kubeBinaries(env: Environment = process.env): KubeBinaries | undefined {
  const kubeApiserver = findBinary(BINARY_NAMES.kubeApiserver, env);
  const etcd = findBinary(BINARY_NAMES.etcd, env);
  const kubeControllerManager = findBinary(BINARY_NAMES.kubeControllerManager, env);
  const kubectl = findBinary(BINARY_NAMES.kubectl, env);
  if (!kubeApiserver || !etcd || !kubeControllerManager || !kubectl) return undefined;
  return { kubeApiserver, etcd, kubeControllerManager, kubectl };
}

/** The path of one program, or undefined when it is neither given nor built. */
export function findBinary(name: string, env: Environment = process.env): string | undefined {
  const given = env['KUBEBUILDER_ASSETS'];
  const folders = [...(given ? [given] : []), cacheFolder(env)];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** Where built programs are kept. Its name changes with the pinned modules, so that old programs are never taken for new ones. */
export function cacheFolder(env: Environment = process.env): string {
  const base = env['PURSER_KUBE_CACHE'] || join(userCacheFolder(env), 'purser', 'kube');
  const pins = ['go.mod', 'go.sum'].map((file) => readFileSync(join(MODULE_FOLDER, file)));
  const key = createHash('sha256').update(Buffer.concat(pins)).digest('hex').slice(0, 12);
  return join(base, `${kubernetesVersion()}-${key}`);
}

/** The version of Kubernetes that is pinned, such as `v1.36.4`. */
export function kubernetesVersion(): string {
  const pinned = /k8s\.io\/kubernetes (v[\d.]+)/.exec(readFileSync(join(MODULE_FOLDER, 'go.mod'), 'utf8'))?.[1];
  if (pinned === undefined) throw new Error('test/real/go.mod does not require k8s.io/kubernetes');
  return pinned;
}

function userCacheFolder(env: Environment): string {
  if (env['XDG_CACHE_HOME']) return env['XDG_CACHE_HOME'];
  return platform() === 'darwin' ? join(homedir(), 'Library', 'Caches') : join(homedir(), '.cache');
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
