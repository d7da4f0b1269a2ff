import { describe, expect, it } from '@jest/globals';
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from '../../kinds/rbac.ts';
import { created, createdText, createErrors, updateErrors } from './write.ts';

describe('roles', () => {
  it('write their rules in the order of the struct', () => {
    expect(
      createdText(clusterRoleKind, { rules: [{ resources: ['secrets'], resourceNames: ['s'], apiGroups: [''], verbs: ['get'] }] }),
    ).toBe(
      '{"kind":"ClusterRole","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"x"},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["secrets"],"resourceNames":["s"]}]}',
    );
  });

  it('without rules say so', () => {
    expect(createdText(roleKind, { rules: [] })).toMatch(/"rules":null}$/);
  });

  it('need verbs and something to use them on', () => {
    expect(createErrors(roleKind, { rules: [{}] })).toEqual([
      'rules[0].verbs: Required value: verbs must contain at least one value',
      'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
      'rules[0].resources: Required value: resource rules must supply at least one resource',
    ]);
  });

  it('speak of URLs for the whole cluster, and of nothing else beside them', () => {
    const rules = [{ verbs: ['get'], nonResourceURLs: ['/x'], resources: ['a'] }];
    const mixed = 'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs';
    expect(createErrors(clusterRoleKind, { rules })).toEqual([mixed]);
    expect(createErrors(roleKind, { rules })).toEqual([
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
      mixed,
    ]);
  });

  it('may have any name that fits into a path', () => {
    expect(createErrors(roleKind, { metadata: { name: 'System:Node' } })).toEqual([]);
  });

  it('are aggregated by at least one selector', () => {
    expect(createErrors(clusterRoleKind, { aggregationRule: {} })).toEqual([
      'aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil',
    ]);
  });
});

describe('bindings', () => {
  const roleRef = { kind: 'ClusterRole', name: 'see' };

  it('fill in the RBAC group for users, groups and the role', () => {
    const subjects = [
      { kind: 'User', name: 'a' },
      { kind: 'Group', name: 'g' },
      { kind: 'ServiceAccount', name: 's', namespace: 'n' },
    ];
    expect(createdText(clusterRoleBindingKind, { roleRef, subjects })).toBe(
      '{"kind":"ClusterRoleBinding","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"x"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"a"},{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"g"},{"kind":"ServiceAccount","name":"s","namespace":"n"}],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"see"}}',
    );
  });

  it('need a role that exists in their scope', () => {
    expect(createErrors(clusterRoleBindingKind, { roleRef: { kind: 'Role', name: 'a/b' } })).toEqual([
      'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
      'roleRef.name: Invalid value: "a/b": may not contain \'/\'',
    ]);
    expect(createErrors(roleBindingKind, { roleRef: { apiGroup: 'q' } })).toEqual([
      'roleRef.apiGroup: Unsupported value: "q": supported values: "rbac.authorization.k8s.io"',
      'roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole"',
      'roleRef.name: Required value',
    ]);
  });

  it('check their subjects', () => {
    const subjects = [
      { kind: 'ServiceAccount', name: 's', apiGroup: 'z' },
      { kind: 'User', apiGroup: 'q' },
      { kind: 'Foo', name: 'n' },
    ];
    const common = [
      'subjects[0].apiGroup: Unsupported value: "z": supported values: ""',
      'subjects[1].name: Required value',
      'subjects[1].apiGroup: Unsupported value: "q": supported values: "rbac.authorization.k8s.io"',
      'subjects[2].kind: Unsupported value: "Foo": supported values: "ServiceAccount", "User", "Group"',
    ];
    expect(createErrors(roleBindingKind, { roleRef, subjects })).toEqual(common);
    expect(createErrors(clusterRoleBindingKind, { roleRef, subjects })).toEqual([
      common[0],
      'subjects[0].namespace: Required value',
      ...common.slice(1),
    ]);
  });

  it('are for one role forever', () => {
    expect(updateErrors(clusterRoleBindingKind, { roleRef: { ...roleRef, name: 'other' } }, { roleRef })).toEqual([
      'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"other"}: cannot change roleRef',
    ]);
  });

  it('show their subjects by kind', () => {
    const subjects = [
      { kind: 'User', name: 'a' },
      { kind: 'User', name: 'b' },
      { kind: 'ServiceAccount', name: 's', namespace: 'n' },
    ];
    expect(roleBindingKind.table.cells(created(roleBindingKind, { roleRef, subjects }), 0)).toEqual([
      'x',
      'ClusterRole/see',
      '<unknown>',
      'a, b',
      '',
      'n/s',
    ]);
  });
});

describe('all four kinds', () => {
  it.each([roleKind, clusterRoleKind, roleBindingKind, clusterRoleBindingKind])(
    'accept a PUT without resourceVersion: $kind',
    ({ rules, fieldLabelErrors }) => {
      expect(rules).toMatchObject({ unconditionalUpdate: true, deleteReturnsObject: false, hasGeneration: false });
      expect(fieldLabelErrors).toBe('generic');
    },
  );
});
