// What the bench's clusters hold before the first fault: Purser's resources and rights, two registered targets, and grants.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readManifests } from '../../src/kube/manifests.ts';
import { type Api, base64, type KubeObject, paths } from './api.ts';
import type { Place } from './place.ts';

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

/** Registers a target on a hub, by the address of its proxy or another one. */
export async function register(hub: Place, name: string, target: Place, address = target.proxy.url): Promise<void> {
  const credential = { namespace: PURSER_NAMESPACE, name: `${name}-credential` };
  await giveCredential(hub, name, await purserToken(target), { address, ca: target.proxy.ca });
  await hub.api.apply(paths.clusters(name), {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name },
    spec: {
      orchestratorApiEndpoints: {
        caBundle: base64(target.proxy.ca),
        serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }],
      },
      authInfo: { controller: { kind: 'Secret', ...credential } },
    },
  });
}

/** Gives Purser a credential for a cluster at this address. */
export async function giveCredential(
  hub: Place,
  cluster: string,
  token: string,
  { address, ca }: { readonly address: string; readonly ca: string },
): Promise<void> {
  const metadata = { namespace: PURSER_NAMESPACE, name: `${cluster}-credential` };
  const data = { token: base64(token), server: base64(address), 'ca.crt': base64(ca), cluster: base64(cluster) };
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
