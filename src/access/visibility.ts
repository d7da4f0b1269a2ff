// Which clusters a caller may see: an index over ClusterRoles and ClusterRoleBindings that costs as much as what changes.

import { RegistryGroup } from '../api/names.ts';
import {
  type Binding,
  groupMatches,
  type PolicyRule,
  type RbacSubject,
  type RbacUser,
  resourceMatches,
  SUPERUSERS,
  verbMatches,
} from '../kubernetes/rbac.ts';
import { compareUtf8 } from '../std/go-text.ts';

/** Fingerprint of a caller who sees everything. */
export const EVERYTHING = 0;
/** Fingerprint in versions that no caller can resume from. */
export const NOT_RESUMABLE = 1;
/** Size of a fingerprint, in bits. */
export const FINGERPRINT_BITS = 24;
const FIRST_FREE = 2;

/** A set of names, of clusters that exist or not; one and the same object for all who see the same by the same roles. */
export class Visibility {
  static readonly everything = new Visibility();
  static readonly nothing = new Visibility(new Set());
  readonly fingerprint: number;
  readonly #names: ReadonlySet<string> | undefined;
  #sorted: readonly string[] | undefined;

  /** Without names, everything. */
  constructor(names?: ReadonlySet<string>) {
    this.#names = names;
    this.fingerprint = names === undefined ? EVERYTHING : fingerprintOf(names);
  }

  get isEverything(): boolean {
    return this.#names === undefined;
  }

  get isNothing(): boolean {
    return this.#names?.size === 0;
  }

  sees(name: string): boolean {
    return this.#names === undefined || this.#names.has(name);
  }

  /** The names in the order of lists; none for everything. */
  get names(): readonly string[] {
    this.#sorted ??= [...(this.#names ?? [])].sort(compareUtf8);
    return this.#sorted;
  }
}

/** What RBAC lets whom see. Changes name the subjects that they may concern. */
export class VisibilityIndex {
  /** Only roles that show something. */
  readonly #roles = new Map<string, Visibility>();
  readonly #bindings = new Map<string, IndexedBinding>();
  /** Names of bindings by role and by subject. */
  readonly #byRole = new Map<string, Set<string>>();
  readonly #bySubject = new Map<string, Set<string>>();
  /** What several roles show together, by their names. */
  readonly #unions = new Map<string, Visibility>();

  /** Takes a ClusterRole as it is now; without rules, it is gone. */
  setRole(name: string, rules: readonly PolicyRule[] | undefined): readonly string[] {
    const before = this.#roles.get(name) ?? Visibility.nothing;
    const now = shownBy(rules ?? []);
    if (before.fingerprint === now.fingerprint && before.names.join() === now.names.join()) return [];
    if (now === Visibility.nothing) this.#roles.delete(name);
    else this.#roles.set(name, now);
    for (const key of this.#unions.keys()) if (key.split(SEPARATOR).includes(name)) this.#unions.delete(key);
    return [...(this.#byRole.get(name) ?? [])].flatMap((binding) => this.#bindings.get(binding)?.subjects ?? []);
  }

  /** Takes a ClusterRoleBinding as it is now; undefined when it is gone. */
  setBinding(name: string, binding: Binding | undefined): readonly string[] {
    const before = this.#bindings.get(name);
    if (before !== undefined) this.#remove(name, before);
    const now = binding && { role: binding.roleRef.name, subjects: binding.subjects.flatMap(subjectKey) };
    if (now !== undefined) this.#add(name, now);
    return [before, now].flatMap((each) => (each !== undefined && this.#roles.has(each.role) ? each.subjects : []));
  }

  /** Everything that RBAC shows to a user. */
  visibleTo(user: RbacUser): Visibility {
    if (user.groups.includes(SUPERUSERS)) return Visibility.everything;
    const bindings = subjectsOf(user).flatMap((subject) => [...(this.#bySubject.get(subject) ?? [])]);
    const roles = new Set(bindings.map((binding) => this.#bindings.get(binding)?.role ?? ''));
    return this.#union([...roles].filter((role) => this.#roles.has(role)).sort());
  }

  #union(roles: readonly string[]): Visibility {
    const [only = '', ...more] = roles;
    if (more.length === 0) return this.#roles.get(only) ?? Visibility.nothing;
    const key = roles.join(SEPARATOR);
    const known = this.#unions.get(key);
    if (known !== undefined) return known;
    if (this.#unions.size >= MAX_UNIONS) this.#unions.clear();
    const union = unionOf(roles.map((role) => this.#roles.get(role) ?? Visibility.nothing));
    this.#unions.set(key, union);
    return union;
  }

  #add(name: string, binding: IndexedBinding): void {
    this.#bindings.set(name, binding);
    addTo(this.#byRole, binding.role, name);
    for (const subject of binding.subjects) addTo(this.#bySubject, subject, name);
  }

  #remove(name: string, binding: IndexedBinding): void {
    this.#bindings.delete(name);
    removeFrom(this.#byRole, binding.role, name);
    for (const subject of binding.subjects) removeFrom(this.#bySubject, subject, name);
  }
}

/** The subjects that a user is: by name, and by each group. */
export function subjectsOf({ name, groups }: RbacUser): readonly string[] {
  return [`User/${name}`, ...groups.map((group) => `Group/${group}`)];
}

interface IndexedBinding {
  readonly role: string;
  readonly subjects: readonly string[];
}

/** No name has it. */
const SEPARATOR = '\n';
/** Distinct combinations of roles that are remembered. */
const MAX_UNIONS = 10_000;

/** A service account is a user with a name of its own. */
function subjectKey({ kind, name, namespace }: RbacSubject): readonly string[] {
  if (kind === 'User' || kind === 'Group') return [`${kind}/${name}`];
  return kind === 'ServiceAccount' && namespace ? [`User/system:serviceaccount:${namespace}:${name}`] : [];
}

function shownBy(rules: readonly PolicyRule[]): Visibility {
  const about = rules.filter(
    (rule) =>
      (verbMatches(rule, 'get') || verbMatches(rule, 'list')) && groupMatches(rule, RegistryGroup) && resourceMatches(rule, 'clusters'),
  );
  const names = about.map(({ resourceNames = [] }) => resourceNames);
  if (names.some((each) => each.length === 0 || each.includes(''))) return Visibility.everything;
  return names.length === 0 ? Visibility.nothing : new Visibility(new Set(names.flat()));
}

function unionOf(parts: readonly Visibility[]): Visibility {
  if (parts.some(({ isEverything }) => isEverything)) return Visibility.everything;
  return new Visibility(new Set(parts.flatMap(({ names }) => names)));
}

function addTo(sets: Map<string, Set<string>>, key: string, value: string): void {
  sets.set(key, (sets.get(key) ?? new Set()).add(value));
}

function removeFrom(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key);
  set?.delete(value);
  if (set?.size === 0) sets.delete(key);
}

/** Returns the fingerprint of a set of names, in any order. It is none of the two with a special meaning. */
export function fingerprintOf(names: Iterable<string>): number {
  let sum = 0;
  for (const name of names) sum = (sum + mixed(hashOf(name))) | 0;
  return FIRST_FREE + (mixed(sum) % (2 ** FINGERPRINT_BITS - FIRST_FREE));
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}

/** Spreads a hash over all 32 bits, so that sums of similar hashes differ. */
function mixed(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
