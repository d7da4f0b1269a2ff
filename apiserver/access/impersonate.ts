// Impersonation of users, groups and service accounts (`kubectl --as`, `--as-group`).

import { accessForbidden } from '../../src/kubernetes/access-forbidden.ts';
import { type AccessAttributes, decide, type Policy } from '../../src/kubernetes/rbac.ts';
import { badRequest } from '../../src/kubernetes/status.ts';
import { decodeHeader } from '../../src/kubernetes/wire/utf8.ts';
import { notSupported } from '../unsupported.ts';
import { parseServiceAccountUsername, toServiceAccountGroups, type User, withGroup } from './user.ts';

/** Headers by lowercase name, as in Node's `headersDistinct`. */
type Headers = Readonly<Record<string, readonly string[] | undefined>>;

/**
 * Returns the user that a request runs as: `requestor`, or the user that the request's Impersonate headers name.
 * Throws 400 for unsupported headers and for groups without a user name, and 403 for a requestor without permission.
 */
export function impersonate(requestor: User, headers: Headers, attributes: AccessAttributes, policy: Policy): User {
  const [name = ''] = (headers['impersonate-user'] ?? []).map(decodeHeader);
  const groups = (headers['impersonate-group'] ?? []).map(decodeHeader);
  const unsupported = Object.keys(headers).find((header) => header === 'impersonate-uid' || header.startsWith('impersonate-extra-'));
  if (unsupported !== undefined) throw badRequest(notSupported(`the header ${unsupported}`));
  if (name === '') {
    if (groups.length === 0) return requestor;
    throw badRequest('requested groups without impersonating a user name');
  }
  const serviceAccount = parseServiceAccountUsername(name);
  const targets = [
    serviceAccount === undefined ? { resource: 'users', name } : { resource: 'serviceaccounts', ...serviceAccount },
    ...groups.map((group) => ({ resource: 'groups', name: group })),
  ];
  const isAllowed = targets.every((each) => decide(requestor, toAttributes(each), policy).allowed);
  if (!isAllowed) throw impersonationForbidden(requestor, serviceAccount === undefined ? 'user-info' : 'serviceaccount', attributes);
  return withSystemGroups({
    name,
    groups: serviceAccount && groups.length === 0 ? toServiceAccountGroups(serviceAccount.namespace) : groups,
  });
}

function toAttributes(target: { readonly resource: string; readonly name: string; readonly namespace?: string }): AccessAttributes {
  return { type: 'resource', verb: 'impersonate', group: '', subresource: '', namespace: '', ...target };
}

/** Returns kube-apiserver's error: the message names a verb of constrained impersonation, such as `impersonate-on:user-info:get`. */
function impersonationForbidden(requestor: User, mode: string, attributes: AccessAttributes): Error {
  return accessForbidden(requestor, { ...attributes, verb: `impersonate-on:${mode}:${attributes.verb}` }, '');
}

function withSystemGroups(user: User): User {
  if (user.name === 'system:anonymous') return withGroup(user, 'system:unauthenticated');
  return user.groups.includes('system:unauthenticated') ? user : withGroup(user, 'system:authenticated');
}
