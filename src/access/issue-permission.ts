// The permission to issue a token for a service account of a target cluster: `issue clusters/token`, under up to three names.

import { RegistryGroup } from '../api/names.ts';
import { Clusters } from '../api/resources.ts';
import type { AccessAttributes } from './hub-review.ts';
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

/** Default of the namespaces that an RBAC rule must name: a rule for the whole cluster does not cover their service accounts. */
export const PROTECTED_NAMESPACES: readonly string[] = ['kube-system', 'kube-public', 'kube-node-lease'];

/** Returns the resource name that covers only this service account, for messages about a missing permission. */
export function exactName({ cluster, namespace, serviceAccount }: IssueTarget): string {
  return `${cluster}/${namespace}/${serviceAccount}`;
}

/** Returns why a rule for the whole cluster is not enough, for messages about a missing permission; empty for other namespaces. */
export function protectionOf({ namespace }: IssueTarget, protectedNamespaces: readonly string[]): string {
  return protectedNamespaces.includes(namespace) ? `namespace ${namespace} is protected: a rule must name it or the service account` : '';
}

/**
 * Returns the names to review, in order: the name that was allowed last time, then from the most to the least specific.
 * One allowed name is enough.
 */
export function issueNames(target: IssueTarget, lastAllowed?: string, protectedNamespaces = PROTECTED_NAMESPACES): readonly string[] {
  const { cluster, namespace } = target;
  const inNamespace = [exactName(target), `${cluster}/${namespace}`];
  const names = protectedNamespaces.includes(namespace) ? inNamespace : [...inNamespace, cluster];
  return lastAllowed !== undefined && names.includes(lastAllowed) ? [...new Set([lastAllowed, ...names])] : names;
}

/** Reviews one name after the other. Returns the first allowed name; undefined if none is. */
export async function reviewIssue(
  names: readonly string[],
  review: (attributes: AccessAttributes) => Promise<boolean>,
): Promise<string | undefined> {
  const { verbs, group, resource, subresource } = IssueTokens;
  const [verb] = verbs;
  for (const name of names) {
    if (await review({ resourceAttributes: { verb, group, resource, subresource, name } })) return name;
  }
  return undefined;
}
