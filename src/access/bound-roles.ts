// Counts the bindings that grant each role to each subject, by namespace.

/** The part of a binding that `BoundRoles` needs. */
export interface ReducedBinding {
  /** Key of the role. */
  readonly role: string;
  /** Namespace in which the binding grants its role; empty for all namespaces. */
  readonly namespace: string;
  readonly subjects: readonly string[];
}

/**
 * The roles that bindings grant to each subject. The cost of reading the roles of one subject does not depend on the number of bindings.
 */
export class BoundRoles {
  readonly #counts = new Map<string, Map<string, Map<string, number>>>();

  add({ role, namespace, subjects }: ReducedBinding): void {
    for (const subject of subjects) {
      const namespaces = getOrAdd(this.#counts, subject, () => new Map<string, Map<string, number>>());
      const roles = getOrAdd(namespaces, namespace, () => new Map<string, number>());
      roles.set(role, (roles.get(role) ?? 0) + 1);
    }
  }

  /** Removes a binding that was added. */
  remove({ role, namespace, subjects }: ReducedBinding): void {
    for (const subject of subjects) {
      const namespaces = this.#counts.get(subject);
      const roles = namespaces?.get(namespace);
      if (namespaces === undefined || roles === undefined) continue;
      const left = (roles.get(role) ?? 0) - 1;
      if (left > 0) roles.set(role, left);
      else roles.delete(role);
      if (roles.size === 0) namespaces.delete(namespace);
      if (namespaces.size === 0) this.#counts.delete(subject);
    }
  }

  /** Returns whether a binding names the subject. */
  has(subject: string): boolean {
    return this.#counts.has(subject);
  }

  /**
   * Yields each role that bindings grant to a subject, with the namespace of the bindings: at most MAX_ROLES roles for each namespace, and
   * all roles of ClusterRoleBindings.
   */
  *rolesOf(subject: string): Generator<Pick<ReducedBinding, 'role' | 'namespace'>> {
    for (const [namespace, roles] of this.#counts.get(subject) ?? []) {
      let left = namespace === '' ? Infinity : MAX_ROLES;
      for (const role of roles.keys()) {
        if (left-- === 0) break;
        yield { role, namespace };
      }
    }
  }

  clear(): void {
    this.#counts.clear();
  }
}

/**
 * Maximum number of roles that RoleBindings in one namespace grant to one subject; additional roles are ignored. The limit is needed
 * because users can create RoleBindings in their namespaces. It does not apply to ClusterRoleBindings.
 */
const MAX_ROLES = 256;

function getOrAdd<V>(entries: Map<string, V>, key: string, create: () => V): V {
  const value = entries.get(key) ?? create();
  entries.set(key, value);
  return value;
}
