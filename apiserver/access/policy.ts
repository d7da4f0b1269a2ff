// Authorization by the stored roles and bindings.

import { accessForbidden } from '../../src/kubernetes/access-forbidden.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import {
  type AccessAttributes,
  decide,
  type Policy,
  type PolicyRule,
  type RbacBinding,
  type RbacSubject,
  type RoleRef,
} from '../../src/kubernetes/rbac.ts';
import type { User } from './user.ts';

export const RBAC_GROUP = 'rbac.authorization.k8s.io';

/** Reader of stored objects. The namespace is empty for cluster-scoped kinds. */
export interface ObjectSource {
  get(group: string, plural: string, namespace: string, name: string): KubeObject | undefined;
  /** Returns the objects of one namespace, or of all namespaces. Every call returns the same reference for an unchanged object. */
  list(group: string, plural: string, namespace?: string): readonly KubeObject[];
}

/** Throws a Forbidden StatusError unless the policy allows the request. */
export function authorize(user: User, attributes: AccessAttributes, policy: Policy): void {
  const { allowed, reason } = decide(user, attributes, policy);
  if (!allowed) throw accessForbidden(user, attributes, reason);
}

/** Returns a policy that reads the stored roles and bindings for each decision. */
export function createStoredPolicy(objects: ObjectSource): Policy {
  return {
    clusterRoleBindings: () => toBindings(objects.list(RBAC_GROUP, 'clusterrolebindings')),
    roleBindings: (namespace) => toBindings(objects.list(RBAC_GROUP, 'rolebindings', namespace)),
    rules(ref, namespace) {
      const role: StoredRole | undefined = findRole(objects, ref, namespace);
      return role && (role.rules ?? []);
    },
  };
}

interface StoredRole extends KubeObject {
  readonly rules?: readonly PolicyRule[];
}

interface StoredBinding extends KubeObject {
  readonly subjects?: readonly RbacSubject[];
  readonly roleRef?: RoleRef;
}

/** Cache of converted bindings, by stored object. Stored objects are immutable, and a decision can read many bindings. */
const bindingCache = new WeakMap<KubeObject, RbacBinding>();

function* toBindings(objects: readonly KubeObject[]): Generator<RbacBinding> {
  for (const object of objects) {
    const binding = bindingCache.get(object) ?? toBinding(object);
    bindingCache.set(object, binding);
    yield binding;
  }
}

function toBinding(object: KubeObject): RbacBinding {
  const { metadata, subjects = [], roleRef = { kind: '', name: '' } }: StoredBinding = object;
  const { name = '', namespace } = metadata;
  return { name, ...(namespace !== undefined && { namespace }), subjects, roleRef };
}

function findRole(objects: ObjectSource, { kind, name }: RoleRef, namespace: string | undefined): KubeObject | undefined {
  if (kind === 'ClusterRole') return objects.get(RBAC_GROUP, 'clusterroles', '', name);
  return kind === 'Role' && namespace !== undefined ? objects.get(RBAC_GROUP, 'roles', namespace, name) : undefined;
}
