import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { IssueTokens } from '../../src/access/issue-permission.ts';
import { type Permission, RbacIndex, subjectsOf } from '../../src/access/rbac-index.ts';
import { type User } from '../../src/access/user.ts';
import { Visibility } from '../../src/access/visibility.ts';
import type { ClusterRole, ClusterRoleBinding } from '../../src/api/resources.ts';
import { type Binding, decide, type Policy, type PolicyRule } from '../../src/kubernetes/rbac.ts';
import { HandInformer } from '../runtime/hand-informer.ts';

const SeeClusters: Permission = { verbs: ['get', 'list'], group: 'registry.purser.dev', resource: 'clusters' };
const NAMES = ['a', 'b', 'c'];
const ROLES = ['r1', 'r2', 'r3'];
const BINDINGS = ['b1', 'b2', 'b3', 'b4'];
const aUser = (username: string, ...groups: readonly string[]): User => ({ username, uid: '', groups, extra: {} });
const USERS: readonly User[] = [
  aUser('alice', 'team', 'system:authenticated'),
  aUser('bob', 'system:authenticated'),
  aUser('system:serviceaccount:ci:bot', 'system:serviceaccounts'),
  aUser('root', 'system:masters'),
];

const rule: fc.Arbitrary<PolicyRule> = fc.record(
  {
    verbs: fc.subarray(['get', 'list', 'watch', 'create', 'issue', '*']),
    apiGroups: fc.subarray(['registry.purser.dev', '', '*']),
    resources: fc.subarray(['clusters', 'clusters/token', '*/token', 'pods', '*']),
    resourceNames: fc.subarray([...NAMES, 'x']),
  },
  { requiredKeys: ['verbs'] },
);
const subject = fc.constantFrom(
  { kind: 'User', name: 'alice' },
  { kind: 'User', name: 'system:serviceaccount:ci:bot' },
  { kind: 'Group', name: 'team' },
  { kind: 'Group', name: 'system:authenticated' },
  { kind: 'ServiceAccount', name: 'bot', namespace: 'ci' },
  { kind: 'ServiceAccount', name: 'bot' },
);
const change = fc.oneof(
  fc.record({ role: fc.constantFrom(...ROLES), rules: fc.option(fc.array(rule, { maxLength: 3 }), { nil: undefined }) }),
  fc.record({
    binding: fc.constantFrom(...BINDINGS),
    to: fc.option(fc.record({ name: fc.constantFrom(...ROLES, 'missing'), subjects: fc.array(subject, { maxLength: 3 }) }), {
      nil: undefined,
    }),
  }),
);

/** Returns the names that RBAC allows one by one; `all` if it allows a request without a name. */
function allowed({ username: name, groups }: User, { verbs, group, resource, subresource = '' }: Permission, policy: Policy) {
  const may = (object: string) =>
    verbs.some(
      (verb) =>
        decide({ name, groups }, { type: 'resource', verb, group, resource, subresource, name: object, namespace: '' }, policy).allowed,
    );
  return may('') ? 'all' : [...NAMES, 'x'].filter(may);
}

describe('RbacIndex', () => {
  it.each([
    ['see Clusters', SeeClusters],
    ['issue tokens', IssueTokens],
  ])('matches RBAC for the permission to %s after any change, and returns all affected subjects', (_, permission) => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
        const index = new RbacIndex(permission);
        const roles = new Map<string, readonly PolicyRule[]>();
        const bindings = new Map<string, Binding>();
        const policy: Policy = {
          clusterRoleBindings: () => bindings.values(),
          roleBindings: () => [],
          rules: ({ name }) => roles.get(name),
        };
        const namesOfAll = () => USERS.map((user) => index.namesFor(user));
        for (const each of changes) {
          const before = namesOfAll();
          const affected =
            'role' in each ? setRole(index, roles, each.role, each.rules) : setBinding(index, bindings, each.binding, each.to);
          for (const [at, user] of USERS.entries()) {
            const now = index.namesFor(user);
            const expected = allowed(user, permission, policy);
            expect(now.isEverything ? 'all' : now.names).toEqual(expected);
            for (const name of NAMES) expect(index.allows(user, [name])).toBe(expected === 'all' || expected.includes(name));
            if (now.fingerprint !== before[at]?.fingerprint) expect(subjectsOf(user).some((key) => affected.includes(key))).toBe(true);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('covers the objects of a namespaced kind in any namespace by their name alone', () => {
    const index = new RbacIndex({ ...SeeClusters, namespaced: true });
    index.setBinding('b', bindingTo('some'));
    index.setRole('some', { rules: [{ ...seeing('one'), resourceNames: ['one', 'team-a/two', '*'] }] });
    const visible = index.namesFor(aUser('alice', 'team'));
    const keys = ['team-a/one', 'team-b/one', 'team-a/two', 'one'];
    expect(keys.filter((key) => visible.includesObject({ key, setName: undefined }))).toEqual(['team-a/one', 'team-b/one']);
    index.setRole('some', { rules: [{ ...seeing('one'), resourceNames: [] }] });
    expect(index.namesFor(aUser('alice', 'team'))).toBe(Visibility.everything);
  });

  it('returns one instance to all users with the same roles until one of the roles changes', () => {
    const index = new RbacIndex(SeeClusters);
    for (const role of ['one', 'two']) {
      index.setRole(role, { rules: [seeing(role)] });
      index.setBinding(role, bindingTo(role));
    }
    const names = index.namesFor(aUser('alice', 'team'));
    expect(names.names).toEqual(['one', 'two']);
    expect(index.namesFor(aUser('bob', 'team'))).toBe(names);
    expect(index.setRole('other', { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] })).toEqual([]);
    expect(index.namesFor(aUser('bob', 'team'))).toBe(names);
    expect(index.setRole('two', { rules: [] })).toEqual(['Group/team']);
    expect(index.namesFor(aUser('bob', 'team')).names).toEqual(['one']);
  });

  it('grants nothing for a role whose rules are null', () => {
    const index = new RbacIndex(IssueTokens);
    index.setBinding('b', bindingTo('empty'));
    index.setRole('empty', { rules: null } as unknown as ClusterRole);
    expect(index.namesFor(aUser('alice', 'team')).isNothing).toBe(true);
  });

  it('accepts a binding whose subjects are null', () => {
    const index = new RbacIndex(IssueTokens);
    index.setRole('any', { rules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }] });
    expect(index.setBinding('b', { ...bindingTo('any'), subjects: null } as unknown as ClusterRoleBinding)).toEqual([]);
  });

  it('starts with the objects in the stores, then emits the subjects that each change affects', () => {
    const [roles, bindings] = [new HandInformer<ClusterRole>(), new HandInformer<ClusterRoleBinding>()];
    roles.changes$.subscribe();
    bindings.changes$.subscribe();
    roles.list({ metadata: { name: 'one', uid: 'r', resourceVersion: '1' }, rules: [seeing('one')] });
    bindings.list({ metadata: { name: 'b', uid: 'b', resourceVersion: '1' }, ...bindingTo('one') });
    const index = new RbacIndex(SeeClusters);
    const affected: string[] = [];
    index.follow({ roles, bindings }).subscribe((subjects) => affected.push(...subjects));
    expect(index.allows(aUser('alice', 'team'), ['one'])).toBe(true);
    expect(affected).toEqual([]);
    roles.apply({ metadata: { name: 'one', uid: 'r', resourceVersion: '2' }, rules: [] });
    expect(index.allows(aUser('alice', 'team'), ['one'])).toBe(false);
    expect(affected).toEqual(['Group/team']);
  });
});

describe('Visibility', () => {
  it('returns the fingerprint 1 for everything, and one above 1 for nothing', () => {
    expect(Visibility.everything.fingerprint).toBe(1);
    expect(Visibility.nothing.fingerprint).toBeGreaterThan(1);
  });
});

function seeing(name: string): PolicyRule & { verbs: string[] } {
  return { verbs: ['get'], apiGroups: ['registry.purser.dev'], resources: ['clusters'], resourceNames: [name] };
}

function bindingTo(role: string): Pick<ClusterRoleBinding, 'roleRef' | 'subjects'> {
  const apiGroup = 'rbac.authorization.k8s.io';
  return { roleRef: { apiGroup, kind: 'ClusterRole', name: role }, subjects: [{ apiGroup, kind: 'Group', name: 'team' }] };
}

function setRole(index: RbacIndex, roles: Map<string, readonly PolicyRule[]>, name: string, rules: readonly PolicyRule[] | undefined) {
  if (rules === undefined) roles.delete(name);
  else roles.set(name, rules);
  return index.setRole(name, rules && { rules });
}

type To = { readonly name: string; readonly subjects: Binding['subjects'] } | undefined;

function setBinding(index: RbacIndex, bindings: Map<string, Binding>, name: string, to: To) {
  const binding = to && { name, subjects: to.subjects, roleRef: { kind: 'ClusterRole', name: to.name } };
  if (binding === undefined) bindings.delete(name);
  else bindings.set(name, binding);
  return index.setBinding(name, binding);
}
