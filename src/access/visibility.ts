// The names of objects, and of sets of objects, that a user may see.

import { compareUtf8 } from '../std/go-text.ts';
import { fnv1a, mix } from '../std/hash.ts';
import { isClusterSetName } from './cluster-set.ts';

/** Fingerprint in resource versions from which no caller can resume. */
export const NOT_RESUMABLE = 0;
/** Fingerprint of a caller who sees everything, without a salt. */
const EVERYTHING = 1;
/** Number of decimal digits of a fingerprint. */
export const FINGERPRINT_DIGITS = 6;
/** Smallest fingerprint without a special meaning. */
const FIRST_FREE = 2;

/** Prefix of entries for a name in any namespace. No namespace has the name `*`. */
const ANY_NAMESPACE = '*/';
/** Placeholder for all names in a salted fingerprint. No entry equals this string. */
const ANY_NAME = '\n';

/** Returns the entry of a Visibility for all objects with this name, in any namespace. */
export function toAnyNamespaceEntry(name: string): string {
  return `${ANY_NAMESPACE}${name}`;
}

/**
 * Returns the entry of a Visibility for all objects in a namespace. The entry ends with a slash, so it never equals the key of an object.
 */
export function toNamespaceEntry(namespace: string): string {
  return `${namespace}${SLASH}`;
}

/** Returns true if an entry stands for all objects in a namespace. */
export function isNamespaceEntry(entry: string): boolean {
  return entry.endsWith(SLASH);
}

/** Separator between namespace and name in keys. Neither contains it. */
const SLASH = '/';

/** The names by which rules can grant access to an object. */
export interface VisibleObject {
  /** `namespace/name`, or the name alone for a cluster-scoped object. */
  readonly key: string;
  /** Name that rules use for the cluster set of the object; undefined if the object has no set. */
  readonly clusterSetName: string | undefined;
}

/** The set of names that a user may see, whether or not objects with these names exist. */
export class Visibility {
  static readonly everything = new Visibility();
  static readonly nothing = new Visibility(new Set());
  readonly #names: ReadonlySet<string> | undefined;
  readonly #salt: number;
  #fingerprint: number | undefined;
  #sorted: readonly string[] | undefined;
  #spansNamespaces: boolean | undefined;
  #hasClusterSets: boolean | undefined;

  /** Creates a Visibility of these names, or of all names if `names` is undefined. A salt other than 0 changes the fingerprint. */
  constructor(names?: ReadonlySet<string>, salt = 0) {
    this.#names = names;
    this.#salt = salt;
  }

  /** Returns the same names with another fingerprint, which replicas with another salt do not accept. */
  withSalt(salt: number): Visibility {
    return new Visibility(this.#names, salt);
  }

  /** Fingerprint of the names. It is part of the façade's resource versions. */
  get fingerprint(): number {
    this.#fingerprint ??=
      this.#names === undefined && this.#salt === 0 ? EVERYTHING : computeFingerprint(this.#names ?? [ANY_NAME], this.#salt);
    return this.#fingerprint;
  }

  get isEverything(): boolean {
    return this.#names === undefined;
  }

  get isNothing(): boolean {
    return this.#names?.size === 0;
  }

  /** Number of names; 0 for everything. */
  get size(): number {
    return this.#names?.size ?? 0;
  }

  includes(name: string): boolean {
    return this.#names === undefined || this.#names.has(name);
  }

  /**
   * Returns true if the names include the key of an object, its name in any namespace, its namespace, or its cluster set. An object that
   * joins or leaves a set can become visible or hidden, while the names and their fingerprint stay the same.
   */
  includesObject({ key, clusterSetName }: VisibleObject): boolean {
    if (this.includes(key) || (clusterSetName !== undefined && this.includes(clusterSetName))) return true;
    const end = key.indexOf(SLASH);
    return end >= 0 && (this.includes(toNamespaceEntry(key.slice(0, end))) || this.includes(toAnyNamespaceEntry(key.slice(end + 1))));
  }

  /**
   * Returns these names restricted to one namespace, for a Role or a RoleBinding in that namespace. This Visibility must contain all names,
   * or only entries for names in any namespace.
   */
  within(namespace: string): Visibility {
    return new Visibility(new Set(this.#entriesIn(namespace)));
  }

  *#entriesIn(namespace: string): Generator<string> {
    if (this.#names === undefined) yield toNamespaceEntry(namespace);
    else for (const name of this.#names) yield `${namespace}${SLASH}${name.slice(ANY_NAMESPACE.length)}`;
  }

  /** True if one of the entries stands for a name in any namespace. */
  get spansNamespaces(): boolean {
    this.#spansNamespaces ??= this.names.some((name) => name.startsWith(ANY_NAMESPACE));
    return this.#spansNamespaces;
  }

  /** True if one of the names is the name of a cluster set. */
  get hasClusterSets(): boolean {
    this.#hasClusterSets ??= this.names.some(isClusterSetName);
    return this.#hasClusterSets;
  }

  /** The names in the order of lists; empty for everything. */
  get names(): readonly string[] {
    this.#sorted ??= [...(this.#names ?? [])].sort(compareUtf8);
    return this.#sorted;
  }

  /** Returns true if both have the same names and fingerprint. */
  equals(other: Visibility): boolean {
    if (this === other) return true;
    const [names, others] = [this.#names, other.#names];
    if (this.fingerprint !== other.fingerprint || names?.size !== others?.size) return false;
    for (const name of names ?? []) if (others?.has(name) !== true) return false;
    return true;
  }

  /** Returns all names of these grants. Adds them to a single set, because a user may have grants in many thousands of namespaces. */
  static union(grants: Iterable<RoleGrant>): Visibility {
    const names = new Set<string>();
    for (const { granted, namespace } of grants) {
      if (granted.#names === undefined && namespace === undefined) return Visibility.everything;
      for (const name of namespace === undefined ? (granted.#names ?? []) : granted.#entriesIn(namespace)) names.add(name);
    }
    return new Visibility(names);
  }
}

/** Names that a user may see because of one role and one binding. */
export interface RoleGrant {
  readonly granted: Visibility;
  /** Namespace of the binding, to which the names must be restricted; undefined if the names need no restriction. */
  readonly namespace: string | undefined;
}

/** Returns the fingerprint of a set of names. The order of the names does not matter. Never returns EVERYTHING or NOT_RESUMABLE. */
function computeFingerprint(names: Iterable<string>, salt: number): number {
  let sum = salt;
  for (const name of names) sum = (sum + mix(fnv1a(name))) | 0;
  return FIRST_FREE + (mix(sum) % (10 ** FINGERPRINT_DIGITS - FIRST_FREE));
}
