// An index of ClusterRoles and ClusterRoleBindings, and of Roles and RoleBindings for a namespaced kind. It returns the names that a
// permission covers for a user. The cost of an update depends on the change, not on the number of roles and bindings.

import { filter, map, merge, Observable } from 'rxjs';
import type { ApiObject, ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '../api/resources.ts';
import type { Informer } from '../kube/informer.ts';
import { namespaceOf, objectKeyOf } from '../kube/paths.ts';
import { validateDns1123Subdomain } from '../kubernetes/names.ts';
import { groupMatches, type PolicyRule, type RbacSubject, resourceMatches, SUPERUSERS, verbMatches } from '../kubernetes/rbac.ts';
import { BoundedCache } from '../std/bounded-cache.ts';
import { BoundRoles, type ReducedBinding } from './bound-roles.ts';
import type { User } from './user.ts';
import { type RoleGrant, toAnyNamespaceEntry, Visibility } from './visibility.ts';

/** A permission on named objects. A rule with any of the verbs grants it. */
export interface Permission {
  readonly verbs: readonly string[];
  readonly group: string;
  readonly resource: string;
  /** Subresource; undefined for the resource itself. If undefined, an empty name in a rule for `list` covers all names. */
  readonly subresource?: string;
  /**
   * True for a namespaced kind: a name in a ClusterRole stands for objects in any namespace, unless a RoleBinding restricts the role to its
   * own namespace. False by default.
   */
  readonly namespaced?: boolean;
}

/** The informers that an index follows. */
export interface RbacInformers {
  readonly roles: ListSource<ClusterRole>;
  readonly bindings: ListSource<ClusterRoleBinding>;
  /** Roles and RoleBindings, which grant permissions on objects in their namespace; none by default. */
  readonly inNamespaces?: NamespacedRbacInformers | undefined;
}

/** The informers of Roles and RoleBindings. */
export interface NamespacedRbacInformers {
  readonly roles: ListSource<Role>;
  readonly bindings: ListSource<RoleBinding>;
}

type ListSource<T extends ApiObject> = Pick<Informer<T>, 'store' | 'batches$'>;

/** The part of a binding that is indexed. */
export type IndexedBinding = Pick<RoleBinding, 'roleRef' | 'subjects'>;

/** A change to roles and bindings that affects the permission. */
export interface RbacChange {
  /** Keys of the roles that grant different names than before. */
  readonly roles: ReadonlySet<string>;
  /** Subjects of the changed bindings whose role grants names. */
  readonly subjects: ReadonlySet<string>;
  /** True if a ClusterRole or a ClusterRoleBinding changed. Such a change may grant lists in all namespaces. */
  readonly isClusterWide: boolean;
}

/**
 * Keeps the names that RBAC grants for one permission. The key of a Role or a RoleBinding is `namespace/name`; the key of a ClusterRole or
 * a ClusterRoleBinding is its name, which contains no slash. Users of a namespace can create many thousands of bindings and subjects, so
 * the cost of a change to a role does not depend on the number of its subjects, and the cost of `namesFor` does not depend on the number of
 * bindings.
 */
export class RbacIndex {
  readonly #permission: Permission;
  /** Names that each role grants; roles that grant nothing are absent. */
  readonly #roles = new Map<string, Visibility>();
  readonly #bindings = new Map<string, ReducedBinding>();
  /** Keys of bindings by role. */
  readonly #byRole = new Map<string, Set<string>>();
  readonly #boundRoles = new BoundRoles();
  /** Cached results of `namesFor`, by those subjects of the user that bindings name. */
  #views = new BoundedCache<View>(MAX_VIEWS, weightOf);
  /** Instances in use, by fingerprint. Users with the same names share one instance. */
  readonly #shared = new BoundedCache<WeakRef<Visibility>, number>(MAX_VIEWS);
  #changes = 0;
  /**
   * Number of the last change to each role, and to the bindings of each subject. Changes with a lower number than `#forgottenAt` are
   * no longer recorded.
   */
  readonly #changedAt = { roles: new Map<string, number>(), subjects: new Map<string, number>() };
  #forgottenAt = 0;

  constructor(permission: Permission) {
    this.#permission = permission;
  }

  /**
   * Follows roles and bindings until unsubscribed, beginning with the objects in the stores. Emits later changes. Allows one subscription
   * at a time.
   */
  follow({ roles, bindings, inNamespaces }: RbacInformers): Observable<RbacChange> {
    return new Observable((subscriber) => {
      this.#clear();
      const setRole = (key: string, role: ClusterRole | Role | undefined) => this.setRole(key, role);
      const setBinding = (key: string, binding: ClusterRoleBinding | RoleBinding | undefined) => this.setBinding(key, binding);
      return merge(
        ...[roles, ...(inNamespaces ? [inNamespaces.roles] : [])].map((each) => followInformer<ClusterRole | Role>(each, setRole)),
        ...[bindings, ...(inNamespaces ? [inNamespaces.bindings] : [])].map((each) =>
          followInformer<ClusterRoleBinding | RoleBinding>(each, setBinding),
        ),
      ).subscribe(subscriber);
    });
  }

  /** Stores the current state of a role (undefined if it was deleted), and returns the resulting change. */
  setRole(key: string, role: Pick<ClusterRole, 'rules'> | undefined): RbacChange {
    const before = this.#roles.get(key) ?? Visibility.nothing;
    // The rules of an aggregated role without any rules are null.
    const granted = toGrantedVisibility(role?.rules ?? [], this.#permission);
    const namespace = namespaceOf(key);
    const now = namespace === '' ? granted : granted.within(namespace);
    if (before.equals(now)) return NO_CHANGE;
    if (now.isNothing) this.#roles.delete(key);
    else this.#roles.set(key, now);
    this.#record('roles', [key]);
    return { roles: new Set([key]), subjects: NONE, isClusterWide: namespace === '' };
  }

  /** Stores the current state of a binding (undefined if it was deleted), and returns the resulting change. */
  setBinding(key: string, binding: IndexedBinding | undefined): RbacChange {
    const before = this.#bindings.get(key);
    const now = binding && toBinding(key, binding);
    if (before !== undefined && now !== undefined && isSame(before, now)) return NO_CHANGE;
    if (before !== undefined) this.#remove(key, before);
    if (now !== undefined) this.#add(key, now);
    const changed = [before, now].filter((each) => each !== undefined);
    // Record the change even if the role grants nothing now: cached results may contain names that the role granted before.
    for (const { subjects } of changed) this.#record('subjects', subjects);
    const subjects = new Set(changed.flatMap((each) => (this.#roles.has(each.role) ? each.subjects : [])));
    return { roles: NONE, subjects, isClusterWide: namespaceOf(key) === '' };
  }

  /** Number of changes so far, for `hasChanged`. */
  get changes(): number {
    return this.#changes;
  }

  /** Returns true if the names granted to a subject may have changed since the change with the number `since`. */
  hasChanged(subject: string, since: number): boolean {
    if (since === this.#changes) return false;
    if (since < this.#forgottenAt || (this.#changedAt.subjects.get(subject) ?? 0) > since) return true;
    for (const { role } of this.#boundRoles.rolesOf(subject)) if ((this.#changedAt.roles.get(role) ?? 0) > since) return true;
    return false;
  }

  /** Returns all subjects that the latest change affects. Must be called before the next change. */
  affectedBy({ roles, subjects }: RbacChange): ReadonlySet<string> {
    const bindings = [...roles].flatMap((role) => [...(this.#byRole.get(role) ?? [])]);
    return new Set([...subjects, ...bindings.flatMap((binding) => this.#bindings.get(binding)?.subjects ?? [])]);
  }

  /** Returns the names that the permission covers for a user. */
  namesFor(user: User): Visibility {
    if (user.groups.includes(SUPERUSERS)) return Visibility.everything;
    // Omits subjects that no binding names: users of a namespace can invent user names, each of which would need its own cache entry.
    const subjects = toSubjects(user).filter((subject) => this.#boundRoles.has(subject));
    // JSON keeps the keys distinct, because an identity provider may permit any character in names.
    const key = JSON.stringify(subjects);
    const known = this.#views.get(key);
    if (known !== undefined && !subjects.some((subject) => this.hasChanged(subject, known.changes))) return known.visibility;
    const visibility = this.#share(Visibility.union(this.#distinctGrantsOf(subjects)));
    this.#views.set(key, { visibility, changes: this.#changes });
    return visibility;
  }

  /** Returns the elements of `names` that the permission covers for a user. The kind must not be namespaced. */
  selectAllowed(user: User, names: readonly string[]): readonly string[] {
    if (user.groups.includes(SUPERUSERS)) return names;
    const grants = [...this.#grantsOf(toSubjects(user))];
    return names.filter((name) => grants.some(({ granted }) => granted.includes(name)));
  }

  /** Yields the names that each role grants to these subjects. */
  *#grantsOf(subjects: readonly string[]): Generator<RoleGrant> {
    for (const subject of subjects)
      for (const { role, namespace } of this.#boundRoles.rolesOf(subject)) {
        const granted = this.#roles.get(role);
        // The names of a Role are already restricted to its namespace.
        if (granted !== undefined) yield { granted, namespace: namespace === '' || namespaceOf(role) !== '' ? undefined : namespace };
      }
  }

  /** Returns the distinct grants of these subjects: several bindings may grant a user the same role. */
  #distinctGrantsOf(subjects: readonly string[]): readonly RoleGrant[] {
    const namespaces = new Map<Visibility, Set<string | undefined>>();
    return [...this.#grantsOf(subjects)].filter(({ granted, namespace }) => {
      const known = namespaces.get(granted) ?? new Set();
      namespaces.set(granted, known);
      return known.size < known.add(namespace).size;
    });
  }

  /** Returns the shared instance with the same names. If there is none, shares and returns the given instance. */
  #share(visibility: Visibility): Visibility {
    if (visibility.isEverything) return Visibility.everything;
    const known = this.#shared.get(visibility.fingerprint)?.deref();
    if (known?.equals(visibility)) return known;
    this.#shared.set(visibility.fingerprint, new WeakRef(visibility));
    return visibility;
  }

  /** Records a change to these roles, or to the bindings of these subjects. */
  #record(kind: 'roles' | 'subjects', keys: readonly string[]): void {
    this.#changes += 1;
    if (this.#changedAt[kind].size > MAX_CHANGED) this.#forget();
    for (const key of keys) this.#changedAt[kind].set(key, this.#changes);
  }

  #add(key: string, binding: ReducedBinding): void {
    this.#bindings.set(key, binding);
    addTo(this.#byRole, binding.role, key);
    this.#boundRoles.add(binding);
  }

  #remove(key: string, binding: ReducedBinding): void {
    this.#bindings.delete(key);
    removeFrom(this.#byRole, binding.role, key);
    this.#boundRoles.remove(binding);
  }

  #clear(): void {
    for (const held of [this.#roles, this.#bindings, this.#byRole, this.#boundRoles]) held.clear();
    this.#changes += 1;
    this.#forget();
  }

  /** Drops all cached results and recorded changes. */
  #forget(): void {
    this.#forgottenAt = this.#changes;
    this.#views = new BoundedCache(MAX_VIEWS, weightOf);
    for (const each of Object.values(this.#changedAt)) each.clear();
  }
}

/** Returns the keys of the subjects that match a user: `User/<name>` and `Group/<name>` for each group. */
export function toSubjects({ username, groups }: Pick<User, 'username' | 'groups'>): readonly string[] {
  return [`User/${username}`, ...groups.map((group) => `Group/${group}`)];
}

/** Names of a user, with the number of the last change that they reflect. */
interface View {
  readonly visibility: Visibility;
  readonly changes: number;
}

/**
 * Maximum number of shared instances, and maximum total weight of cached results. A result weighs 1, plus 1 for every NAMES_PER_VIEW names.
 */
const MAX_VIEWS = 10_000;
const NAMES_PER_VIEW = 100;
/** Number of changed roles, or of changed subjects, above which all cached results and all recorded changes are dropped. */
const MAX_CHANGED = 100_000;

const NONE: ReadonlySet<string> = new Set();
const NO_CHANGE: RbacChange = { roles: NONE, subjects: NONE, isClusterWide: false };

function weightOf({ visibility }: View): number {
  return 1 + Math.floor(visibility.size / NAMES_PER_VIEW);
}

function isSame(a: ReducedBinding, b: ReducedBinding): boolean {
  return a.role === b.role && a.subjects.length === b.subjects.length && a.subjects.every((subject, at) => subject === b.subjects[at]);
}

function toBinding(key: string, { roleRef, subjects }: IndexedBinding): ReducedBinding {
  const namespace = namespaceOf(key);
  const { kind, name } = roleRef;
  return {
    // A name with a slash would be the key of a Role in another namespace.
    role: name.includes('/') ? '' : kind === 'Role' ? `${namespace}/${name}` : name,
    namespace,
    subjects: (subjects ?? []).flatMap((subject) => toSubjectKeys(subject, namespace)),
  };
}

/** Returns the key of a binding's subject in the format of `toSubjects`, or no key if the subject matches no user. */
function toSubjectKeys({ kind, name, namespace }: RbacSubject, bindingNamespace: string): readonly string[] {
  if (kind === 'User' || kind === 'Group') return [`${kind}/${name}`];
  const own = namespace || bindingNamespace;
  return kind === 'ServiceAccount' && own !== '' ? [`User/system:serviceaccount:${own}:${name}`] : [];
}

function toGrantedVisibility(rules: readonly PolicyRule[], permission: Permission): Visibility {
  const names = collectGrantedNames(rules, permission);
  if (names === undefined) return Visibility.everything;
  if (names.size === 0) return Visibility.nothing;
  return new Visibility(permission.namespaced === true ? new Set([...names].map(toAnyNamespaceEntry)) : names);
}

/** Reduces rules to at most one rule that grants the same names for a permission. This saves memory, because a role may have long rules. */
export function reduceRules(permission: Permission, rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const names = collectGrantedNames(rules, permission);
  if (names?.size === 0) return [];
  const { verbs, group, resource, subresource } = permission;
  const resources = [subresource === undefined ? resource : `${resource}/${subresource}`];
  return [{ verbs, apiGroups: [group], resources, ...(names && { resourceNames: [...names] }) }];
}

/**
 * Returns the names that rules grant for a permission, or undefined if they grant all names. For a namespaced kind, omits strings that
 * Kubernetes accepts in rules but that cannot be the name of an object.
 */
function collectGrantedNames(rules: readonly PolicyRule[], permission: Permission): ReadonlySet<string> | undefined {
  const granted = new Set<string>();
  for (const rule of rules) {
    if (!appliesTo(rule, permission)) continue;
    const { resourceNames: names = [] } = rule;
    if (names.length === 0 || (permission.subresource === undefined && names.includes('') && verbMatches(rule, 'list'))) return undefined;
    for (const name of names) if (permission.namespaced !== true || validateDns1123Subdomain(name).length === 0) granted.add(name);
  }
  return granted;
}

function appliesTo(rule: PolicyRule, { verbs, group, resource, subresource }: Permission): boolean {
  if (!verbs.some((verb) => verbMatches(rule, verb)) || !groupMatches(rule, group)) return false;
  return subresource === undefined ? resourceMatches(rule, resource) : resourceMatches(rule, `${resource}/${subresource}`, subresource);
}

/**
 * Passes all objects of an informer to `set`, then the changed objects of each batch. Emits the combined change of each batch, unless it
 * affects no role and no subject.
 */
function followInformer<T extends ApiObject>(
  { store, batches$ }: ListSource<T>,
  set: (key: string, object: T | undefined) => RbacChange,
): Observable<RbacChange> {
  for (const object of store.list()) set(objectKeyOf(object), object);
  return batches$.pipe(
    map(({ changes }) => combineChanges(changes.map((change) => set(change.key, change.type === 'deleted' ? undefined : change.object)))),
    filter(({ roles, subjects }) => roles.size + subjects.size > 0),
  );
}

/** Combines all changes into one. */
function combineChanges(changes: readonly RbacChange[]): RbacChange {
  const [first = NO_CHANGE] = changes;
  if (changes.length <= 1) return first;
  return {
    roles: new Set(changes.flatMap(({ roles }) => [...roles])),
    subjects: new Set(changes.flatMap(({ subjects }) => [...subjects])),
    isClusterWide: changes.some(({ isClusterWide }) => isClusterWide),
  };
}

function addTo(sets: Map<string, Set<string>>, key: string, value: string): void {
  sets.set(key, (sets.get(key) ?? new Set()).add(value));
}

function removeFrom(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key);
  set?.delete(value);
  if (set?.size === 0) sets.delete(key);
}
