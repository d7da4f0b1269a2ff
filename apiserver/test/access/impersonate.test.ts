import { describe, expect, it } from '@jest/globals';
import type { AccessAttributes, PolicyRule } from '../../../src/kubernetes/rbac.ts';
import { createImpersonation } from '../../access/impersonate.ts';
import { storedPolicy } from '../../access/policy.ts';
import { exchange } from './golden.ts';
import { binding, role, storedObjects } from './stored-objects.ts';

const AUTHN = 'authentication.k8s.io';
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

const on = (mode: string): PolicyRule => ({ verbs: [`impersonate-on:${mode}:list`], apiGroups: [''], resources: ['pods'] });
const may = (mode: string, ...resources: readonly string[]): PolicyRule => ({
  verbs: [`impersonate:${mode}`],
  apiGroups: [AUTHN],
  resources,
});
const legacy = (...resources: readonly string[]): PolicyRule => ({ verbs: ['impersonate'], apiGroups: ['', AUTHN], resources });

function policy(...rules: readonly PolicyRule[]) {
  return storedPolicy(storedObjects(role('r', rules), binding('r', 'alice')));
}

function headers(user: string, ...groups: readonly string[]): Readonly<Record<string, readonly string[]>> {
  return { 'impersonate-user': [user], ...(groups.length > 0 && { 'impersonate-group': groups }) };
}

describe('impersonate', () => {
  it('leaves the user alone without headers', () => {
    expect(createImpersonation(policy())(alice, { accept: ['*/*'] }, listPods)).toBe(alice);
  });

  it('is refused as recorded', () => {
    const { response } = exchange('token-requests', 'impersonate-not-allowed');
    const attributes: AccessAttributes = {
      ...listPods,
      verb: 'create',
      resource: 'serviceaccounts',
      subresource: 'token',
      name: 'builder',
      namespace: 'team-a',
    };
    expect(() => createImpersonation(policy())(alice, headers('admin'), attributes)).toThrow(
      expect.objectContaining({ status: JSON.parse(response.body) }),
    );
  });

  it.each([
    [
      'groups and extra',
      { 'impersonate-group': ['a', 'b"c'], 'impersonate-extra-foo%2fbar': ['x'], 'impersonate-extra-foo': 'y' },
      '&user.DefaultInfo{Name:"", UID:"", Groups:[]string{"a", "b\\"c"}, Extra:map[string][]string{"foo":[]string{"y"}, "foo/bar":[]string{"x"}}}',
    ],
    ['a uid', { 'impersonate-uid': ['a'] }, '&user.DefaultInfo{Name:"", UID:"a", Groups:[]string(nil), Extra:map[string][]string(nil)}'],
    [
      'an odd key',
      { 'impersonate-user': [''], 'impersonate-extra-a%zz': ['1'] },
      '&user.DefaultInfo{Name:"", UID:"", Groups:[]string(nil), Extra:map[string][]string{"a%zz":[]string{"1"}}}',
    ],
  ])('needs a user name beside %s', (_, given, printed) => {
    const message = `requested ${printed} without impersonating a user name`;
    expect(() => createImpersonation(policy())(alice, given, listPods)).toThrow(
      expect.objectContaining({ status: expect.objectContaining({ message, code: 400 }) }),
    );
  });

  it.each([
    ['a user, the legacy way', [legacy('users')], headers('bob'), { name: 'bob', groups: ['system:authenticated'] }],
    [
      'a user with groups, the legacy way',
      [legacy('users', 'groups')],
      headers('bob', 'g', 'system:masters'),
      { name: 'bob', groups: ['g', 'system:masters', 'system:authenticated'] },
    ],
    [
      'a uid and extra values',
      [legacy('users', 'uids', 'userextras/scopes')],
      { ...headers('bob'), 'impersonate-uid': ['7'], 'impersonate-extra-scopes': ['a', 'b'] },
      { name: 'bob', uid: '7', groups: ['system:authenticated'], extra: { scopes: ['a', 'b'] } },
    ],
    [
      'a service account, the legacy way',
      [legacy('serviceaccounts')],
      headers('system:serviceaccount:lab:robot'),
      { name: 'system:serviceaccount:lab:robot', groups: ['system:serviceaccounts', 'system:serviceaccounts:lab', 'system:authenticated'] },
    ],
    ['nobody', [legacy('users')], headers('system:anonymous'), { name: 'system:anonymous', groups: ['system:unauthenticated'] }],
    [
      'an unauthenticated user',
      [legacy('users', 'groups')],
      headers('bob', 'system:unauthenticated'),
      { name: 'bob', groups: ['system:unauthenticated'] },
    ],
    ['a user', [on('user-info'), may('user-info', 'users')], headers('bob'), { name: 'bob', groups: ['system:authenticated'] }],
    [
      'a service account',
      [on('serviceaccount'), may('serviceaccount', 'serviceaccounts')],
      headers('system:serviceaccount:lab:robot'),
      { name: 'system:serviceaccount:lab:robot', groups: ['system:serviceaccounts', 'system:serviceaccounts:lab', 'system:authenticated'] },
    ],
    [
      'a node',
      [on('arbitrary-node'), may('arbitrary-node', 'nodes')],
      headers('system:node:n1'),
      { name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] },
    ],
    [
      'many groups by one permission',
      [on('user-info'), may('user-info', 'users'), { ...may('user-info', 'groups'), resourceNames: ['*'] }],
      headers('bob', 'a', 'b', 'c', 'd'),
      { name: 'bob', groups: ['a', 'b', 'c', 'd', 'system:authenticated'] },
    ],
  ])('lets act as %s', (_, rules, given, user) => {
    expect(createImpersonation(policy(...rules))(alice, given, listPods)).toEqual(user);
  });

  it('lets a service account act as the node it runs on, whichever that is', () => {
    const robot = {
      name: 'system:serviceaccount:lab:robot',
      groups: [],
      extra: { 'authentication.kubernetes.io/node-name': ['n1'] },
    };
    const rules = [on('associated-node'), { ...may('associated-node', 'nodes'), resourceNames: ['*'] }];
    const granted = storedPolicy(storedObjects(role('r', rules), binding('r', robot.name)));
    expect(createImpersonation(granted)(robot, headers('system:node:n1'), listPods).groups).toEqual([
      'system:nodes',
      'system:authenticated',
    ]);
    expect(() => createImpersonation(granted)(robot, headers('system:node:n2'), listPods)).toThrow(
      'cannot impersonate-on:arbitrary-node:list',
    );
  });

  it('lets superusers act as anybody', () => {
    expect(createImpersonation(policy())(admin, headers('bob', 'system:masters'), listPods).groups).toContain('system:masters');
  });

  const everything = [on('user-info'), may('user-info', '*')];
  it.each([
    [
      'a user',
      [],
      headers('bob'),
      'pods is forbidden: User "alice" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "lab"',
    ],
    ['a node', [], headers('system:node:n1'), 'cannot impersonate-on:arbitrary-node:list resource "pods"'],
    ['a service account', [], headers('system:serviceaccount:lab:robot'), 'cannot impersonate-on:serviceaccount:list resource "pods"'],
    [
      'a node with groups',
      [],
      headers('system:node:n1', 'g'),
      'users "system:node:n1" is forbidden: User "alice" cannot impersonate resource "users" in API group "" at the cluster scope',
    ],
    [
      'a user whom the mode does not allow',
      [on('user-info')],
      headers('bob'),
      'users.authentication.k8s.io "bob" is forbidden: User "alice" cannot impersonate:user-info resource "users" in API group "authentication.k8s.io" at the cluster scope',
    ],
    [
      'a service account whom the mode does not allow',
      [on('serviceaccount')],
      headers('system:serviceaccount:lab:robot'),
      'serviceaccounts.authentication.k8s.io "robot" is forbidden: User "alice" cannot impersonate:serviceaccount resource "serviceaccounts" in API group "authentication.k8s.io" in the namespace "lab"',
    ],
    [
      'a superuser',
      everything,
      headers('bob', 'system:masters'),
      'at the cluster scope: impersonating the system:masters group is not allowed',
    ],
    ['a group without a name', everything, headers('bob', ''), 'at the cluster scope: impersonating the empty string group is not allowed'],
    [
      'an extra key without a domain',
      everything,
      { ...headers('bob'), 'impersonate-extra-foo': ['x'] },
      'impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "foo": must be a domain-prefixed path (such as "acme.io/foo")',
    ],
    [
      'an empty extra value',
      everything,
      { ...headers('bob'), 'impersonate-extra-a.io%2ff': [''] },
      'impersonating the empty string value in extra is not allowed',
    ],
  ])('refuses %s', (_, rules, given, message) => {
    expect(() => createImpersonation(policy(...rules))(alice, given, listPods)).toThrow(message);
  });

  it('tells the refusal of the mode that last served the requestor', () => {
    const impersonate = createImpersonation(policy({ ...legacy('users'), resourceNames: ['bob'] }));
    const asCarol = () => impersonate(alice, headers('carol'), listPods);
    expect(asCarol).toThrow('cannot impersonate-on:user-info:list resource "pods"');
    expect(impersonate(alice, headers('bob'), listPods).name).toBe('bob');
    expect(asCarol).toThrow('cannot impersonate resource "users"');
  });
});
