// Sets of Clusters: administrators label Clusters with the name of a set, and RBAC rules name the set in place of each Cluster.

import { Label } from '../api/names.ts';
import type { ApiObject } from '../api/resources.ts';
import { labelValueProblems } from '../kubernetes/names.ts';

/** Prefix of set names in RBAC rules. No Cluster has a name with a colon. */
const SET_PREFIX = 'set:';

/** Name in place of a set for Clusters without one, and for clusters that do not exist. It is not a valid label value, so no Cluster is in it. */
export const NO_SET = '-';

/** Returns the set of a Cluster; NO_SET without a set, and for undefined, which is a cluster that does not exist. */
export function setOf(cluster: Pick<ApiObject, 'metadata'> | undefined): string {
  const set = cluster?.metadata.labels?.[Label.set] ?? '';
  return set === '' || labelValueProblems(set).length > 0 ? NO_SET : set;
}

/** Returns the name of a set in RBAC rules. */
export function setName(set: string): string {
  return `${SET_PREFIX}${set}`;
}

/** Returns whether a name in an RBAC rule is the name of a set. */
export function isSetName(name: string): boolean {
  return name.startsWith(SET_PREFIX);
}
