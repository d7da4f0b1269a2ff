// Stored objects for tests: a list instead of a store.

import type { KubeObject, ObjectMeta } from '../../../src/kubernetes/object.ts';
import type { ObjectSource } from '../../access/policy.ts';

const RBAC = 'rbac.authorization.k8s.io';

/** Returns an ObjectSource over these objects. */
export function storedObjects(...objects: readonly KubeObject[]): ObjectSource {
  const list = (group: string, plural: string, namespace?: string) =>
    objects.filter(
      ({ apiVersion, kind, metadata }) =>
        groupOf(apiVersion) === group &&
        `${kind.toLowerCase()}s` === plural &&
        (namespace === undefined || (metadata.namespace ?? '') === namespace),
    );
  return { list, get: (group, plural, namespace, name) => list(group, plural, namespace).find(({ metadata }) => metadata.name === name) };
}

/** Returns an object of the core group. */
export function core(kind: string, metadata: ObjectMeta, rest: Readonly<Record<string, unknown>> = {}): KubeObject {
  return { apiVersion: 'v1', kind, metadata, ...rest };
}

/** Returns a ClusterRole, or a Role in a namespace. */
export function role(name: string, rules: readonly unknown[], namespace?: string): KubeObject {
  const kind = namespace === undefined ? 'ClusterRole' : 'Role';
  return { apiVersion: `${RBAC}/v1`, kind, metadata: { name, ...(namespace !== undefined && { namespace }) }, rules };
}

/** Returns a binding that grants a user the role with the binding's name. */
export function binding(name: string, user: string, options: { readonly namespace?: string; readonly roleKind?: string } = {}): KubeObject {
  const { namespace, roleKind = 'ClusterRole' } = options;
  return {
    apiVersion: `${RBAC}/v1`,
    kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    subjects: [{ kind: 'User', apiGroup: RBAC, name: user }],
    roleRef: { apiGroup: RBAC, kind: roleKind, name },
  };
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? String(apiVersion.split('/')[0]) : '';
}
