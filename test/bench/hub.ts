// Objects on the hub of every bench: Purser's CRDs and namespace, and one role.

import {
  type ClusterRole,
  type ClusterRoleBinding,
  ClusterRoleBindings,
  ClusterRoles,
  Clusters,
  ManagedTokenSets,
  ManagedTokens,
  Namespaces,
} from '../../src/api/resources.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { waitUntilServed } from '../../src/kube/discovery.ts';
import { loadKubeConfig } from '../../src/kube/kube-config.ts';
import { applyAll, readManifests } from '../../src/kube/manifests.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock as clock } from '../../src/std/clock.ts';
import type { RealCluster } from '../support/real-cluster.ts';

export const NAMESPACE = 'purser-system';
const SERVED_MS = 30_000;

/** Returns a client with all permissions. */
export async function adminOf(cluster: Pick<RealCluster, 'kubeconfig'>): Promise<KubeClient> {
  return new KubeClient(createTransport(await loadKubeConfig(await cluster.kubeconfig('admin')), { clock }), 'bench');
}

/** Installs Purser's CRDs and namespace. */
export async function seedHub(client: KubeClient): Promise<void> {
  await applyAll(client, await readManifests('crds'));
  await client.create(Namespaces, { metadata: { name: NAMESPACE } });
  await waitUntilServed(client, [Clusters, ManagedTokens, ManagedTokenSets], {
    clock,
    random: Math.random,
    signal: AbortSignal.timeout(SERVED_MS),
  });
}

/** Name of the role that `allow` creates. */
export const ROLE = 'bench';

type Rules = NonNullable<ClusterRole['rules']>;
type Subjects = NonNullable<ClusterRoleBinding['subjects']>;

/** Grants permissions to subjects with a ClusterRole and a binding. */
export async function allow(client: KubeClient, rules: Rules, subjects: Subjects): Promise<void> {
  await client.create(ClusterRoles, { metadata: { name: ROLE }, rules });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: ROLE };
  await client.create(ClusterRoleBindings, { metadata: { name: ROLE }, roleRef, subjects });
}

/** Encodes text for Secrets and for certificates in Clusters. */
export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
