// Sets of Clusters: administrators label Clusters with the name of a set, and RBAC rules name the set in place of each Cluster.

import { Label } from '../api/names.ts';
import type { ApiObject } from '../api/resources.ts';
import { validateLabelValue } from '../kubernetes/names.ts';

/** Prefix of set names in RBAC rules. The name of a Cluster cannot contain a colon. */
const CLUSTER_SET_PREFIX = 'set:';

/** Set of a Cluster that does not exist or has no valid set label. Not a valid label value, so no label can assign it. */
export const NO_CLUSTER_SET = '-';

/** Returns the set of a Cluster, or NO_CLUSTER_SET if the Cluster does not exist (undefined) or has no valid set label. */
export function clusterSetOf(cluster: Pick<ApiObject, 'metadata'> | undefined): string {
  const clusterSet = cluster?.metadata.labels?.[Label.clusterSet] ?? '';
  return clusterSet === '' || validateLabelValue(clusterSet).length > 0 ? NO_CLUSTER_SET : clusterSet;
}

/** Returns the name that RBAC rules use for a set. */
export function toClusterSetName(clusterSet: string): string {
  return `${CLUSTER_SET_PREFIX}${clusterSet}`;
}

/** Returns true if a name in an RBAC rule is the name of a set. */
export function isClusterSetName(name: string): boolean {
  return name.startsWith(CLUSTER_SET_PREFIX);
}
