import { expect, it } from '@jest/globals';
import type { ClusterRole, ClusterRoleBinding } from '../../src/api/resources.ts';
import { issueRules, subjectsOf } from '../../src/tokens/issue-permissions.ts';

it('an aggregated role that nothing was added to has null for its rules, and grants nothing', () => {
  expect(issueRules({ rules: null } as unknown as ClusterRole)).toEqual([]);
  expect(issueRules({})).toEqual([]);
});

it('a binding without subjects is for nobody', () => {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'any' };
  expect(subjectsOf({ metadata: {}, roleRef, subjects: null } as unknown as ClusterRoleBinding)).toEqual([]);
});
