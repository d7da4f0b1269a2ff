import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '../../../src/kubernetes/object.ts';
import type { PolicyRule } from '../../../src/kubernetes/rbac.ts';
import { createEscalationCheck } from '../../access/escalation.ts';
import { storedPolicy } from '../../access/policy.ts';
import { binding, core, role, storedObjects } from './stored-objects.ts';

const GROUP = 'rbac.authorization.k8s.io';
const bob = { name: 'bob', groups: ['system:authenticated'] };
const getConfigMaps: PolicyRule = { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] };
const getPods: PolicyRule = { apiGroups: [''], resources: ['pods'], verbs: ['get'] };
const everything: readonly PolicyRule[] = [
  { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
  { nonResourceURLs: ['*'], verbs: ['*'] },
];
const aggregated = { ...role('e', []), aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } };

function attempt(plural: string, next: KubeObject, options: { readonly old?: KubeObject; readonly held?: readonly PolicyRule[] } = {}) {
  const { old, held = [getConfigMaps] } = options;
  const objects = storedObjects(role('held', held), binding('held', 'bob'), role('pods', [getPods]), role('pods', [getPods], 'lab'));
  return () => createEscalationCheck(storedPolicy(objects))(bob, { group: GROUP, plural }, next, old);
}

describe('createEscalationCheck', () => {
  it.each([
    ['a role with what the user holds', 'clusterroles', role('e', [getConfigMaps]), {}],
    [
      'a role that the user may escalate',
      'clusterroles',
      role('e', [getPods]),
      { held: [{ apiGroups: [GROUP], resources: ['clusterroles'], verbs: ['escalate'] }] },
    ],
    [
      'one named role that the user may escalate',
      'clusterroles',
      role('e', [getPods]),
      { old: role('e', []), held: [{ apiGroups: [GROUP], resources: ['clusterroles'], resourceNames: ['e'], verbs: ['escalate'] }] },
    ],
    ['a binding to what the user holds', 'clusterrolebindings', binding('held', 'carol'), {}],
    [
      'a binding that the user may make',
      'clusterrolebindings',
      binding('pods', 'x'),
      { held: [{ apiGroups: [GROUP], resources: ['clusterroles'], verbs: ['bind'] }] },
    ],
    [
      'a binding to a missing role that the user may make',
      'clusterrolebindings',
      binding('x', 'x'),
      { held: [{ apiGroups: [GROUP], resources: ['clusterroles'], verbs: ['bind'] }] },
    ],
    ['an aggregated role by one who may do everything', 'clusterroles', aggregated, { held: everything }],
    [
      'a change of owners and finalizers alone',
      'clusterroles',
      { ...role('e', [getPods]), metadata: { name: 'e', finalizers: ['f'] } },
      { old: { ...role('e', [getPods]), metadata: { name: 'e', ownerReferences: [] } } },
    ],
    ['other kinds', 'secrets', core('Secret', { name: 's' }), {}],
  ])('passes %s', (_, plural, next, options) => {
    expect(attempt(plural, next, options)).not.toThrow();
  });

  it.each([
    [
      'a role with more than the user holds',
      'clusterroles',
      role('e', [
        { ...getPods, resources: ['pods', 'configmaps'], verbs: ['get', 'list'] },
        { nonResourceURLs: ['/x'], verbs: ['get'] },
      ]),
      {},
      'clusterroles.rbac.authorization.k8s.io "e" is forbidden: user "bob" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n' +
        '{APIGroups:[""], Resources:["configmaps"], Verbs:["list"]}\n{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}\n{NonResourceURLs:["/x"], Verbs:["get"]}',
    ],
    [
      'a new role by one who may escalate another',
      'clusterroles',
      role('e', [getPods]),
      { held: [{ apiGroups: [GROUP], resources: ['clusterroles'], resourceNames: ['e'], verbs: ['escalate'] }] },
      'is attempting to grant RBAC permissions not currently held',
    ],
    [
      'a binding to more than the user holds',
      'rolebindings',
      binding('pods', 'x', { namespace: 'lab', roleKind: 'Role' }),
      {},
      'rolebindings.rbac.authorization.k8s.io "pods" is forbidden: user "bob" (groups=["system:authenticated"]) is attempting to grant',
    ],
    [
      'a binding to a missing role',
      'clusterrolebindings',
      binding('nope', 'x'),
      {},
      'clusterrolebindings.rbac.authorization.k8s.io "nope" not found',
    ],
    [
      'a binding to another kind',
      'rolebindings',
      binding('nope', 'x', { namespace: 'lab', roleKind: 'Foo' }),
      {},
      'unsupported role reference kind: "Foo"',
    ],
    [
      'an aggregated role',
      'clusterroles',
      aggregated,
      {},
      'clusterroles.rbac.authorization.k8s.io "e" is forbidden: must have cluster-admin privileges to use the aggregationRule',
    ],
    [
      'the end of an aggregation',
      'clusterroles',
      role('e', []),
      { old: aggregated },
      'must have cluster-admin privileges to use the aggregationRule',
    ],
  ])('refuses %s', (...[, plural, next, options, message]) => {
    expect(attempt(plural, next, options)).toThrow(message);
  });

  it('lets superusers grant anything', () => {
    const check = createEscalationCheck(storedPolicy(storedObjects()));
    expect(() =>
      check({ name: 'admin', groups: ['system:masters'] }, { group: GROUP, plural: 'clusterroles' }, role('e', everything)),
    ).not.toThrow();
  });
});
