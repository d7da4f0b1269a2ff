// Paths of the real Kubernetes programs: in KUBEBUILDER_ASSETS, or in the cache that `npm run kube:build` fills.

import { createHash } from 'node:crypto';
import { accessSync, constants, readFileSync } from 'node:fs';
import { homedir, platform } from 'node:os';
import { join } from 'node:path';

/** Paths of the programs of a real cluster. */
export interface KubeBinaries {
  readonly kubeApiserver: string;
  readonly etcd: string;
  readonly kubeControllerManager: string;
  readonly kubectl: string;
}

/** Go module that pins programs; the version of `leading` is part of the cache folder's name. */
export interface PinnedModule {
  readonly name: string;
  readonly folder: string;
  readonly leading: string;
  /** Source files of programs in the module itself. */
  readonly sources?: readonly string[];
}

/** Module of the programs of a cluster. */
export const KUBE_MODULE: PinnedModule = { name: 'kube', folder: join(import.meta.dirname, '../real'), leading: 'k8s.io/kubernetes' };

/** Module of Helm, which has other dependencies. */
export const HELM_MODULE: PinnedModule = { name: 'helm', folder: join(KUBE_MODULE.folder, 'helm'), leading: 'helm.sh/helm/v4' };

/** Module of the test programs in Go: a reflector, a client of TokenRequest, and a reverse proxy. */
export const REFLECTOR_MODULE: PinnedModule = {
  name: 'reflector',
  folder: join(KUBE_MODULE.folder, 'reflector'),
  leading: 'k8s.io/client-go',
  sources: ['main.go', 'create-token/main.go', 'reverse-proxy/main.go'],
};

/** Module of a consumer of ClusterProfiles, and of the credential plugin that it runs. */
export const INVENTORY_MODULE: PinnedModule = {
  name: 'cluster-inventory',
  folder: join(KUBE_MODULE.folder, 'cluster-inventory'),
  leading: 'sigs.k8s.io/cluster-inventory-api',
  sources: ['main.go'],
};

/** Module of the program that enforces NetworkPolicies. */
export const POLICIES_MODULE: PinnedModule = {
  name: 'network-policies',
  folder: join(import.meta.dirname, '../pods/network-policies'),
  leading: 'sigs.k8s.io/kube-network-policies',
  sources: ['main.go'],
};

/** Module of the agent that `npm run bench` compares with Purser. */
export const PEER_MODULE: PinnedModule = {
  name: 'managed-serviceaccount',
  folder: join(import.meta.dirname, '../bench/peers/managed-serviceaccount'),
  leading: 'open-cluster-management.io/managed-serviceaccount',
};

/** File names of the programs. */
export const BINARY_NAMES: KubeBinaries = {
  kubeApiserver: 'kube-apiserver',
  etcd: 'etcd',
  kubeControllerManager: 'kube-controller-manager',
  kubectl: 'kubectl',
};

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the paths of all programs, or undefined if one is missing. */
export function kubeBinaries(env: Environment = process.env): KubeBinaries | undefined {
  const kubeApiserver = findBinary(BINARY_NAMES.kubeApiserver, env);
  const etcd = findBinary(BINARY_NAMES.etcd, env);
  const kubeControllerManager = findBinary(BINARY_NAMES.kubeControllerManager, env);
  const kubectl = findBinary(BINARY_NAMES.kubectl, env);
  if (!kubeApiserver || !etcd || !kubeControllerManager || !kubectl) return undefined;
  return { kubeApiserver, etcd, kubeControllerManager, kubectl };
}

/** Returns the path of Helm, or undefined if it is missing. */
export function helmBinary(): string | undefined {
  return findBinary('helm', process.env, HELM_MODULE);
}

/** Returns the path of the reflector, or undefined if it is missing. */
export function reflectorBinary(): string | undefined {
  return findBinary('reflector', process.env, REFLECTOR_MODULE);
}

/** Returns the path of the TokenRequest client, or undefined if it is missing. */
export function createTokenBinary(): string | undefined {
  return findBinary('create-token', process.env, REFLECTOR_MODULE);
}

/** Returns the path of the reverse proxy, or undefined if it is missing. */
export function reverseProxyBinary(): string | undefined {
  return findBinary('reverse-proxy', process.env, REFLECTOR_MODULE);
}

/** Returns the path of the agent of managed-serviceaccount, or undefined if it is missing. */
export function peerBinary(): string | undefined {
  return findBinary('managed-serviceaccount', process.env, PEER_MODULE);
}

/** Returns the paths of the consumer of ClusterProfiles and of its plugin, or undefined if one is missing. */
export function inventoryBinaries(): { readonly consumer: string; readonly secretreader: string } | undefined {
  const consumer = findBinary('profile-namespaces', process.env, INVENTORY_MODULE);
  const secretreader = findBinary('secretreader', process.env, INVENTORY_MODULE);
  return consumer && secretreader ? { consumer, secretreader } : undefined;
}

/** Returns the path of a program, or undefined if it is missing. */
export function findBinary(name: string, env: Environment = process.env, pinned = KUBE_MODULE): string | undefined {
  const assets = env['KUBEBUILDER_ASSETS'];
  const folders = [...(assets ? [assets] : []), cacheFolder(env, pinned)];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** Returns the cache folder, whose name changes with the pinned modules, so that programs are never outdated. */
export function cacheFolder(env: Environment = process.env, pinned = KUBE_MODULE): string {
  const pins = ['go.mod', 'go.sum', ...(pinned.sources ?? [])].map((file) => readFileSync(join(pinned.folder, file)));
  const key = createHash('sha256').update(Buffer.concat(pins)).digest('hex').slice(0, 12);
  return join(cacheBase(pinned.name, env), `${versionOf(pinned)}-${key}`);
}

/** Returns the cache folder for programs of one purpose. */
export function cacheBase(name: string, env: Environment = process.env): string {
  return env['KUBE_CACHE'] || join(userCacheFolder(env), 'purser', name);
}

/** Returns the pinned version of Kubernetes, such as `v1.36.4`. */
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
