// An index over ClusterRoles and ClusterRoleBindings: the names that a permission covers for each user.
// The cost of an update depends on the change, not on the number of roles and bindings.

import { map, merge, Observable, type OperatorFunction } from 'rxjs';
import type { ApiObject, ClusterRole, ClusterRoleBinding } from '../api/resources.ts';
import type { Informer } from '../kube/informer.ts';
import type { Batch } from '../kube/store.ts';
import { groupMatches, type PolicyRule, type RbacSubject, resourceMatches, SUPERUSERS, verbMatches } from '../kubernetes/rbac.ts';
import type { User } from './user.ts';
import { inAnyNamespace, Visibility } from './visibility.ts';

/** A permission on named objects. One of the verbs is enough. */
export interface Permission {
  readonly verbs: readonly string[];
  readonly group: string;
  readonly resource: string;
  /** Subresource; undefined for the resource itself, whose requests without a name (lists) cover all names. */
  readonly subresource?: string;
  /** True for the objects of a namespaced kind: the names of a ClusterRole are those of objects in any namespace. False by default. */
  readonly namespaced?: boolean;
}

/** The informers that an index follows. */
export interface RbacInformers {
  readonly roles: Pick<Informer<ClusterRole>, 'store' | 'batches$'>;
  readonly bindings: Pick<Informer<ClusterRoleBinding>, 'store' | 'batches$'>;
}

/** The part of a ClusterRoleBinding that is indexed. */
export type IndexedBinding = Pick<ClusterRoleBinding, 'roleRef' | 'subjects'>;

/** Keeps the names that RBAC grants for one permission. Each change returns the subjects that it may affect. */
export class RbacIndex {
  readonly #permission: Permission;
  /** Names that each role grants; roles that grant nothing are absent. */
  readonly #roles = new Map<string, Visibility>();
  readonly #bindings = new Map<string, Binding>();
  /** Names of bindings by role and by subject. */
  readonly #byRole = new Map<string, Set<string>>();
  readonly #bySubject = new Map<string, Set<string>>();
  /** Names that several roles grant together, by the names of the roles. */
  readonly #unions = new Map<string, Visibility>();

  constructor(permission: Permission) {
    this.#permission = permission;
  }

  /**
   * Follows roles and bindings until unsubscribed, beginning with the objects in the stores. Emits the subjects that each later batch
   * may affect. One subscription at a time.
   */
  follow({ roles, bindings }: RbacInformers): Observable<ReadonlySet<string>> {
    return new Observable((subscriber) => {
      this.#clear();
      for (const role of roles.store.list()) this.setRole(role.metadata.name, role);
      for (const binding of bindings.store.list()) this.setBinding(binding.metadata.name, binding);
      return merge(
        roles.batches$.pipe(affectedBy((name, role: ClusterRole | undefined) => this.setRole(name, role))),
        bindings.batches$.pipe(affectedBy((name, binding: ClusterRoleBinding | undefined) => this.setBinding(name, binding))),
      ).subscribe(subscriber);
    });
  }

  /** Stores the current state of a ClusterRole; undefined if it was deleted. */
  setRole(name: string, role: Pick<ClusterRole, 'rules'> | undefined): readonly string[] {
    const before = this.#roles.get(name) ?? Visibility.nothing;
    // An aggregated role without any rules has null on the wire.
    const now = grantedBy(role?.rules ?? [], this.#permission);
    if (before.equals(now)) return [];
    if (now.isNothing) this.#roles.delete(name);
    else this.#roles.set(name, now);
    for (const key of this.#unions.keys()) if (key.split(SEPARATOR).includes(name)) this.#unions.delete(key);
    return [...(this.#byRole.get(name) ?? [])].flatMap((binding) => this.#bindings.get(binding)?.subjects ?? []);
  }

  /** Stores the current state of a ClusterRoleBinding; undefined if it was deleted. */
  setBinding(name: string, binding: IndexedBinding | undefined): readonly string[] {
    const before = this.#bindings.get(name);
    if (before !== undefined) this.#remove(name, before);
    const now = binding && { role: binding.roleRef.name, subjects: (binding.subjects ?? []).flatMap(subjectKeys) };
    if (now !== undefined) this.#add(name, now);
    return [before, now].flatMap((each) => (each !== undefined && this.#roles.has(each.role) ? each.subjects : []));
  }

  /** Returns the names that the permission covers for a user. */
  namesFor(user: User): Visibility {
    return user.groups.includes(SUPERUSERS) ? Visibility.everything : this.#union(this.#rolesOf(user).sort());
  }

  /** Returns whether the permission covers one of these names for a user. */
  allows(user: User, names: readonly string[]): boolean {
    if (user.groups.includes(SUPERUSERS)) return true;
    return this.#rolesOf(user).some((role) => names.some((name) => this.#roles.get(role)?.includes(name)));
  }

  /** Returns the roles of a user that grant the permission for any name. */
  #rolesOf(user: User): string[] {
    const bindings = subjectsOf(user).flatMap((subject) => [...(this.#bySubject.get(subject) ?? [])]);
    const roles = new Set(bindings.flatMap((binding) => this.#bindings.get(binding)?.role ?? []));
    return [...roles].filter((role) => this.#roles.has(role));
  }

  #union(roles: readonly string[]): Visibility {
    const [only = '', ...more] = roles;
    if (more.length === 0) return this.#roles.get(only) ?? Visibility.nothing;
    const key = roles.join(SEPARATOR);
    const known = this.#unions.get(key);
    if (known !== undefined) return known;
    if (this.#unions.size >= MAX_UNIONS) this.#unions.clear();
    const union = Visibility.union(roles.map((role) => this.#roles.get(role) ?? Visibility.nothing));
    this.#unions.set(key, union);
    return union;
  }

  #add(name: string, binding: Binding): void {
    this.#bindings.set(name, binding);
    addTo(this.#byRole, binding.role, name);
    for (const subject of binding.subjects) addTo(this.#bySubject, subject, name);
  }

  #remove(name: string, binding: Binding): void {
    this.#bindings.delete(name);
    removeFrom(this.#byRole, binding.role, name);
    for (const subject of binding.subjects) removeFrom(this.#bySubject, subject, name);
  }

  #clear(): void {
    for (const held of [this.#roles, this.#bindings, this.#byRole, this.#bySubject, this.#unions]) held.clear();
  }
}

/** Returns the keys of the subjects that a user is: `User/<name>` and `Group/<name>` for each group. */
export function subjectsOf({ username, groups }: Pick<User, 'username' | 'groups'>): readonly string[] {
  return [`User/${username}`, ...groups.map((group) => `Group/${group}`)];
}

interface Binding {
  readonly role: string;
  readonly subjects: readonly string[];
}

/** Separator of role names, which contain no newline. */
const SEPARATOR = '\n';
/** Maximum number of combinations of roles that are kept. */
const MAX_UNIONS = 10_000;

/** Returns the key of a binding's subject in the format of `subjectsOf`; none for a subject that matches no user. */
function subjectKeys({ kind, name, namespace }: RbacSubject): readonly string[] {
  if (kind === 'User' || kind === 'Group') return [`${kind}/${name}`];
  return kind === 'ServiceAccount' && namespace ? [`User/system:serviceaccount:${namespace}:${name}`] : [];
}

function grantedBy(rules: readonly PolicyRule[], permission: Permission): Visibility {
  const names = rules.filter((rule) => isAbout(rule, permission)).map(({ resourceNames = [] }) => resourceNames);
  const coversAll = (each: readonly string[]) => each.length === 0 || (permission.subresource === undefined && each.includes(''));
  if (names.some(coversAll)) return Visibility.everything;
  if (names.length === 0) return Visibility.nothing;
  return new Visibility(new Set(permission.namespaced === true ? names.flat().map(inAnyNamespace) : names.flat()));
}

function isAbout(rule: PolicyRule, { verbs, group, resource, subresource }: Permission): boolean {
  if (!verbs.some((verb) => verbMatches(rule, verb)) || !groupMatches(rule, group)) return false;
  return subresource === undefined ? resourceMatches(rule, resource) : resourceMatches(rule, `${resource}/${subresource}`, subresource);
}

/** Applies each batch as a whole, then emits the subjects that it may affect. */
function affectedBy<T extends ApiObject>(
  set: (name: string, object: T | undefined) => readonly string[],
): OperatorFunction<Batch<T>, ReadonlySet<string>> {
  return map(({ changes }) => new Set(changes.flatMap((change) => set(change.key, change.type === 'deleted' ? undefined : change.object))));
}

function addTo(sets: Map<string, Set<string>>, key: string, value: string): void {
  sets.set(key, (sets.get(key) ?? new Set()).add(value));
}

function removeFrom(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key);
  set?.delete(value);
  if (set?.size === 0) sets.delete(key);
}
