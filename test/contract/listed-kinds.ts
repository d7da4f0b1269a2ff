// The kinds that the façade lists. Tests write objects of these kinds, and the permissions of callers, on the hub.

import type { Cluster } from '../../src/api/cluster.gen.ts';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import { ClusterRoleBindings, ClusterRoles, Clusters, ManagedTokens, Namespaces, RoleBindings, Roles } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { hasReason } from '../../src/kubernetes/status.ts';

/** A listed kind. Objects have keys as in informers: `name`, or `namespace/name`. */
export interface WireKind {
  readonly plural: string;
  /** Path of the list. */
  readonly path: string;
  /** Path of the list of one namespace; undefined for a cluster-scoped kind. */
  readonly namespacePath?: string;
  /** Keys of the objects of a test, in order. */
  readonly keys: readonly string[];
  /** Returns the key of any further object. */
  keyOf(number: number): string;
  /** Key that no object has. */
  readonly missing: string;
  prepare(hub: KubeClient): Promise<void>;
  put(hub: KubeClient, key: string, labels: Readonly<Record<string, string>>): Promise<void>;
  delete(hub: KubeClient, key: string): Promise<void>;
  /** Lets a user read the objects with these keys only. */
  grant(hub: KubeClient, user: string, keys: readonly string[]): Promise<void>;
  /** Takes all permissions from a user. */
  withdraw(hub: KubeClient, user: string): Promise<void>;
}

const RBAC = 'rbac.authorization.k8s.io';
const FORCE = { force: true } as const;

const CLUSTERS: WireKind = {
  plural: 'clusters',
  path: '/auth/v1/clusters',
  keys: ['a', 'b', 'c', 'd', 'e'],
  keyOf: (number) => `c${number}`,
  missing: 'x',
  prepare: async () => {},
  async put(hub, name, labels) {
    const serverEndpoints = [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://10.0.0.1' }];
    const spec = { orchestratorApiEndpoints: { serverEndpoints } };
    const cluster: Cluster = { apiVersion: 'registry.purser.dev/v1alpha1', kind: 'Cluster', metadata: { name, labels }, spec };
    await hub.apply(Clusters, cluster, FORCE);
  },
  delete: (hub, name) => ignoreNotFound(hub.delete(Clusters, { name })),
  async grant(hub, user, resourceNames) {
    const rules = rulesFor({ apiGroups: ['registry.purser.dev'], resources: ['clusters'] }, resourceNames);
    await hub.apply(ClusterRoles, { metadata: { name: user }, rules }, FORCE);
    await hub.apply(ClusterRoleBindings, { metadata: { name: user }, ...bindingOf(user, 'ClusterRole') }, FORCE);
  },
  withdraw: (hub, user) => ignoreNotFound(hub.delete(ClusterRoleBindings, { name: user })),
};

const NAMESPACES = ['team-a', 'team-b'];

const MANAGED_TOKENS: WireKind = {
  plural: 'managedtokens',
  path: '/auth/v1/managedtokens',
  namespacePath: '/auth/v1/namespaces/team-b/managedtokens',
  keys: ['team-a/a', 'team-a/b', 'team-a/c', 'team-b/a', 'team-b/d'],
  keyOf: (number) => `${NAMESPACES[number % 2]}/t${number}`,
  missing: 'team-b/x',
  async prepare(hub) {
    for (const name of NAMESPACES) await hub.apply(Namespaces, { metadata: { name } }, FORCE);
  },
  async put(hub, key, labels) {
    const spec = { clusterName: 'prod', serviceAccount: { namespace: 'deploy', name: 'deployer' }, audiences: ['a'] };
    const metadata = { ...nameOf(key), labels };
    const token = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', metadata, spec };
    await hub.apply(ManagedTokens, token as unknown as ManagedToken, FORCE);
  },
  delete: (hub, key) => ignoreNotFound(hub.delete(ManagedTokens, nameOf(key))),
  /** Grants a Role in the first namespace, and a ClusterRole through a RoleBinding in the second. */
  async grant(hub, user, keys) {
    const namesIn = (namespace: string) => keys.map(nameOf).flatMap((each) => (each.namespace === namespace ? [each.name] : []));
    const rules = NAMESPACES.map((namespace) =>
      rulesFor({ apiGroups: ['tokens.purser.dev'], resources: ['managedtokens'] }, namesIn(namespace)),
    );
    const [first = '', second = ''] = NAMESPACES;
    const name = `${user}-tokens`;
    await hub.apply(Roles, { metadata: { namespace: first, name }, rules: rules[0] ?? [] }, FORCE);
    await hub.apply(ClusterRoles, { metadata: { name }, rules: rules[1] ?? [] }, FORCE);
    await hub.apply(RoleBindings, { metadata: { namespace: first, name }, ...bindingOf(user, 'Role', name) }, FORCE);
    await hub.apply(RoleBindings, { metadata: { namespace: second, name }, ...bindingOf(user, 'ClusterRole', name) }, FORCE);
  },
  async withdraw(hub, user) {
    for (const namespace of NAMESPACES) await ignoreNotFound(hub.delete(RoleBindings, { namespace, name: `${user}-tokens` }));
  },
};

/** The listed kinds, with their plural names for test titles. */
export const WIRE_KINDS = [CLUSTERS, MANAGED_TOKENS].map((kind) => [kind.plural, kind] as const);

function rulesFor(what: { readonly apiGroups: string[]; readonly resources: string[] }, resourceNames: readonly string[]) {
  // A rule without names would allow all objects.
  return resourceNames.length === 0 ? [] : [{ ...what, verbs: ['get'], resourceNames: [...resourceNames] }];
}

function bindingOf(user: string, kind: 'Role' | 'ClusterRole', name = user) {
  return { roleRef: { apiGroup: RBAC, kind, name }, subjects: [{ apiGroup: RBAC, kind: 'User', name: user }] };
}

function nameOf(key: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}

async function ignoreNotFound(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (!hasReason(error, 'NotFound')) throw error;
  }
}
