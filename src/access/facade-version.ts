// Resource versions of filtered lists: the hub's revision and a fingerprint of the visible names. They are the same on every replica,
// so that a caller can resume at another one.

/** Version of a list for one caller. */
export interface FacadeVersion {
  /** The hub's resourceVersion of the collection. */
  readonly revision: number;
  /** Fingerprint of the names that the caller may see. */
  readonly fingerprint: number;
}

/** Fingerprint of callers who may see all names. */
export const EVERYTHING = 0;
/** Fingerprint of versions inside a sequence of events, from which no watch can resume. */
export const NOT_RESUMABLE = 1;

/** Encodes a version: the hub's own number for callers who see everything, else 2^62 + revision·2^24 + fingerprint. */
export function formatVersion(revision: number, fingerprint: number): string {
  return fingerprint === EVERYTHING ? String(revision) : String(versionNumber(revision, fingerprint));
}

/** Returns the number that `formatVersion` writes. */
export function versionNumber(revision: number, fingerprint: number): bigint {
  return fingerprint === EVERYTHING ? BigInt(revision) : PAIRS + (BigInt(revision) << FINGERPRINT_BITS) + BigInt(fingerprint);
}

/** Returns the version that a number encodes. */
export function versionOf(number: bigint): FacadeVersion {
  if (number < PAIRS) return { revision: Number(number), fingerprint: EVERYTHING };
  const pair = number - PAIRS;
  return { revision: Number(pair >> FINGERPRINT_BITS), fingerprint: Number(pair & FINGERPRINT_MASK) };
}

/** Returns the fingerprint of a set of names in any order. */
export function fingerprintOf(names: Iterable<string>): number {
  let sum = 0;
  for (const name of names) sum = (sum + mixed(hashOf(name))) | 0;
  return FIRST_FREE + (mixed(sum) % (Number(FINGERPRINT_MASK) + 1 - FIRST_FREE));
}

const PAIRS = 2n ** 62n;
const FINGERPRINT_BITS = 24n;
const FINGERPRINT_MASK = (1n << FINGERPRINT_BITS) - 1n;
const FIRST_FREE = 2;

/** Returns the FNV-1a hash. */
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
