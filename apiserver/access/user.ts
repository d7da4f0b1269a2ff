// Users, and the user names and groups of service accounts.

import { validateDns1123Label, validateDns1123Subdomain } from '../../src/kubernetes/names.ts';

/** User that a request runs as: authenticated, impersonated or anonymous. */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

const PREFIX = 'system:serviceaccount:';

/** Returns the service account of a user name `system:serviceaccount:NAMESPACE:NAME`; undefined for other names. */
export function parseServiceAccountUsername(userName: string): { readonly namespace: string; readonly name: string } | undefined {
  if (!userName.startsWith(PREFIX)) return undefined;
  const [namespace = '', name = '', ...rest] = userName.slice(PREFIX.length).split(':');
  const isValid = rest.length === 0 && validateDns1123Label(namespace).length === 0 && validateDns1123Subdomain(name).length === 0;
  return isValid ? { namespace, name } : undefined;
}

/** Returns the groups that every service account in a namespace belongs to. */
export function toServiceAccountGroups(namespace: string): readonly string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
}

/** Returns the user with `group` among its groups. */
export function withGroup(user: User, group: string): User {
  return user.groups.includes(group) ? user : { ...user, groups: [...user.groups, group] };
}
