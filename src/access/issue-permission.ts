// The permission to issue a token for a service account on a target cluster: the verb `issue` on `clusters/token`. Any one of up to six
// resource names is enough: three with the name of the cluster, and three with its set.

import { RegistryGroup } from '../api/names.ts';
import { Clusters } from '../api/resources.ts';
import { NO_CLUSTER_SET, toClusterSetName } from './cluster-set.ts';
import type { ReviewAttributes } from './hub-review.ts';
import type { Permission } from './rbac-index.ts';

/** The permission to issue tokens on target clusters. */
export const IssueTokens = {
  verbs: ['issue'],
  group: RegistryGroup,
  resource: Clusters.plural,
  subresource: 'token',
} as const satisfies Permission;

/** The service account that a token is requested for. */
export interface IssueTarget {
  readonly cluster: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

/** The service account in a review, and the set of its cluster at the time of the review. */
export interface ReviewedTarget extends IssueTarget {
  /** Set of the cluster; NO_CLUSTER_SET if the cluster has none or does not exist. */
  readonly clusterSet: string;
}

/**
 * Namespaces that are protected by default: a rule with resourceNames must name the namespace or the service account; a name of a whole
 * cluster or set does not cover the service accounts in these namespaces.
 */
export const PROTECTED_NAMESPACES: readonly string[] = ['kube-system', 'kube-public', 'kube-node-lease'];

/** Returns the resource name that covers only this service account. */
export function toExactName({ cluster, namespace, serviceAccount }: IssueTarget): string {
  return `${cluster}/${namespace}/${serviceAccount}`;
}

/**
 * Returns the reason why the name of a whole cluster or set in a rule does not cover the namespace, for messages about a missing
 * permission. Returns an empty string if the namespace is not protected.
 */
export function explainProtection({ namespace }: IssueTarget, protectedNamespaces: readonly string[]): string {
  return protectedNamespaces.includes(namespace)
    ? `namespace ${namespace} is protected: a rule with resourceNames must name the namespace or the service account`
    : '';
}

/**
 * Returns the resource names to review, in order: the name that was allowed last time, then the names with the cluster, then those with its
 * set, each from the most to the least specific. One allowed name is enough, unless it is a name of NO_CLUSTER_SET: `grantsPermission`
 * excludes these names.
 */
export function toIssueNames(target: ReviewedTarget, lastAllowed?: string, protectedNamespaces = PROTECTED_NAMESPACES): readonly string[] {
  const { cluster, namespace, serviceAccount, clusterSet } = target;
  const isProtected = protectedNamespaces.includes(namespace);
  const names = [cluster, toClusterSetName(clusterSet)].flatMap((scope) => [
    `${scope}/${namespace}/${serviceAccount}`,
    `${scope}/${namespace}`,
    ...(isProtected ? [] : [scope]),
  ]);
  return lastAllowed !== undefined && names.includes(lastAllowed) ? [...new Set([lastAllowed, ...names])] : names;
}

/** Returns only the names that can grant the permission. */
export function filterGrantingNames(names: readonly string[]): readonly string[] {
  return names.filter(grantsPermission);
}

/**
 * Returns true if a rule for the name can grant the permission. The names of NO_CLUSTER_SET cannot: otherwise, the removal of a label could
 * grant the permission. They are reviewed only so that a refusal takes the same number of reviews for all clusters, even for a cluster
 * that has no set or does not exist.
 */
function grantsPermission(name: string): boolean {
  return name !== toClusterSetName(NO_CLUSTER_SET) && !name.startsWith(`${toClusterSetName(NO_CLUSTER_SET)}/`);
}

/** Reviews one name after another. Returns the first name that grants the permission, or undefined if none does. */
export async function findAllowedName(
  names: readonly string[],
  review: (attributes: ReviewAttributes) => Promise<boolean>,
): Promise<string | undefined> {
  const { verbs, group, resource, subresource } = IssueTokens;
  const [verb] = verbs;
  for (const name of names) {
    const isNameAllowed = await review({ resourceAttributes: { verb, group, resource, subresource, name } });
    if (isNameAllowed && grantsPermission(name)) return name;
  }
  return undefined;
}
