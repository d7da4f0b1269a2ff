// The names of objects, and of sets of objects, that a user may see.

import { compareUtf8 } from '../std/go-text.ts';
import { fnv1a, mix } from '../std/hash.ts';
import { isSetName } from './cluster-set.ts';

/** Fingerprint in versions that no caller can resume from. */
export const NOT_RESUMABLE = 0;
/** Fingerprint of a caller who sees everything. */
const EVERYTHING = 1;
/** Number of decimal digits of a fingerprint. */
export const FINGERPRINT_DIGITS = 6;
const FIRST_FREE = 2;

/** Start of a name in any namespace. No namespace has this name. */
const ANY_NAMESPACE = '*/';

/** Returns the entry of a Visibility for all objects with this name. */
export function inAnyNamespace(name: string): string {
  return `${ANY_NAMESPACE}${name}`;
}

/** The names of an object that rules can grant. */
export interface VisibleObject {
  /** Name, with its namespace if it has one. */
  readonly key: string;
  /** Name of the set that the object is in, as rules write it; undefined if it is in none. */
  readonly setName: string | undefined;
}

/** A set of names, of existing objects or not. Users with the same roles share one instance. */
export class Visibility {
  static readonly everything = new Visibility();
  static readonly nothing = new Visibility(new Set());
  readonly #names: ReadonlySet<string> | undefined;
  #fingerprint: number | undefined;
  #sorted: readonly string[] | undefined;
  #spansNamespaces: boolean | undefined;
  #hasSets: boolean | undefined;

  /** Creates the visibility of these names; undefined for all names. */
  constructor(names?: ReadonlySet<string>) {
    this.#names = names;
  }

  /** Fingerprint of the names, as resource versions of the façade carry it. */
  get fingerprint(): number {
    this.#fingerprint ??= this.#names === undefined ? EVERYTHING : fingerprintOf(this.#names);
    return this.#fingerprint;
  }

  get isEverything(): boolean {
    return this.#names === undefined;
  }

  get isNothing(): boolean {
    return this.#names?.size === 0;
  }

  includes(name: string): boolean {
    return this.#names === undefined || this.#names.has(name);
  }

  /**
   * Returns whether the names include the key of an object, its name in any namespace, or the set that it is in. An object that joins or
   * leaves a set becomes visible or hidden by its own change; the names and their fingerprint stay the same.
   */
  includesObject({ key, setName }: VisibleObject): boolean {
    if (this.includes(key) || (setName !== undefined && this.includes(setName))) return true;
    return key.includes('/') && this.includes(inAnyNamespace(key.slice(key.indexOf('/') + 1)));
  }

  /** True if the set has a name in any namespace, so that the names are not the keys of objects. */
  get spansNamespaces(): boolean {
    this.#spansNamespaces ??= this.names.some((name) => name.startsWith(ANY_NAMESPACE));
    return this.#spansNamespaces;
  }

  /** True if one of the names is that of a set. */
  get hasSets(): boolean {
    this.#hasSets ??= this.names.some(isSetName);
    return this.#hasSets;
  }

  /** The names in the order of lists; empty for everything. */
  get names(): readonly string[] {
    this.#sorted ??= [...(this.#names ?? [])].sort(compareUtf8);
    return this.#sorted;
  }

  /** Returns whether both sets have the same names. */
  equals(other: Visibility): boolean {
    return this.fingerprint === other.fingerprint && this.names.join() === other.names.join();
  }

  static union(parts: readonly Visibility[]): Visibility {
    if (parts.some(({ isEverything }) => isEverything)) return Visibility.everything;
    return new Visibility(new Set(parts.flatMap(({ names }) => names)));
  }
}

/** Returns the fingerprint of a set of names, in any order; never EVERYTHING or NOT_RESUMABLE. */
function fingerprintOf(names: Iterable<string>): number {
  let sum = 0;
  for (const name of names) sum = (sum + mix(fnv1a(name))) | 0;
  return FIRST_FREE + (mix(sum) % (10 ** FINGERPRINT_DIGITS - FIRST_FREE));
}
