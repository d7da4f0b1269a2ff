import { describe, expect, it } from '@jest/globals';
import type { AccessAttributes, PolicyRule } from '../../../src/kubernetes/rbac.ts';
import { impersonate } from '../../access/impersonate.ts';
import { createStoredPolicy } from '../../access/policy.ts';
import { readExchange } from '../recorded.ts';
import { binding, role, storedObjects } from './stored-objects.ts';

const alice = { name: 'alice', groups: ['system:authenticated'] };
const admin = { name: 'admin', groups: ['system:masters'] };
const listPods: AccessAttributes = {
  type: 'resource',
  verb: 'list',
  group: '',
  resource: 'pods',
  subresource: '',
  name: '',
  namespace: 'lab',
};

const impersonateRule = (...resources: readonly string[]): PolicyRule => ({ verbs: ['impersonate'], apiGroups: [''], resources });

function policy(...rules: readonly PolicyRule[]) {
  return createStoredPolicy(storedObjects(role('r', rules), binding('r', 'alice')));
}

function headers(user: string, ...groups: readonly string[]): Readonly<Record<string, readonly string[]>> {
  return { 'impersonate-user': [user], ...(groups.length > 0 && { 'impersonate-group': groups }) };
}

describe('impersonate', () => {
  it('returns the requestor if the request has no Impersonate headers', () => {
    expect(impersonate(alice, { accept: ['*/*'] }, listPods, policy())).toBe(alice);
  });

  it('rejects a requestor without permission as recorded', () => {
    const { response } = readExchange('token-requests', 'impersonate-not-allowed');
    const builder = { resource: 'serviceaccounts', subresource: 'token', name: 'builder', namespace: 'team-a' };
    expect(() => impersonate(alice, headers('admin'), { ...listPods, verb: 'create', ...builder }, policy())).toThrow(
      expect.objectContaining({ status: JSON.parse(response.body) }),
    );
  });

  it('rejects groups without a user name', () => {
    const message = 'requested groups without impersonating a user name';
    expect(() => impersonate(alice, { 'impersonate-group': ['a', 'b'] }, listPods, policy())).toThrow(
      expect.objectContaining({ status: expect.objectContaining({ message, code: 400 }) }),
    );
  });

  it.each(['impersonate-uid', 'impersonate-extra-scopes'])('rejects the unsupported header %s', (header) => {
    const message = `the local API server does not support the header ${header}; use a real cluster`;
    expect(() => impersonate(admin, { ...headers('zoe'), [header]: ['x'] }, listPods, policy())).toThrow(
      expect.objectContaining({ status: expect.objectContaining({ message, code: 400 }) }),
    );
  });

  it.each([
    ['a user', headers('zoe'), [impersonateRule('users')], { name: 'zoe', groups: ['system:authenticated'] }],
    [
      'a user with groups',
      headers('zoe', 'a', 'b'),
      [impersonateRule('users', 'groups')],
      { name: 'zoe', groups: ['a', 'b', 'system:authenticated'] },
    ],
    [
      'a service account',
      headers('system:serviceaccount:lab:robot'),
      [impersonateRule('serviceaccounts')],
      {
        name: 'system:serviceaccount:lab:robot',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:lab', 'system:authenticated'],
      },
    ],
    [
      'the anonymous user',
      headers('system:anonymous'),
      [impersonateRule('users')],
      { name: 'system:anonymous', groups: ['system:unauthenticated'] },
    ],
  ])('returns %s for a requestor with permission', (_, given, rules, user) => {
    expect(impersonate(alice, given, listPods, policy(...rules))).toEqual(user);
  });

  it.each([
    ['a user', headers('zoe'), [impersonateRule('groups')], 'user-info'],
    ['a group', headers('zoe', 'system:masters'), [impersonateRule('users')], 'user-info'],
    ['a service account', headers('system:serviceaccount:lab:robot'), [impersonateRule('users')], 'serviceaccount'],
  ])('rejects %s that the requestor has no permission to impersonate', (_, given, rules, mode) => {
    expect(() => impersonate(alice, given, listPods, policy(...rules))).toThrow(
      `pods is forbidden: User "alice" cannot impersonate-on:${mode}:list resource "pods" in API group "" in the namespace "lab"`,
    );
  });

  it('allows administrators to impersonate any user and group', () => {
    expect(impersonate(admin, headers('zoe', 'system:masters'), listPods, policy()).groups).toContain('system:masters');
  });
});
