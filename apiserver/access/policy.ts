// The stored roles and bindings as the policy that access is decided by.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import type { Binding, Policy, PolicyRule, RbacSubject, RoleRef } from '../../src/kubernetes/rbac.ts';
import type { ObjectSource } from './object-source.ts';

export const RBAC_GROUP = 'rbac.authorization.k8s.io';

/** The policy in force: it reads `objects` anew for every question. */
export function storedPolicy(objects: ObjectSource): Policy {
  return {
    clusterRoleBindings: () => bindings(objects.list(RBAC_GROUP, 'clusterrolebindings')),
    roleBindings: (namespace) => bindings(objects.list(RBAC_GROUP, 'rolebindings', namespace)),
    rules(ref, namespace) {
      const role = roleOf(objects, ref, namespace);
      return role && rulesOf(role);
    },
  };
}

/** The rules of a Role or ClusterRole. */
export function rulesOf(role: KubeObject): readonly PolicyRule[] {
  const { rules = [] }: StoredRole = role;
  return rules;
}

/** A stored RoleBinding or ClusterRoleBinding, as the domain sees it. */
export function bindingOf(object: KubeObject): Binding {
  const { metadata, subjects = [], roleRef = { kind: '', name: '' } }: StoredBinding = object;
  const { name = '', namespace } = metadata;
  return { name, ...(namespace !== undefined && { namespace }), subjects, roleRef };
}

interface StoredRole extends KubeObject {
  readonly rules?: readonly PolicyRule[];
}

interface StoredBinding extends KubeObject {
  readonly subjects?: readonly RbacSubject[];
  readonly roleRef?: RoleRef;
}

/** Every request asks, and objects never change: each is read once. */
const read = new WeakMap<KubeObject, Binding>();

function* bindings(objects: readonly KubeObject[]): Generator<Binding> {
  for (const object of objects) {
    const binding = read.get(object) ?? bindingOf(object);
    read.set(object, binding);
    yield binding;
  }
}

function roleOf(objects: ObjectSource, { kind, name }: RoleRef, namespace: string | undefined): KubeObject | undefined {
  if (kind === 'ClusterRole') return objects.get(RBAC_GROUP, 'clusterroles', '', name);
  return kind === 'Role' && namespace !== undefined ? objects.get(RBAC_GROUP, 'roles', namespace, name) : undefined;
}
