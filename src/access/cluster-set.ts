// Sets of Clusters: administrators label Clusters with the name of a set, and RBAC rules name the set in place of each Cluster.

import { Label } from '../api/names.ts';
import type { ApiObject } from '../api/resources.ts';
import { labelValueProblems } from '../kubernetes/names.ts';

/** Prefix of set names in RBAC rules. No Cluster has a name with a colon. */
const CLUSTER_SET_PREFIX = 'set:';

/** Set of Clusters without a set label, and of Clusters that do not exist. It is not a valid label value, so no label can select it. */
export const NO_CLUSTER_SET = '-';

/** Returns the set of a Cluster; NO_CLUSTER_SET for a Cluster without a set, and for undefined (the Cluster does not exist). */
export function clusterSetOf(cluster: Pick<ApiObject, 'metadata'> | undefined): string {
  const clusterSet = cluster?.metadata.labels?.[Label.clusterSet] ?? '';
  return clusterSet === '' || labelValueProblems(clusterSet).length > 0 ? NO_CLUSTER_SET : clusterSet;
}

/** Returns the name of a set in RBAC rules. */
export function toClusterSetName(clusterSet: string): string {
  return `${CLUSTER_SET_PREFIX}${clusterSet}`;
}

/** Returns true if a name in an RBAC rule is the name of a set. */
export function isClusterSetName(name: string): boolean {
  return name.startsWith(CLUSTER_SET_PREFIX);
}
