import { describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { IssueTokens } from '../../src/access/issue-permission.ts';
import { type Permission, RbacIndex, reduceRules, toSubjects } from '../../src/access/rbac-index.ts';
import { type User } from '../../src/access/user.ts';
import { Visibility } from '../../src/access/visibility.ts';
import type { ClusterRole, ClusterRoleBinding } from '../../src/api/resources.ts';
import { decide, type Policy, type PolicyRule, type RbacBinding } from '../../src/kubernetes/rbac.ts';
import { HandInformer } from '../runtime/hand-informer.ts';
import { scaled } from '../support/scaled.ts';

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

const SeeTokens: Permission = { verbs: ['get', 'list'], group: 'tokens.purser.dev', resource: 'managedtokens', namespaced: true };
const SEE_TOKENS = { verbs: ['list'], apiGroups: ['tokens.purser.dev'], resources: ['managedtokens'] };
const NAMESPACES = ['team-a', 'team-b', 'ci'];
const KEYS = NAMESPACES.flatMap((namespace) => NAMES.map((each) => `${namespace}/${each}`));

const namespacedRule: fc.Arbitrary<PolicyRule> = fc.record({
  verbs: fc.subarray(['get', 'list', 'watch', 'create', '*']),
  apiGroups: fc.subarray(['tokens.purser.dev', '', '*'], { minLength: 1 }),
  resources: fc.subarray(['managedtokens', 'managedtokens/status', 'pods', '*'], { minLength: 1 }),
  resourceNames: fc.subarray([...NAMES, 'team-a/a', '*', '*/a', '/', 'a/']),
});
const place = fc.constantFrom(undefined, ...NAMESPACES);
const roleKey = fc.constantFrom('r1', 'r2', 'team-a/r1', 'team-b/r1', 'ci/r1');
const namespacedChange = fc.oneof(
  fc.record({ role: roleKey, rules: fc.option(fc.array(namespacedRule, { maxLength: 2 }), { nil: undefined }) }),
  fc.record({
    binding: fc.constantFrom('b1', 'b2'),
    namespace: place,
    to: fc.option(
      fc.record({
        kind: fc.constantFrom('Role' as const, 'ClusterRole' as const),
        name: fc.constantFrom('r1', 'r2', 'missing'),
        subjects: fc.array(subject, { maxLength: 3 }),
      }),
      { nil: undefined },
    ),
  }),
);
/** A change in a small world, in which most changes matter. */
const grantingChange = fc.oneof(
  fc.record({
    role: fc.constantFrom('r1', 'team-a/r1'),
    rules: fc.constantFrom([SEE_TOKENS], [{ ...SEE_TOKENS, resourceNames: ['a'] }], [], undefined),
  }),
  fc.record({
    binding: fc.constant('b1'),
    namespace: fc.constantFrom(undefined, 'team-a'),
    to: fc.option(
      fc.record({
        kind: fc.constantFrom('Role' as const, 'ClusterRole' as const),
        name: fc.constant('r1'),
        subjects: fc.subarray([{ kind: 'Group', name: 'team' } as const], { minLength: 1 }),
      }),
      { nil: undefined },
    ),
  }),
);

/** Returns whether RBAC allows a user to read one ManagedToken. */
function mayReadToken({ username, groups }: User, key: string, policy: Policy): boolean {
  const [namespace = '', name = ''] = key.split('/');
  const { group, resource } = SeeTokens;
  const attributes = { type: 'resource', group, resource, subresource: '', namespace, name } as const;
  return SeeTokens.verbs.some((verb) => decide({ name: username, groups }, { ...attributes, verb }, policy).allowed);
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
        const bindings = new Map<string, RbacBinding>();
        const policy: Policy = {
          clusterRoleBindings: () => bindings.values(),
          roleBindings: () => [],
          rules: ({ name }) => roles.get(name),
        };
        const namesOfAll = () => USERS.map((user) => index.namesFor(user));
        for (const each of changes) {
          const before = namesOfAll();
          const affected = index.affectedBy(
            'role' in each ? setRole(index, roles, each.role, each.rules) : setBinding(index, bindings, each.binding, each.to),
          );
          for (const [at, user] of USERS.entries()) {
            const now = index.namesFor(user);
            const expected = allowed(user, permission, policy);
            expect(now.isEverything ? 'all' : now.names).toEqual(expected);
            expect(index.selectAllowed(user, NAMES)).toEqual(NAMES.filter((name) => expected === 'all' || expected.includes(name)));
            if (now.fingerprint !== before[at]?.fingerprint) expect(toSubjects(user).some((key) => affected.has(key))).toBe(true);
          }
        }
      }),
      { numRuns: scaled({ full: 300, quick: 30 }) },
    );
  });

  it('matches RBAC for a namespaced kind after any change to Roles, ClusterRoles and their bindings', () => {
    fc.assert(
      fc.property(fc.array(namespacedChange, { maxLength: 30 }), (changes) => {
        const index = new RbacIndex(SeeTokens);
        const roles = new Map<string, readonly PolicyRule[]>();
        const bindings = new Map<string, RbacBinding>();
        const bindingsIn = (namespace: string | undefined) => [...bindings.values()].filter((each) => each.namespace === namespace);
        const policy: Policy = {
          clusterRoleBindings: () => bindingsIn(undefined),
          roleBindings: bindingsIn,
          rules: ({ kind, name }, namespace) => roles.get(kind === 'Role' ? `${namespace}/${name}` : name),
        };
        for (const each of changes) {
          const before = USERS.map((user) => index.namesFor(user));
          const affected = index.affectedBy(
            'role' in each ? setRole(index, roles, each.role, each.rules) : setNamespacedBinding(index, bindings, each),
          );
          for (const [at, user] of USERS.entries()) {
            const now = index.namesFor(user);
            expect(KEYS.filter((key) => now.includesObject({ key, clusterSetName: undefined }))).toEqual(
              KEYS.filter((key) => mayReadToken(user, key, policy)),
            );
            if (now.fingerprint !== before[at]?.fingerprint) expect(toSubjects(user).some((key) => affected.has(key))).toBe(true);
          }
        }
      }),
      { numRuns: scaled({ full: 500, quick: 50 }) },
    );
  });

  it('returns current names after any changes, and reports every subject whose names have changed since the last lookup', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(grantingChange, fc.boolean()), { maxLength: 40 }), (changes) => {
        const [index, roles, bindings] = [
          new RbacIndex(SeeTokens),
          new Map<string, readonly PolicyRule[]>(),
          new Map<string, RbacBinding>(),
        ];
        const seen = new Map(USERS.map((user) => [user, { names: index.namesFor(user), changes: index.changes }]));
        for (const [each, isSeen] of changes) {
          if ('role' in each) setRole(index, roles, each.role, each.rules);
          else setNamespacedBinding(index, bindings, each);
          if (!isSeen) continue;
          const fresh = new RbacIndex(SeeTokens);
          for (const [key, rules] of roles) fresh.setRole(key, { rules });
          for (const [key, { subjects, roleRef }] of bindings) fresh.setBinding(key, { roleRef: { apiGroup: '', ...roleRef }, subjects });
          for (const [user, before] of seen) {
            const hasChanged = toSubjects(user).some((key) => index.hasChanged(key, before.changes));
            const names = index.namesFor(user);
            expect(names.equals(fresh.namesFor(user))).toBe(true);
            if (!names.equals(before.names)) expect(hasChanged).toBe(true);
            seen.set(user, { names, changes: index.changes });
          }
        }
      }),
      { numRuns: scaled({ full: 500, quick: 50 }) },
    );
  });

  it('reports a change for every subject once there are too many changed subjects to remember', () => {
    const index = new RbacIndex(SeeTokens);
    index.setRole('all', { rules: [SEE_TOKENS] });
    const { changes } = index;
    expect(index.hasChanged('User/alice', changes)).toBe(false);
    const subjects = Array.from({ length: 100_001 }, (_, at) => ({ kind: 'User', name: `u${at}` }));
    index.setBinding('team-a/b', { ...bindingTo('all'), subjects });
    index.setBinding('team-a/b', undefined);
    expect(index.hasChanged('User/alice', changes)).toBe(true);
    expect(index.hasChanged('User/alice', index.changes)).toBe(false);
  });

  it('grants a subject at most 256 roles of one namespace, in addition to those of other namespaces', () => {
    const index = new RbacIndex(SeeTokens);
    for (const namespace of ['team-a', 'team-b'])
      for (let at = 0; at < 300; at += 1) {
        const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: `r${at}` };
        index.setRole(`${namespace}/r${at}`, { rules: [{ ...SEE_TOKENS, resourceNames: [`n${at}`] }] });
        index.setBinding(`${namespace}/b${at}`, { ...bindingTo(''), roleRef });
      }
    expect(index.namesFor(aUser('alice', 'team')).size).toBe(512);
    for (let at = 0; at < 256; at += 1) index.setBinding(`team-a/b${at}`, undefined);
    expect(index.namesFor(aUser('alice', 'team')).size).toBe(44 + 256);
  });

  it('grants all objects by an empty resource name only with the verb list, because list requests have no name', () => {
    const index = new RbacIndex(SeeTokens);
    index.setBinding('team-a/b', bindingTo('empty'));
    for (const [verb, names] of [
      ['get', []],
      ['list', ['team-a/']],
    ] as const) {
      index.setRole('empty', { rules: [{ ...SEE_TOKENS, verbs: [verb], resourceNames: [''] }] });
      expect(index.namesFor(aUser('alice', 'team')).names).toEqual(names);
    }
  });

  it('does not take a ClusterRole whose name contains a slash for a Role in another namespace', () => {
    const index = new RbacIndex(SeeTokens);
    index.setRole('team-b/r', { rules: [SEE_TOKENS] });
    index.setBinding('team-a/b', bindingTo('team-b/r'));
    expect(index.namesFor(aUser('alice', 'team')).isNothing).toBe(true);
  });

  it('grants the subjects of a RoleBinding the objects in its namespace, by name or all, from a Role or a ClusterRole', () => {
    const index = new RbacIndex(SeeTokens);
    index.setRole('reader', { rules: [{ ...SEE_TOKENS, resourceNames: ['one'] }] });
    index.setRole('team-a/reader', { rules: [SEE_TOKENS] });
    index.setBinding('team-a/b', {
      ...bindingTo('reader'),
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
    });
    index.setBinding('team-b/b', bindingTo('reader'));
    expect(index.namesFor(aUser('alice', 'team')).names).toEqual(['team-a/', 'team-b/one']);
  });

  it('uses the namespace of a RoleBinding for a service account without a namespace', () => {
    const index = new RbacIndex(SeeTokens);
    index.setRole('all', { rules: [SEE_TOKENS] });
    index.setBinding('ci/b', { ...bindingTo('all'), subjects: [{ kind: 'ServiceAccount', name: 'bot' }] });
    expect(index.namesFor(aUser('system:serviceaccount:ci:bot')).names).toEqual(['ci/']);
  });

  it('grants the objects of a namespaced kind in any namespace by their name alone', () => {
    const index = new RbacIndex({ ...SeeClusters, namespaced: true });
    index.setBinding('b', bindingTo('some'));
    index.setRole('some', { rules: [{ ...seeing('one'), resourceNames: ['one', 'team-a/two', '*'] }] });
    const visible = index.namesFor(aUser('alice', 'team'));
    const keys = ['team-a/one', 'team-b/one', 'team-a/two', 'one'];
    expect(keys.filter((key) => visible.includesObject({ key, clusterSetName: undefined }))).toEqual(['team-a/one', 'team-b/one']);
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
    expect(index.affectedBy(index.setRole('other', { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] })).size).toBe(0);
    expect(index.namesFor(aUser('bob', 'team'))).toBe(names);
    expect([...index.affectedBy(index.setRole('two', { rules: [] }))]).toEqual(['Group/team']);
    expect(index.namesFor(aUser('bob', 'team')).names).toEqual(['one']);
  });

  it('computes the names once for users whom no binding names, because users of a namespace can invent names', () => {
    const index = new RbacIndex(SeeClusters);
    index.setRole('one', { rules: [seeing('one')] });
    index.setBinding('one', bindingTo('one'));
    const union = jest.spyOn(Visibility, 'union');
    try {
      for (let user = 0; user < 100; user++) expect(index.namesFor(aUser(`invented-${user}`, 'team')).names).toEqual(['one']);
      expect(union).toHaveBeenCalledTimes(1);
    } finally {
      union.mockRestore();
    }
  });

  it('returns no names of another user to a user whose names and subjects join to the same string', () => {
    const index = new RbacIndex(SeeTokens);
    index.setRole('team-a/bait', { rules: [{ ...SEE_TOKENS, resourceNames: [COLLIDING] }] });
    index.setRole('team-a/forged', { rules: [{ ...SEE_TOKENS, resourceNames: [`${COLLIDING},team-b/`] }] });
    index.setRole('all', { rules: [SEE_TOKENS] });
    const role = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name }) as const;
    index.setBinding('team-a/bait', { roleRef: role('bait'), subjects: [{ kind: 'User', name: 'bob' }] });
    index.setBinding('team-a/forged', { roleRef: role('forged'), subjects: [{ kind: 'User', name: 'mallory' }] });
    index.setBinding('team-b/b', {
      ...bindingTo('all'),
      subjects: [
        { kind: 'User', name: 'bob' },
        { kind: 'Group', name: 'g' },
      ],
    });
    expect(index.namesFor(aUser('bob')).names).toEqual([`team-a/${COLLIDING}`, 'team-b/']);
    expect(index.namesFor(aUser('mallory')).isNothing).toBe(true);
    expect(index.namesFor(aUser('carol', 'g')).names).toEqual(['team-b/']);
    expect(index.namesFor(aUser('carol\nGroup/g')).isNothing).toBe(true);
  });

  it('reads a role once for any number of its bindings', () => {
    const index = new RbacIndex(SeeTokens);
    index.setRole('team-a/r', { rules: [{ ...SEE_TOKENS, resourceNames: ['one'] }] });
    for (let at = 0; at < 3; at += 1)
      index.setBinding(`team-a/b${at}`, { ...bindingTo('r'), roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' } });
    index.setRole('r', { rules: [SEE_TOKENS] });
    for (const namespace of ['team-a', 'team-b']) for (const name of ['c', 'd']) index.setBinding(`${namespace}/${name}`, bindingTo('r'));
    const union = jest.spyOn(Visibility, 'union');
    expect(index.namesFor(aUser('alice', 'team')).names).toEqual(['team-a/', 'team-a/one', 'team-b/']);
    expect([...(union.mock.calls[0]?.[0] ?? [])]).toHaveLength(3);
    union.mockRestore();
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
    const bound = index.setBinding('b', { ...bindingTo('any'), subjects: null } as unknown as ClusterRoleBinding);
    expect(index.affectedBy(bound).size).toBe(0);
  });

  it('starts with the objects in the stores, then emits the subjects that each change affects', () => {
    const [roles, bindings] = [new HandInformer<ClusterRole>(), new HandInformer<ClusterRoleBinding>()];
    roles.changes$.subscribe();
    bindings.changes$.subscribe();
    roles.list({ metadata: { name: 'one', uid: 'r', resourceVersion: '1' }, rules: [seeing('one')] });
    bindings.list({ metadata: { name: 'b', uid: 'b', resourceVersion: '1' }, ...bindingTo('one') });
    const index = new RbacIndex(SeeClusters);
    const affected: string[] = [];
    index.follow({ roles, bindings }).subscribe((followed) => affected.push(...index.affectedBy(followed)));
    expect(index.selectAllowed(aUser('alice', 'team'), ['one'])).toEqual(['one']);
    expect(affected).toEqual([]);
    roles.apply({ metadata: { name: 'one', uid: 'r', resourceVersion: '2' }, rules: [] });
    expect(index.selectAllowed(aUser('alice', 'team'), ['one'])).toEqual([]);
    expect(affected).toEqual(['Group/team']);
  });
});

describe('reduceRules', () => {
  const long = Array.from({ length: 1_000 }, (_, at) => `x${at}`);

  it.each<readonly [string, readonly PolicyRule[], readonly PolicyRule[]]>([
    ['no rule about the permission', [{ ...SEE_TOKENS, verbs: ['create'] }], []],
    ['names that no object has', [{ ...SEE_TOKENS, resourceNames: ['a/b', 'a,b', '', 'x'.repeat(300)].slice(0, 2) }], []],
    ['long lists of other verbs', [{ ...SEE_TOKENS, verbs: [...long, 'get'] }], [{ ...SEE_TOKENS, verbs: ['get', 'list'] }]],
    [
      'names in several rules',
      [
        { ...SEE_TOKENS, resourceNames: ['a', 'b'] },
        { ...SEE_TOKENS, verbs: ['*'], resourceNames: ['b', 'c'] },
      ],
      [{ ...SEE_TOKENS, verbs: ['get', 'list'], resourceNames: ['a', 'b', 'c'] }],
    ],
    ['names in addition to all names', [{ ...SEE_TOKENS, resourceNames: ['a'] }, SEE_TOKENS], [{ ...SEE_TOKENS, verbs: ['get', 'list'] }]],
  ])('returns at most one rule for %s', (_, rules, expected) => {
    expect(reduceRules(SeeTokens, rules)).toEqual(expected);
  });
});

/** Name for which the sets of names in the next test have the same fingerprint. */
const COLLIDING = 'n1405131';

describe('Visibility', () => {
  it('differs from a Visibility of other names with the same joined string and the same fingerprint', () => {
    const [names, forged] = [[`team-a/${COLLIDING}`, 'team-b/'], [`team-a/${COLLIDING},team-b/`]].map(
      (each) => new Visibility(new Set(each)),
    );
    expect(names?.fingerprint).toBe(forged?.fingerprint);
    expect(names?.equals(forged as Visibility)).toBe(false);
    expect(Visibility.everything.equals(Visibility.nothing)).toBe(false);
  });

  it('returns the fingerprint 1 for everything, and a greater fingerprint for nothing', () => {
    expect(Visibility.everything.fingerprint).toBe(1);
    expect(Visibility.nothing.fingerprint).toBeGreaterThan(1);
  });

  it('returns different fingerprints with a salt, also for everything and nothing', () => {
    const all = [Visibility.everything, Visibility.nothing, new Visibility(new Set(['a']))];
    const fingerprints = [0, 1, 2].flatMap((salt) => all.map((each) => each.withSalt(salt).fingerprint));
    expect(new Set(fingerprints).size).toBe(9);
    expect(fingerprints.slice(0, 3)).toEqual(all.map((each) => each.fingerprint));
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

type To = { readonly name: string; readonly subjects: RbacBinding['subjects'] } | undefined;

function setBinding(index: RbacIndex, bindings: Map<string, RbacBinding>, name: string, to: To) {
  const binding = to && { name, subjects: to.subjects, roleRef: { kind: 'ClusterRole', name: to.name } };
  if (binding === undefined) bindings.delete(name);
  else bindings.set(name, binding);
  return index.setBinding(name, binding);
}

type NamespacedBinding = Extract<typeof namespacedChange extends fc.Arbitrary<infer T> ? T : never, { readonly binding: string }>;

function setNamespacedBinding(index: RbacIndex, bindings: Map<string, RbacBinding>, { binding: name, namespace, to }: NamespacedBinding) {
  const key = namespace === undefined ? name : `${namespace}/${name}`;
  // The API server admits only ClusterRoles in a ClusterRoleBinding.
  const roleRef = to && { apiGroup: '', kind: namespace === undefined ? 'ClusterRole' : to.kind, name: to.name };
  if (to === undefined || roleRef === undefined) bindings.delete(key);
  else bindings.set(key, { name, ...(namespace !== undefined && { namespace }), subjects: to.subjects, roleRef });
  return index.setBinding(key, to && roleRef && { roleRef, subjects: to.subjects });
}
