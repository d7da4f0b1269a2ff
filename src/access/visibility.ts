// The names of Clusters that a user may see.

import { compareUtf8 } from '../std/go-text.ts';

/** Fingerprint of a caller who sees everything. */
export const EVERYTHING = 0;
/** Fingerprint in versions that no caller can resume from. */
export const NOT_RESUMABLE = 1;
/** Size of a fingerprint, in bits. */
export const FINGERPRINT_BITS = 24;
const FIRST_FREE = 2;

/** A set of names, of existing objects or not. Users with the same roles share one instance. */
export class Visibility {
  static readonly everything = new Visibility();
  static readonly nothing = new Visibility(new Set());
  readonly #names: ReadonlySet<string> | undefined;
  #fingerprint: number | undefined;
  #sorted: readonly string[] | undefined;

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

/** Returns the fingerprint of a set of names, in any order. It is none of the two with a special meaning. */
export function fingerprintOf(names: Iterable<string>): number {
  let sum = 0;
  for (const name of names) sum = (sum + mixed(hashOf(name))) | 0;
  return FIRST_FREE + (mixed(sum) % (2 ** FINGERPRINT_BITS - FIRST_FREE));
}

/** Returns the FNV-1a hash of a text. */
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
