// The names under which RBAC is asked whether somebody may have a token.

/** The account that a token is wanted for. */
export interface IssueTarget {
  readonly cluster: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

/** Namespaces whose accounts must be named in a rule; one for the whole cluster does not cover them. */
export const PROTECTED_NAMESPACES: readonly string[] = ['kube-system', 'kube-public', 'kube-node-lease'];

/**
 * The names to ask for, in order: the one that allowed it last time, then from the most to the least specific.
 * One yes is enough.
 */
export function issueNames(
  { cluster, namespace, serviceAccount }: IssueTarget,
  lastAllowed?: string,
  protectedNamespaces = PROTECTED_NAMESPACES,
): readonly string[] {
  const inNamespace = [`${cluster}/${namespace}/${serviceAccount}`, `${cluster}/${namespace}`];
  const names = protectedNamespaces.includes(namespace) ? inNamespace : [...inNamespace, cluster];
  return lastAllowed !== undefined && names.includes(lastAllowed) ? [...new Set([lastAllowed, ...names])] : names;
}
