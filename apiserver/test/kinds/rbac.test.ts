import { describe, expect, it } from '@jest/globals';
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from '../../kinds/rbac.ts';
import { createdObject, createdText, createErrors, updateErrors } from './write.ts';

describe('roleKind and clusterRoleKind', () => {
  it('encodes rules in the order of the Go struct', () => {
    expect(
      createdText(clusterRoleKind, { rules: [{ resources: ['secrets'], resourceNames: ['s'], apiGroups: [''], verbs: ['get'] }] }),
    ).toBe(
      '{"kind":"ClusterRole","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"x"},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["secrets"],"resourceNames":["s"]}]}',
    );
  });

  it('encodes empty rules as null', () => {
    expect(createdText(roleKind, { rules: [] })).toMatch(/"rules":null}$/);
  });

  it('rejects rules without verbs or resources', () => {
    expect(createErrors(roleKind, { rules: [{}] })).toEqual([
      'rules[0].verbs: Required value: verbs must contain at least one value',
      'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
      'rules[0].resources: Required value: resource rules must supply at least one resource',
    ]);
  });

  it('rejects non-resource URLs in Roles, and in rules with resources', () => {
    const rules = [{ verbs: ['get'], nonResourceURLs: ['/x'], resources: ['a'] }];
    const mixed = 'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs';
    expect(createErrors(clusterRoleKind, { rules })).toEqual([mixed]);
    expect(createErrors(roleKind, { rules })).toEqual([
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
      mixed,
    ]);
  });

  it('accepts any path segment as a name', () => {
    expect(createErrors(roleKind, { metadata: { name: 'System:Node' } })).toEqual([]);
  });

  it('rejects an aggregation rule without selectors', () => {
    expect(createErrors(clusterRoleKind, { aggregationRule: {} })).toEqual([
      'aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil',
    ]);
  });
});

describe('roleBindingKind and clusterRoleBindingKind', () => {
  const roleRef = { kind: 'ClusterRole', name: 'see' };

  it('fills in the RBAC group for users, groups and the role', () => {
    const subjects = [
      { kind: 'User', name: 'a' },
      { kind: 'Group', name: 'g' },
      { kind: 'ServiceAccount', name: 's', namespace: 'n' },
    ];
    expect(createdText(clusterRoleBindingKind, { roleRef, subjects })).toBe(
      '{"kind":"ClusterRoleBinding","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"x"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"a"},{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"g"},{"kind":"ServiceAccount","name":"s","namespace":"n"}],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"see"}}',
    );
  });

  it('rejects a roleRef of another scope or group', () => {
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

  it('rejects invalid subjects', () => {
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

  it('rejects a change to roleRef', () => {
    expect(updateErrors(clusterRoleBindingKind, { roleRef: { ...roleRef, name: 'other' } }, { roleRef })).toEqual([
      'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole","Name":"other"}: cannot change roleRef',
    ]);
  });

  it('prints subjects by kind in tables', () => {
    const subjects = [
      { kind: 'User', name: 'a' },
      { kind: 'User', name: 'b' },
      { kind: 'ServiceAccount', name: 's', namespace: 'n' },
    ];
    expect(roleBindingKind.table.cells(createdObject(roleBindingKind, { roleRef, subjects }), 0)).toEqual([
      'x',
      'ClusterRole/see',
      '<unknown>',
      'a, b',
      '',
      'n/s',
    ]);
  });
});

describe('RBAC kinds', () => {
  it.each([roleKind, clusterRoleKind, roleBindingKind, clusterRoleBindingKind])(
    'accepts a PUT of $kind without resourceVersion',
    ({ rules, fieldLabelErrors }) => {
      expect(rules).toMatchObject({ unconditionalUpdate: true, deleteReturnsObject: false });
      expect(fieldLabelErrors).toBe('generic');
    },
  );
});
