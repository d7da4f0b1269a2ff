import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { fingerprintOf, Visibility, VisibilityIndex } from '../../src/access/visibility.ts';
import { type Binding, decide, type Policy, type PolicyRule, type RbacUser } from '../../src/kubernetes/rbac.ts';

const NAMES = ['a', 'b', 'c'];
const ROLES = ['r1', 'r2', 'r3'];
const BINDINGS = ['b1', 'b2', 'b3', 'b4'];
const USERS: readonly RbacUser[] = [
  { name: 'alice', groups: ['team', 'system:authenticated'] },
  { name: 'bob', groups: ['system:authenticated'] },
  { name: 'system:serviceaccount:ci:bot', groups: ['system:serviceaccounts'] },
  { name: 'root', groups: ['system:masters'] },
];

const rule: fc.Arbitrary<PolicyRule> = fc.record(
  {
    verbs: fc.subarray(['get', 'list', 'watch', 'create', '*']),
    apiGroups: fc.subarray(['registry.purser.dev', '', '*']),
    resources: fc.subarray(['clusters', 'clusters/token', 'pods', '*']),
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

/** What RBAC itself says, cluster by cluster. */
function allowed(user: RbacUser, policy: Policy): 'all' | readonly string[] {
  const may = (name: string) =>
    ['get', 'list'].some(
      (verb) =>
        decide(
          user,
          { type: 'resource', verb, group: 'registry.purser.dev', resource: 'clusters', subresource: '', name, namespace: '' },
          policy,
        ).allowed,
    );
  return may('') ? 'all' : [...NAMES, 'x'].filter(may);
}

describe('the index of what is visible', () => {
  it('says what RBAC says, whatever changes, and names everybody whom a change concerns', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
        const index = new VisibilityIndex();
        const roles = new Map<string, readonly PolicyRule[]>();
        const bindings = new Map<string, Binding>();
        const policy: Policy = {
          clusterRoleBindings: () => bindings.values(),
          roleBindings: () => [],
          rules: ({ name }) => roles.get(name),
        };
        const seen = () => USERS.map((user) => index.visibleTo(user));
        for (const each of changes) {
          const before = seen();
          const concerned =
            'role' in each ? setRole(index, roles, each.role, each.rules) : setBinding(index, bindings, each.binding, each.to);
          for (const [at, user] of USERS.entries()) {
            const now = index.visibleTo(user);
            expect(now.isEverything ? 'all' : now.names).toEqual(allowed(user, policy));
            const subjects = [`User/${user.name}`, ...user.groups.map((group) => `Group/${group}`)];
            if (now.fingerprint !== before[at]?.fingerprint) expect(subjects.some((name) => concerned.includes(name))).toBe(true);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('gives the same object to all who see the same by the same roles, until that changes', () => {
    const index = new VisibilityIndex();
    for (const role of ['one', 'two']) {
      index.setRole(role, [{ verbs: ['get'], apiGroups: ['registry.purser.dev'], resources: ['clusters'], resourceNames: [role] }]);
      index.setBinding(role, { name: role, roleRef: { kind: 'ClusterRole', name: role }, subjects: [{ kind: 'Group', name: 'team' }] });
    }
    const seen = index.visibleTo({ name: 'alice', groups: ['team'] });
    expect(seen.names).toEqual(['one', 'two']);
    expect(index.visibleTo({ name: 'bob', groups: ['team'] })).toBe(seen);
    expect(index.setRole('other', [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }])).toEqual([]);
    expect(index.visibleTo({ name: 'bob', groups: ['team'] })).toBe(seen);
    expect(index.setRole('two', [])).toEqual(['Group/team']);
    expect(index.visibleTo({ name: 'bob', groups: ['team'] }).names).toEqual(['one']);
  });

  it('does not tell those who see everything from one another', () => {
    expect(Visibility.everything.fingerprint).toBe(0);
    expect(Visibility.nothing.fingerprint).toBeGreaterThan(1);
  });
});

function setRole(
  index: VisibilityIndex,
  roles: Map<string, readonly PolicyRule[]>,
  name: string,
  rules: readonly PolicyRule[] | undefined,
) {
  if (rules === undefined) roles.delete(name);
  else roles.set(name, rules);
  return index.setRole(name, rules);
}

type To = { readonly name: string; readonly subjects: Binding['subjects'] } | undefined;

function setBinding(index: VisibilityIndex, bindings: Map<string, Binding>, name: string, to: To) {
  const binding = to && { name, subjects: to.subjects, roleRef: { kind: 'ClusterRole', name: to.name } };
  if (binding === undefined) bindings.delete(name);
  else bindings.set(name, binding);
  return index.setBinding(name, binding);
}

describe('fingerprintOf', () => {
  it('ignores the order of names, and returns none of the two fingerprints with a special meaning', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string()), (names) => {
        const print = fingerprintOf(names);
        expect(fingerprintOf(names.toReversed())).toBe(print);
        expect(print).toBeGreaterThan(1);
        expect(print).toBeLessThan(2 ** 24);
      }),
    );
  });

  it('returns different fingerprints for similar sets', () => {
    const prints = new Set(Array.from({ length: 2_000 }, (_, index) => fingerprintOf([`cluster-${index}`, `cluster-${index + 1}`])));
    expect(prints.size).toBeGreaterThan(1_995);
  });
});
