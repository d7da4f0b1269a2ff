// An index over roles and their bindings: the names that a permission covers for each user. For a namespaced kind, it also contains
// Roles and RoleBindings. The cost of an update depends on the change, not on the number of roles and bindings.

import { map, merge, Observable, type OperatorFunction } from 'rxjs';
import type { ApiObject, ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '../api/resources.ts';
import type { Informer } from '../kube/informer.ts';
import { objectKey } from '../kube/paths.ts';
import type { Batch } from '../kube/store.ts';
import { dns1123SubdomainProblems } from '../kubernetes/names.ts';
import { groupMatches, type PolicyRule, type RbacSubject, resourceMatches, SUPERUSERS, verbMatches } from '../kubernetes/rbac.ts';
import { Recent } from '../std/recent.ts';
import type { User } from './user.ts';
import { type Grant, inAnyNamespace, Visibility } from './visibility.ts';

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
  readonly roles: Followed<ClusterRole>;
  readonly bindings: Followed<ClusterRoleBinding>;
  /** Roles and RoleBindings, which grant permissions on objects of their namespace; none by default. */
  readonly inNamespaces?: NamespacedRbacInformers | undefined;
}

/** The informers of Roles and RoleBindings. */
export interface NamespacedRbacInformers {
  readonly roles: Followed<Role>;
  readonly bindings: Followed<RoleBinding>;
}

type Followed<T extends ApiObject> = Pick<Informer<T>, 'store' | 'batches$'>;

/** The part of a binding that is indexed. */
export type IndexedBinding = Pick<RoleBinding, 'roleRef' | 'subjects'>;

/**
 * Keeps the names that RBAC grants for one permission. Each change returns the subjects that it may affect. The key of a Role or a
 * RoleBinding is `namespace/name`; the key of a ClusterRole or a ClusterRoleBinding is its name, which contains no slash.
 */
export class RbacIndex {
  readonly #permission: Permission;
  /** Names that each role grants; roles that grant nothing are absent. */
  readonly #roles = new Map<string, Visibility>();
  readonly #bindings = new Map<string, Binding>();
  /** Keys of bindings by role and by subject. */
  readonly #byRole = new Map<string, Set<string>>();
  readonly #bySubject = new Map<string, Set<string>>();
  /** Names of users by their subjects, with the number of the last change that they contain. */
  #views = new Recent<{ readonly visibility: Visibility; readonly changes: number }>(MAX_VIEWS);
  /** Instances in use by fingerprint: users with the same names share one. */
  readonly #shared = new Recent<WeakRef<Visibility>, number>(MAX_VIEWS);
  /** Number of changes so far, and of the last change of each subject. */
  #changes = 0;
  readonly #changedAt = new Map<string, number>();

  constructor(permission: Permission) {
    this.#permission = permission;
  }

  /**
   * Follows roles and bindings until unsubscribed, beginning with the objects in the stores. Emits the subjects that each later batch
   * may affect. One subscription at a time.
   */
  follow({ roles, bindings, inNamespaces }: RbacInformers): Observable<ReadonlySet<string>> {
    return new Observable((subscriber) => {
      this.#clear();
      const setRole = (key: string, role: ClusterRole | Role | undefined) => this.setRole(key, role);
      const setBinding = (key: string, binding: ClusterRoleBinding | RoleBinding | undefined) => this.setBinding(key, binding);
      return merge(
        ...[roles, ...(inNamespaces ? [inNamespaces.roles] : [])].map((each) => following<ClusterRole | Role>(each, setRole)),
        ...[bindings, ...(inNamespaces ? [inNamespaces.bindings] : [])].map((each) =>
          following<ClusterRoleBinding | RoleBinding>(each, setBinding),
        ),
      ).subscribe(subscriber);
    });
  }

  /** Stores the current state of a role; undefined if it was deleted. */
  setRole(key: string, role: Pick<ClusterRole, 'rules'> | undefined): readonly string[] {
    const before = this.#roles.get(key) ?? Visibility.nothing;
    // An aggregated role without any rules has null on the wire.
    const granted = grantedBy(role?.rules ?? [], this.#permission);
    const namespace = namespaceOf(key);
    const now = namespace === '' ? granted : granted.within(namespace);
    if (before.equals(now)) return [];
    if (now.isNothing) this.#roles.delete(key);
    else this.#roles.set(key, now);
    return this.#changed([...(this.#byRole.get(key) ?? [])].flatMap((binding) => this.#bindings.get(binding)?.subjects ?? []));
  }

  /** Stores the current state of a binding; undefined if it was deleted. */
  setBinding(key: string, binding: IndexedBinding | undefined): readonly string[] {
    const before = this.#bindings.get(key);
    if (before !== undefined) this.#remove(key, before);
    const now = binding && toBinding(key, binding);
    if (now !== undefined) this.#add(key, now);
    return this.#changed([before, now].flatMap((each) => (each !== undefined && this.#roles.has(each.role) ? each.subjects : [])));
  }

  /** Returns the names that the permission covers for a user. */
  namesFor(user: User): Visibility {
    if (user.groups.includes(SUPERUSERS)) return Visibility.everything;
    const subjects = subjectsOf(user);
    // An identity provider may permit any character in names.
    const key = JSON.stringify(subjects);
    const known = this.#views.get(key);
    if (known !== undefined && subjects.every((subject) => (this.#changedAt.get(subject) ?? 0) <= known.changes)) return known.visibility;
    const visibility = this.#share(Visibility.union(this.#distinctGrantsOf(subjects)));
    this.#views.set(key, { visibility, changes: this.#changes });
    return visibility;
  }

  /** Returns whether the permission, of a kind without namespaces, covers one of these names for a user. */
  allows(user: User, names: readonly string[]): boolean {
    if (user.groups.includes(SUPERUSERS)) return true;
    for (const { granted } of this.#grantsOf(subjectsOf(user))) if (names.some((name) => granted.includes(name))) return true;
    return false;
  }

  /** Yields the names that each binding grants to these subjects. */
  *#grantsOf(subjects: readonly string[]): Generator<Grant> {
    for (const subject of subjects)
      for (const key of this.#bySubject.get(subject) ?? []) {
        const { role, namespace } = this.#bindings.get(key) as Binding;
        const granted = this.#roles.get(role);
        // The names of a Role are already those of its namespace.
        if (granted !== undefined) yield { granted, namespace: namespace === '' || namespaceOf(role) !== '' ? undefined : namespace };
      }
  }

  /** Returns the same without repetitions: many bindings in a namespace may grant one role with many names. */
  #distinctGrantsOf(subjects: readonly string[]): readonly Grant[] {
    const namespaces = new Map<Visibility, Set<string | undefined>>();
    return [...this.#grantsOf(subjects)].filter(({ granted, namespace }) => {
      const known = namespaces.get(granted) ?? new Set();
      namespaces.set(granted, known);
      return known.size < known.add(namespace).size;
    });
  }

  /** Returns the instance with the same names that other users have, if there is one. */
  #share(visibility: Visibility): Visibility {
    if (visibility.isEverything) return Visibility.everything;
    const known = this.#shared.get(visibility.fingerprint)?.deref();
    if (known?.equals(visibility)) return known;
    this.#shared.set(visibility.fingerprint, new WeakRef(visibility));
    return visibility;
  }

  /** Records the subjects of a change, and returns them. */
  #changed(subjects: readonly string[]): readonly string[] {
    if (subjects.length === 0) return subjects;
    this.#changes += 1;
    if (this.#changedAt.size > MAX_SUBJECTS) this.#forget();
    for (const subject of subjects) this.#changedAt.set(subject, this.#changes);
    return subjects;
  }

  #add(key: string, binding: Binding): void {
    this.#bindings.set(key, binding);
    addTo(this.#byRole, binding.role, key);
    for (const subject of binding.subjects) addTo(this.#bySubject, subject, key);
  }

  #remove(key: string, binding: Binding): void {
    this.#bindings.delete(key);
    removeFrom(this.#byRole, binding.role, key);
    for (const subject of binding.subjects) removeFrom(this.#bySubject, subject, key);
  }

  #clear(): void {
    for (const held of [this.#roles, this.#bindings, this.#byRole, this.#bySubject]) held.clear();
    this.#forget();
  }

  /** Forgets all results. */
  #forget(): void {
    this.#views = new Recent(MAX_VIEWS);
    this.#changedAt.clear();
  }
}

/** Returns the keys of the subjects that a user is: `User/<name>` and `Group/<name>` for each group. */
export function subjectsOf({ username, groups }: Pick<User, 'username' | 'groups'>): readonly string[] {
  return [`User/${username}`, ...groups.map((group) => `Group/${group}`)];
}

interface Binding {
  /** Key of the role. */
  readonly role: string;
  /** Namespace that the binding grants its role in; empty for all. */
  readonly namespace: string;
  readonly subjects: readonly string[];
}

/** Maximum number of results that are kept. */
const MAX_VIEWS = 10_000;
/** Number of changed subjects above which all results are forgotten. */
const MAX_SUBJECTS = 100_000;

/** Returns the namespace in a key; empty for a cluster-scoped object. */
function namespaceOf(key: string): string {
  return key.slice(0, Math.max(key.indexOf('/'), 0));
}

function toBinding(key: string, { roleRef, subjects }: IndexedBinding): Binding {
  const namespace = namespaceOf(key);
  return {
    role: roleRef.kind === 'Role' ? `${namespace}/${roleRef.name}` : roleRef.name,
    namespace,
    subjects: (subjects ?? []).flatMap((subject) => subjectKeys(subject, namespace)),
  };
}

/** Returns the key of a binding's subject in the format of `subjectsOf`; none for a subject that matches no user. */
function subjectKeys({ kind, name, namespace }: RbacSubject, bindingNamespace: string): readonly string[] {
  if (kind === 'User' || kind === 'Group') return [`${kind}/${name}`];
  const own = namespace || bindingNamespace;
  return kind === 'ServiceAccount' && own !== '' ? [`User/system:serviceaccount:${own}:${name}`] : [];
}

function grantedBy(rules: readonly PolicyRule[], permission: Permission): Visibility {
  const names = grantedNames(rules, permission);
  if (names === undefined) return Visibility.everything;
  if (names.size === 0) return Visibility.nothing;
  return new Visibility(permission.namespaced === true ? new Set([...names].map(inAnyNamespace)) : names);
}

/** Returns at most one rule that grants the same names for a permission: the author of a role may have written long lists. */
export function rulesFor(permission: Permission, rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const names = grantedNames(rules, permission);
  if (names?.size === 0) return [];
  const { verbs, group, resource, subresource } = permission;
  const resources = [subresource === undefined ? resource : `${resource}/${subresource}`];
  return [{ verbs, apiGroups: [group], resources, ...(names && { resourceNames: [...names] }) }];
}

/**
 * Returns the names that rules grant for a permission; undefined for all names. Leaves out texts that are the name of no object in a
 * namespace, which Kubernetes admits.
 */
function grantedNames(rules: readonly PolicyRule[], permission: Permission): ReadonlySet<string> | undefined {
  const granted = new Set<string>();
  for (const rule of rules) {
    if (!isAbout(rule, permission)) continue;
    const { resourceNames: names = [] } = rule;
    if (names.length === 0 || (permission.subresource === undefined && names.includes(''))) return undefined;
    for (const name of names) if (permission.namespaced !== true || dns1123SubdomainProblems(name).length === 0) granted.add(name);
  }
  return granted;
}

function isAbout(rule: PolicyRule, { verbs, group, resource, subresource }: Permission): boolean {
  if (!verbs.some((verb) => verbMatches(rule, verb)) || !groupMatches(rule, group)) return false;
  return subresource === undefined ? resourceMatches(rule, resource) : resourceMatches(rule, `${resource}/${subresource}`, subresource);
}

/** Sets all objects of an informer, then those of each batch. Emits the subjects that a batch may affect, after all of it is applied. */
function following<T extends ApiObject>(
  { store, batches$ }: Followed<T>,
  set: (key: string, object: T | undefined) => readonly string[],
): Observable<ReadonlySet<string>> {
  for (const object of store.list()) set(objectKey(object), object);
  return batches$.pipe(affectedBy(set));
}

function affectedBy<T extends ApiObject>(
  set: (key: string, object: T | undefined) => readonly string[],
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
