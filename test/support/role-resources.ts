// Kinds of RBAC that tests write and Purser does not.

import type { ApiObject, Resource } from '../../src/api/resources.ts';
import type { NamespacedMeta } from '../../src/api/wire.ts';

const RBAC = { group: 'rbac.authorization.k8s.io', version: 'v1', namespaced: true } as const;

export type Role = ApiObject<NamespacedMeta>;

export interface RoleBinding extends ApiObject<NamespacedMeta> {
  readonly subjects?: readonly object[];
}

export const Roles: Resource<Role> = { ...RBAC, plural: 'roles', kind: 'Role' };
export const RoleBindings: Resource<RoleBinding> = { ...RBAC, plural: 'rolebindings', kind: 'RoleBinding' };
