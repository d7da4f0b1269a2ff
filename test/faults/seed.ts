// What the bench's clusters hold before the first fault: Purser's resources and rights, two registered targets, and grants.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readManifests } from '../../src/kube/manifests.ts';
import { type Api, base64, type KubeObject, paths } from './api.ts';
import type { Place } from './bench-cluster.ts';

export const PURSER_NAMESPACE = 'purser-system';
export const TEAM = 'team-a';
/** Where the service accounts are that tokens are for. */
export const DEPLOY = 'deploy';
/** The requester whose permission comes and goes. */
export const GUEST = 'guest';

/** Makes a hub of a cluster. */
export async function furnishHub({ api }: Place): Promise<void> {
  for (const crd of await readManifests('crds')) await api.apply(paths.crds(crd.metadata.name ?? ''), crd);
  await applyFile(api, 'deploy/base/namespace.yaml');
  await applyFile(api, 'deploy/base/access.yaml');
  await api.create(paths.namespaces(), { metadata: { name: TEAM } });
  for (const name of ['default', GUEST]) await api.apply(paths.accounts(TEAM, name), accountOf(TEAM, name));
  await untilServed(api);
}

/** Makes a target of a cluster. */
export async function furnishTarget({ api }: Place): Promise<void> {
  await applyFile(api, 'deploy/target/access.yaml');
  await api.apply(paths.namespaces(DEPLOY), { apiVersion: 'v1', kind: 'Namespace', metadata: { name: DEPLOY } });
}

/** Deviations from the usual registration of a target. */
export interface Registration {
  /** Address of the target; its proxy by default. */
  readonly address?: string;
  /** Namespaces for whose service accounts the credential may issue tokens; all by default. */
  readonly namespaces?: readonly string[];
}

/** Registers a target on a hub under a name, with a credential of the same name. */
export async function register(hub: Place, name: string, target: Place, registration: Registration = {}): Promise<void> {
  await giveCredential(hub, name, target, { token: await purserToken(target), ...registration });
  await hub.api.apply(paths.clusters(name), clusterOf(name, target, registration.address));
}

/** Returns the Cluster object that registers a target under a name. */
export function clusterOf(name: string, target: Place, address = target.proxy.url): object {
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
    },
  };
}

/** Writes Purser's credential for a cluster: the token, and the addresses, CA and names that it is pinned to. */
export async function giveCredential(
  hub: Place,
  cluster: string,
  target: Place,
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

/** A token of Purser's own account on a cluster. */
export async function purserToken({ api }: Place): Promise<string> {
  const { status } = await api.create(`${paths.accounts(PURSER_NAMESPACE, 'purser')}/token`, { spec: { expirationSeconds: 86_400 } });
  return status?.token ?? '';
}

/** Lets a requester have tokens of all clusters, or no longer. */
export async function allow({ api }: Place, requester: string, isAllowed: boolean): Promise<void> {
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

/** Writes a kubeconfig of Purser for a hub; its token is in a file of its own. */
export async function writeKubeconfig(hub: Place, folder: string): Promise<string> {
  const [path, tokenFile] = [join(folder, `${hub.name}.kubeconfig`), join(folder, `${hub.name}.token`)];
  await writeFile(tokenFile, await purserToken(hub), { mode: 0o600 });
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

export function accountOf(namespace: string, name: string): object {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name } };
}

const PLACES: Readonly<Record<string, (object: KubeObject) => string>> = {
  Namespace: ({ metadata }) => paths.namespaces(metadata.name),
  ServiceAccount: ({ metadata }) => paths.accounts(metadata.namespace ?? '', metadata.name),
  ClusterRole: ({ metadata }) => paths.rbac('clusterroles', metadata.name),
  ClusterRoleBinding: ({ metadata }) => paths.rbac('clusterrolebindings', metadata.name),
  Role: ({ metadata }) => paths.rbac(`namespaces/${metadata.namespace}/roles`, metadata.name),
  RoleBinding: ({ metadata }) => paths.rbac(`namespaces/${metadata.namespace}/rolebindings`, metadata.name),
};

/** Applies what the bench knows of a file of manifests. */
export async function applyFile(api: Api, path: string): Promise<void> {
  for (const object of (await readManifests(path)) as readonly KubeObject[]) {
    const place = PLACES[object.kind ?? ''];
    if (place !== undefined) await api.apply(place(object), object);
  }
}

/** Waits until the hub serves our kinds. */
export async function untilServed(api: Api): Promise<void> {
  const isServed = (path: string) =>
    api.list(path).then(
      () => true,
      () => false,
    );
  while (!(await Promise.all([paths.clusters(), paths.tokens(TEAM)].map(isServed))).every(Boolean)) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
