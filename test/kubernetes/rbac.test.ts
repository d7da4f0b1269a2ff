import { describe, expect, it } from '@jest/globals';
import {
  type AccessAttributes,
  decide,
  findUserRules,
  type Policy,
  type PolicyRule,
  type RbacBinding,
  ruleAllows,
} from '../../src/kubernetes/rbac.ts';

const readPods: PolicyRule = { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] };

function resource(changes: Partial<Extract<AccessAttributes, { type: 'resource' }>> = {}): AccessAttributes {
  return { type: 'resource', verb: 'get', group: '', resource: 'pods', subresource: '', name: '', namespace: '', ...changes };
}

function path(url: string, verb = 'get'): AccessAttributes {
  return { type: 'path', verb, path: url };
}

describe('ruleAllows', () => {
  it.each<[string, PolicyRule, AccessAttributes, boolean]>([
    ['a listed verb', readPods, resource(), true],
    ['no unlisted verb', readPods, resource({ verb: 'watch' }), false],
    ['any verb by *', { ...readPods, verbs: ['*'] }, resource({ verb: 'impersonate' }), true],
    ['no other API group', readPods, resource({ group: 'apps' }), false],
    ['any API group by *', { ...readPods, apiGroups: ['*'] }, resource({ group: 'apps' }), true],
    ['nothing without API groups', { verbs: ['*'], resources: ['*'] }, resource(), false],
    ['no other resource', readPods, resource({ resource: 'secrets' }), false],
    ['no subresource by its resource', readPods, resource({ subresource: 'log' }), false],
    ['a listed subresource', { ...readPods, resources: ['pods/log'] }, resource({ subresource: 'log' }), true],
    ['no resource by its subresource', { ...readPods, resources: ['pods/log'] }, resource(), false],
    ['everything by resource *', { ...readPods, resources: ['*'] }, resource({ subresource: 'log' }), true],
    ['a subresource of any resource by */sub', { ...readPods, resources: ['*/scale'] }, resource({ subresource: 'scale' }), true],
    ['no other subresource by */sub', { ...readPods, resources: ['*/scale'] }, resource({ subresource: 'upscale' }), false],
    ['no subresource by pods/*', { ...readPods, resources: ['pods/*'] }, resource({ subresource: 'log' }), false],
    ['no subresource by a slash in the resource', { ...readPods, resources: ['*/log'] }, resource({ resource: 'pods/log' }), false],
    ['a listed name', { ...readPods, resourceNames: ['a'] }, resource({ name: 'a' }), true],
    ['no other name', { ...readPods, resourceNames: ['a'] }, resource({ name: 'b' }), false],
    ['no request without a name by a rule with names', { ...readPods, resourceNames: ['a'] }, resource({ verb: 'list' }), false],
    ['a listed path', { verbs: ['get'], nonResourceURLs: ['/healthz'] }, path('/healthz'), true],
    ['no path below a listed path', { verbs: ['get'], nonResourceURLs: ['/healthz'] }, path('/healthz/etcd'), false],
    ['paths by prefix', { verbs: ['get'], nonResourceURLs: ['/healthz/*'] }, path('/healthz/etcd'), true],
    ['no path that is shorter than the prefix', { verbs: ['get'], nonResourceURLs: ['/healthz/*'] }, path('/healthz'), false],
    ['every path by *', { verbs: ['get'], nonResourceURLs: ['*'] }, path('/x'), true],
    ['no path with another verb', { verbs: ['get'], nonResourceURLs: ['*'] }, path('/x', 'post'), false],
    ['no path by resources', { verbs: ['*'], apiGroups: ['*'], resources: ['*'] }, path('/x'), false],
    ['no resource by paths', { verbs: ['*'], nonResourceURLs: ['*'] }, resource(), false],
  ])('allows %s', (_name, rule, attributes, expected) => {
    expect(ruleAllows(rule, attributes)).toBe(expected);
  });
});

function policy(bindings: readonly RbacBinding[], roles: Readonly<Record<string, readonly PolicyRule[]>>): Policy {
  return {
    clusterRoleBindings: () => bindings.filter(({ namespace }) => namespace === undefined),
    roleBindings: (wanted) => bindings.filter(({ namespace }) => namespace === wanted),
    rules: (ref, namespace) => roles[ref.kind === 'Role' ? `${namespace}/${ref.name}` : ref.name],
  };
}

const alice = { name: 'alice', groups: ['team-a', 'system:authenticated'] };
const toAlice = [{ kind: 'User', name: 'alice' }];
const reader = { kind: 'ClusterRole', name: 'reader' };
const roles = { reader: [readPods], 'prod/local': [{ ...readPods, verbs: ['delete'] }] };

describe('decide', () => {
  it.each<[string, readonly RbacBinding[], AccessAttributes, string]>([
    [
      'a user in every namespace by a ClusterRoleBinding',
      [{ name: 'b', subjects: toAlice, roleRef: reader }],
      resource({ namespace: 'prod' }),
      'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to User "alice"',
    ],
    [
      'a user by a group',
      [{ name: 'b', subjects: [{ kind: 'Group', name: 'team-a' }], roleRef: reader }],
      resource(),
      'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to Group "team-a"',
    ],
    [
      'a user by the first matching subject',
      [{ name: 'b', subjects: [{ kind: 'User', name: 'bob' }, { kind: 'Group', name: 'team-a' }, ...toAlice], roleRef: reader }],
      resource(),
      'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to Group "team-a"',
    ],
    [
      'a user in the namespace of a RoleBinding',
      [{ name: 'b', namespace: 'prod', subjects: toAlice, roleRef: { kind: 'Role', name: 'local' } }],
      resource({ verb: 'delete', namespace: 'prod' }),
      'RBAC: allowed by RoleBinding "b/prod" of Role "local" to User "alice"',
    ],
    [
      'a user by a RoleBinding to a ClusterRole',
      [{ name: 'b', namespace: 'prod', subjects: toAlice, roleRef: reader }],
      resource({ namespace: 'prod' }),
      'RBAC: allowed by RoleBinding "b/prod" of ClusterRole "reader" to User "alice"',
    ],
    [
      'a user with another binding to a missing role',
      [
        { name: 'a', subjects: toAlice, roleRef: { kind: 'ClusterRole', name: 'gone' } },
        { name: 'b', subjects: toAlice, roleRef: reader },
      ],
      resource(),
      'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to User "alice"',
    ],
  ])('allows %s', (_name, bindings, attributes, reason) => {
    expect(decide(alice, attributes, policy(bindings, roles))).toEqual({ allowed: true, reason });
  });

  it.each<[string, readonly RbacBinding[], AccessAttributes, string]>([
    ['a request without bindings', [], resource(), ''],
    [
      'a request with a binding to another user',
      [{ name: 'b', subjects: [{ kind: 'User', name: 'bob' }], roleRef: reader }],
      resource(),
      '',
    ],
    [
      'a request with a binding to a subject of unknown kind',
      [{ name: 'b', subjects: [{ kind: 'Robot', name: 'alice' }], roleRef: reader }],
      resource(),
      '',
    ],
    [
      'a request outside the namespace of a RoleBinding',
      [{ name: 'b', namespace: 'prod', subjects: toAlice, roleRef: reader }],
      resource({ namespace: 'test' }),
      '',
    ],
    ['a cluster-scoped request with a RoleBinding', [{ name: 'b', namespace: 'prod', subjects: toAlice, roleRef: reader }], resource(), ''],
    [
      'a request and names a missing role',
      [{ name: 'b', subjects: toAlice, roleRef: { kind: 'ClusterRole', name: 'gone' } }],
      path('/x'),
      'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found',
    ],
    [
      'a request and names each missing role once',
      [
        { name: 'a', subjects: toAlice, roleRef: { kind: 'ClusterRole', name: 'gone' } },
        { name: 'b', namespace: 'prod', subjects: toAlice, roleRef: { kind: 'ClusterRole', name: 'gone' } },
        { name: 'c', namespace: 'prod', subjects: toAlice, roleRef: { kind: 'Role', name: 'lost' } },
      ],
      resource({ namespace: 'prod' }),
      'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "lost" not found]',
    ],
  ])('denies %s', (_name, bindings, attributes, reason) => {
    expect(decide(alice, attributes, policy(bindings, roles))).toEqual({ allowed: false, reason });
  });

  it('allows every request of system:masters, without a reason', () => {
    const admin = { name: 'root', groups: ['system:masters'] };
    expect(decide(admin, resource({ verb: 'delete' }), policy([], {}))).toEqual({ allowed: true, reason: '' });
  });

  describe('decide for service accounts', () => {
    const deployer = { name: 'system:serviceaccount:prod:deployer', groups: [] };
    const inProd = resource({ namespace: 'prod' });

    it('uses the namespace of the RoleBinding for a subject without a namespace', () => {
      const bindings = [{ name: 'b', namespace: 'prod', subjects: [{ kind: 'ServiceAccount', name: 'deployer' }], roleRef: reader }];
      const reason = 'RBAC: allowed by RoleBinding "b/prod" of ClusterRole "reader" to ServiceAccount "deployer/prod"';
      expect(decide(deployer, inProd, policy(bindings, roles))).toEqual({ allowed: true, reason });
    });

    it('uses the namespace of the subject', () => {
      const bindings = [{ name: 'b', subjects: [{ kind: 'ServiceAccount', name: 'deployer', namespace: 'prod' }], roleRef: reader }];
      const reason = 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to ServiceAccount "deployer/prod"';
      expect(decide(deployer, inProd, policy(bindings, roles))).toEqual({ allowed: true, reason });
    });

    it('never matches a subject without a namespace in a ClusterRoleBinding', () => {
      const bindings = [{ name: 'b', subjects: [{ kind: 'ServiceAccount', name: 'deployer' }], roleRef: reader }];
      expect(decide(deployer, inProd, policy(bindings, roles)).allowed).toBe(false);
    });
  });
});

describe('findUserRules', () => {
  const bindings: readonly RbacBinding[] = [
    { name: 'a', subjects: toAlice, roleRef: reader },
    { name: 'b', subjects: toAlice, roleRef: { kind: 'ClusterRole', name: 'gone' } },
    { name: 'c', namespace: 'prod', subjects: toAlice, roleRef: { kind: 'Role', name: 'local' } },
  ];

  it('joins the rules of the cluster and the namespace, and reports missing roles', () => {
    expect(findUserRules(alice, 'prod', policy(bindings, roles))).toEqual({
      rules: [readPods, { ...readPods, verbs: ['delete'] }],
      missing: [{ kind: 'ClusterRole', name: 'gone' }],
      errors: ['clusterrole.rbac.authorization.k8s.io "gone" not found'],
    });
  });

  it('returns only cluster rules without a namespace', () => {
    expect(findUserRules(alice, '', policy(bindings, roles)).rules).toEqual([readPods]);
  });
});
