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

/** A Go module that pins what is built; the version of one of its modules names the folder that is built into. */
export interface PinnedModule {
  readonly name: string;
  readonly folder: string;
  readonly leading: string;
  /** Programs of our own that are built in it. */
  readonly sources?: readonly string[];
}

/** What pins the programs of a cluster. */
export const KUBE_MODULE: PinnedModule = { name: 'kube', folder: join(import.meta.dirname, '../real'), leading: 'k8s.io/kubernetes' };

/** What pins Helm: its own module, for its dependencies are others. */
export const HELM_MODULE: PinnedModule = { name: 'helm', folder: join(KUBE_MODULE.folder, 'helm'), leading: 'helm.sh/helm/v4' };

/** What pins client-go for programs of our own: a reflector, and one that asks for a token. */
export const REFLECTOR_MODULE: PinnedModule = {
  name: 'reflector',
  folder: join(KUBE_MODULE.folder, 'reflector'),
  leading: 'k8s.io/client-go',
  sources: ['main.go', 'create-token/main.go'],
};

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

/** The path of Helm, or undefined when it is neither given nor built. */
export function helmBinary(): string | undefined {
  return findBinary('helm', process.env, HELM_MODULE);
}

/** The path of the reflector, or undefined when it is neither given nor built. */
export function reflectorBinary(): string | undefined {
  return findBinary('reflector', process.env, REFLECTOR_MODULE);
}

/** The path of the Go program that asks for a token, or undefined when it is neither given nor built. */
export function createTokenBinary(): string | undefined {
  return findBinary('create-token', process.env, REFLECTOR_MODULE);
}

/** The path of one program, or undefined when it is neither given nor built. */
export function findBinary(name: string, env: Environment = process.env, pinned = KUBE_MODULE): string | undefined {
  const given = env['KUBEBUILDER_ASSETS'];
  const folders = [...(given ? [given] : []), cacheFolder(env, pinned)];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** Where built programs are kept. Its name changes with the pinned modules, so that old programs are never taken for new ones. */
export function cacheFolder(env: Environment = process.env, pinned = KUBE_MODULE): string {
  const base = env['KUBE_CACHE'] || join(userCacheFolder(env), 'purser', pinned.name);
  const pins = ['go.mod', 'go.sum', ...(pinned.sources ?? [])].map((file) => readFileSync(join(pinned.folder, file)));
  const key = createHash('sha256').update(Buffer.concat(pins)).digest('hex').slice(0, 12);
  return join(base, `${versionOf(pinned)}-${key}`);
}

/** The version of Kubernetes that is pinned, such as `v1.36.4`. */
export function kubernetesVersion(): string {
  return versionOf(KUBE_MODULE);
}

function versionOf({ folder, leading }: PinnedModule): string {
  const lines = readFileSync(join(folder, 'go.mod'), 'utf8').split('\n');
  const version = lines.map((line) => line.trim().split(' ')).find(([path, text]) => path === leading && text?.startsWith('v'))?.[1];
  if (version === undefined) throw new Error(`${folder}/go.mod does not require ${leading}`);
  return version;
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
