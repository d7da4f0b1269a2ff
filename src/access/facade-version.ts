// What a resourceVersion of the cluster list means: how far the hub has been followed, and which names were visible.
// The same on every replica, so that a caller may go on at another one.

/** A version of the list as one caller sees it. */
export interface FacadeVersion {
  /** The hub's resourceVersion of the Cluster collection. */
  readonly revision: number;
  /** Of the names that the caller may see. */
  readonly fingerprint: number;
}

/** The fingerprint of those who see everything. */
export const EVERYTHING = 0;
/** The fingerprint of versions in the middle of something: nobody can go on from there. */
export const NOT_RESUMABLE = 1;

/** The text of a version: for those who see everything the hub's own number, else 2^62 + revision·2^24 + fingerprint. */
export function formatVersion(revision: number, fingerprint: number): string {
  return fingerprint === EVERYTHING ? String(revision) : String(versionNumber(revision, fingerprint));
}

/** The same as a number. */
export function versionNumber(revision: number, fingerprint: number): bigint {
  return fingerprint === EVERYTHING ? BigInt(revision) : PAIRS + (BigInt(revision) << FINGERPRINT_BITS) + BigInt(fingerprint);
}

/** What a number stands for. */
export function versionOf(number: bigint): FacadeVersion {
  if (number < PAIRS) return { revision: Number(number), fingerprint: EVERYTHING };
  const pair = number - PAIRS;
  return { revision: Number(pair >> FINGERPRINT_BITS), fingerprint: Number(pair & FINGERPRINT_MASK) };
}

/** The fingerprint of a set of names, in whatever order they come. */
export function fingerprintOf(names: Iterable<string>): number {
  let sum = 0;
  for (const name of names) sum = (sum + mixed(hashOf(name))) | 0;
  return FIRST_FREE + (mixed(sum) % (Number(FINGERPRINT_MASK) + 1 - FIRST_FREE));
}

const PAIRS = 2n ** 62n;
const FINGERPRINT_BITS = 24n;
const FINGERPRINT_MASK = (1n << FINGERPRINT_BITS) - 1n;
const FIRST_FREE = 2;

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}

/** Spreads a hash over all 32 bits, so that sums of similar ones differ. */
function mixed(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
