// The resourceVersion of a filtered list: the revision of the hub, and a fingerprint of the names that the caller may see. All replicas
// return the same version for the same state, so that a caller can resume at any of them.

import { EVERYTHING, FINGERPRINT_BITS } from '../../access/visibility.ts';

/** Version of a list for one caller. */
export interface FacadeVersion {
  /** The hub's resourceVersion of the collection. */
  readonly revision: number;
  /** Fingerprint of the names that the caller may see. */
  readonly fingerprint: number;
}

/** Returns the text of a version: the hub's own number for a caller who sees everything, else 2^62 + revision·2^24 + fingerprint. */
export function formatVersion(revision: number, fingerprint: number): string {
  return fingerprint === EVERYTHING ? String(revision) : String(versionNumber(revision, fingerprint));
}

/** Returns a version as a number. */
export function versionNumber(revision: number, fingerprint: number): bigint {
  return fingerprint === EVERYTHING ? BigInt(revision) : PAIRS + (BigInt(revision) << BITS) + BigInt(fingerprint);
}

/** Returns the parts of a version that `versionNumber` returned, or of the hub's own resourceVersion. */
export function parseVersion(number: bigint): FacadeVersion {
  if (number < PAIRS) return { revision: Number(number), fingerprint: EVERYTHING };
  const pair = number - PAIRS;
  return { revision: Number(pair >> BITS), fingerprint: Number(pair & MASK) };
}

const PAIRS = 2n ** 62n;
const BITS = BigInt(FINGERPRINT_BITS);
const MASK = (1n << BITS) - 1n;
