// Names of users that stand for something in the cluster.

import { dns1123LabelProblems, dns1123SubdomainProblems } from '../../src/kubernetes/names.ts';

/** The service account that `system:serviceaccount:NAMESPACE:NAME` names. */
export function serviceAccountOf(userName: string): { readonly namespace: string; readonly name: string } | undefined {
  const [namespace = '', name = '', ...rest] = suffixAfter('system:serviceaccount:', userName)?.split(':') ?? [];
  const valid = rest.length === 0 && dns1123LabelProblems(namespace).length === 0 && dns1123SubdomainProblems(name).length === 0;
  return valid ? { namespace, name } : undefined;
}

/** The node that `system:node:NAME` names. */
export function nodeOf(userName: string): string | undefined {
  const name = suffixAfter('system:node:', userName);
  return name !== undefined && dns1123SubdomainProblems(name).length === 0 ? name : undefined;
}

/** The groups to which every service account of a namespace belongs. */
export function serviceAccountGroups(namespace: string): readonly string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
}

/** The user, a member of `group` too. */
export function withGroup<T extends { readonly groups: readonly string[] }>(user: T, group: string): T {
  return user.groups.includes(group) ? user : { ...user, groups: [...user.groups, group] };
}

function suffixAfter(prefix: string, text: string): string | undefined {
  return text.startsWith(prefix) ? text.slice(prefix.length) : undefined;
}
