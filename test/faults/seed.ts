// Initial objects of the bench's clusters: CRDs, Purser's permissions, two registered targets, and permissions to issue.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readManifests } from '../../src/kube/manifests.ts';
import { type Api, base64, type KubeObject, paths } from './api.ts';
import type { BenchCluster } from './bench-cluster.ts';

export const PURSER_NAMESPACE = 'purser-system';
export const TEAM = 'team-a';
/** Namespace on the targets with the service accounts of tokens. */
export const DEPLOY = 'deploy';
/** Requester whose permission scenarios withdraw and grant. */
export const GUEST = 'guest';

/** Installs Purser's CRDs, permissions and a team namespace on the hub. */
export async function seedHub({ api }: BenchCluster): Promise<void> {
  for (const crd of await readManifests('crds')) await api.apply(paths.crds(crd.metadata.name ?? ''), crd);
  await applyFile(api, 'deploy/base/namespace.yaml');
  await applyFile(api, 'deploy/base/access.yaml');
  await api.apply(paths.namespaces(TEAM), { apiVersion: 'v1', kind: 'Namespace', metadata: { name: TEAM } });
  for (const name of ['default', GUEST]) await api.apply(paths.serviceAccounts(TEAM, name), buildServiceAccount(TEAM, name));
  await waitUntilServed(api);
}

/** Installs Purser's permissions and the deploy namespace on a target. */
export async function seedTarget({ api }: BenchCluster): Promise<void> {
  await applyFile(api, 'deploy/target/access.yaml');
  await api.apply(paths.namespaces(DEPLOY), { apiVersion: 'v1', kind: 'Namespace', metadata: { name: DEPLOY } });
}

/** Optional properties of a registered target. */
export interface Registration {
  /** Address of the target; default: its proxy. */
  readonly address?: string;
  /** Namespaces of service accounts that the credential may issue tokens for; empty: all. */
  readonly namespaces?: readonly string[];
  /** Lifetime of the registered token, in seconds; default: a day. */
  readonly expirationSeconds?: number;
  /** Renewal terms in the Cluster; default: those of the CRD. */
  readonly renewal?: { readonly lifetime: string; readonly overlap: string };
}

/** Registers a target on a hub under a name, with a credential for that name. */
export async function register(hub: BenchCluster, name: string, target: BenchCluster, registration: Registration = {}): Promise<void> {
  const token = await requestPurserToken(target, registration.expirationSeconds);
  await writeCredential(hub, name, target, { token, ...registration });
  await hub.api.apply(paths.clusters(name), buildCluster(name, target, registration));
}

/** Address and CA of a target. */
export interface Reachable {
  readonly proxy: Pick<BenchCluster['proxy'], 'url' | 'ca'>;
}

/** Returns the Cluster object that registers a target under a name. */
export function buildCluster(
  name: string,
  target: Reachable,
  { address = target.proxy.url, renewal }: Pick<Registration, 'address' | 'renewal'> = {},
): object {
  return {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name },
    spec: {
      orchestratorApiEndpoints: {
        caBundle: base64(target.proxy.ca),
        serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }],
      },
      authInfo: { controller: { kind: 'Secret', namespace: PURSER_NAMESPACE, name: `${name}-credential` } },
      ...(renewal && { credential: renewal }),
    },
  };
}

/** Writes Purser's credential for a cluster: the token, and the addresses, CA and Cluster names that it is pinned to. */
export async function writeCredential(
  hub: BenchCluster,
  cluster: string,
  target: Reachable,
  { token, address = target.proxy.url, namespaces = [] }: Registration & { readonly token: string },
): Promise<void> {
  const metadata = { namespace: PURSER_NAMESPACE, name: `${cluster}-credential` };
  const texts = {
    token,
    server: address,
    'ca.crt': target.proxy.ca,
    cluster,
    ...(namespaces.length > 0 && { namespaces: namespaces.join(' ') }),
  };
  const data = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, base64(text)]));
  await hub.api.apply(paths.secrets(metadata.namespace, metadata.name), {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    type: 'Opaque',
    data,
  });
}

/** Requests a token for Purser's own service account on a cluster. */
export async function requestPurserToken({ api }: BenchCluster, expirationSeconds = 86_400): Promise<string> {
  const { status } = await api.create(`${paths.serviceAccounts(PURSER_NAMESPACE, 'purser')}/token`, {
    spec: { expirationSeconds },
  });
  return status?.token ?? '';
}

/** Grants a requester permission to issue tokens for all clusters, or withdraws it. */
export async function setPermission({ api }: BenchCluster, requester: string, isAllowed: boolean): Promise<void> {
  const name = `issue-${requester}`;
  if (!isAllowed) return await api.delete(paths.rbac('clusterrolebindings', name));
  const rules = [{ apiGroups: ['registry.purser.dev'], resources: ['clusters/token'], verbs: ['issue'] }];
  await api.apply(paths.rbac('clusterroles', name), { apiVersion: RBAC, kind: 'ClusterRole', metadata: { name }, rules });
  await api.apply(paths.rbac('clusterrolebindings', name), {
    apiVersion: RBAC,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', namespace: TEAM, name: requester }],
  });
}

/** Writes Purser's kubeconfig for a hub; its token is in a separate file. */
export async function writeKubeconfig(hub: BenchCluster, folder: string): Promise<string> {
  const [path, tokenFile] = [join(folder, `${hub.name}.kubeconfig`), join(folder, `${hub.name}.token`)];
  await writeFile(tokenFile, await requestPurserToken(hub), { mode: 0o600 });
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'hub', cluster: { server: hub.proxy.url, 'certificate-authority-data': base64(hub.proxy.ca) } }],
    users: [{ name: 'purser', user: { tokenFile } }],
    contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'purser' } }],
    'current-context': 'hub',
  };
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

const RBAC = 'rbac.authorization.k8s.io/v1';

export function buildServiceAccount(namespace: string, name: string): object {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name } };
}

const PATHS_BY_KIND: Readonly<Record<string, (object: KubeObject) => string>> = {
  Namespace: ({ metadata }) => paths.namespaces(metadata.name),
  ServiceAccount: ({ metadata }) => paths.serviceAccounts(metadata.namespace ?? '', metadata.name),
  ClusterRole: ({ metadata }) => paths.rbac('clusterroles', metadata.name),
  ClusterRoleBinding: ({ metadata }) => paths.rbac('clusterrolebindings', metadata.name),
  Role: ({ metadata }) => paths.rbac(`namespaces/${metadata.namespace}/roles`, metadata.name),
  RoleBinding: ({ metadata }) => paths.rbac(`namespaces/${metadata.namespace}/rolebindings`, metadata.name),
};

/** Applies the objects in a manifest whose kinds are in the table above. */
export async function applyFile(api: Api, path: string): Promise<void> {
  for (const object of (await readManifests(path)) as readonly KubeObject[]) {
    const pathOf = PATHS_BY_KIND[object.kind ?? ''];
    if (pathOf !== undefined) await api.apply(pathOf(object), object);
  }
}

/** Waits until the hub serves Clusters and ManagedTokens. */
export async function waitUntilServed(api: Api): Promise<void> {
  const isServed = (path: string) =>
    api.list(path).then(
      () => true,
      () => false,
    );
  while (!(await Promise.all([paths.clusters(), paths.tokens(TEAM)].map(isServed))).every(Boolean)) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
