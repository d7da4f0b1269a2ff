// Renewal of Purser's own credential for a cluster: the terms of the Clusters that use it, and the time of the next renewal.
// Times are by Purser's clock, in milliseconds since the epoch.

import type { Cluster } from '../../api/cluster.gen.ts';
import type { ClusterReason } from '../../api/reasons.ts';
import { parseDuration } from '../../std/duration.ts';
import { computeNextTurnAt } from '../../std/hash.ts';

export interface RenewalTerms {
  /** True if Purser renews the credential automatically. */
  readonly isAutomatic: boolean;
  /** Lifetime to request. */
  readonly lifetimeMs: number;
  /** Configured time for which a replaced token stays valid; `computeOverlapMs` limits this time. */
  readonly overlapMs: number;
}

/**
 * Returns the terms for the Clusters that share a credential: the shortest lifetime, the longest overlap, and automatic renewal unless a
 * Cluster sets renewal to Manual. Without Clusters, there is no automatic renewal.
 */
export function combineRenewalTerms(clusters: readonly Pick<Cluster, 'spec'>[]): RenewalTerms {
  const all = clusters.map(({ spec }) => spec.credential);
  return {
    isAutomatic: all.length > 0 && all.every((terms) => (terms?.renewal ?? 'Auto') === 'Auto'),
    lifetimeMs: Math.min(MAX_LIFETIME_MS, ...all.map((terms) => Math.max(toMs(terms?.lifetime, LIFETIME_MS), MIN_LIFETIME_MS))),
    overlapMs: Math.max(0, ...all.map((terms) => Math.min(toMs(terms?.overlap, OVERLAP_MS), MAX_OVERLAP_MS))),
  };
}

/**
 * Returns the time for which a replaced token stays valid, in milliseconds: the overlap, but at most half of the granted lifetime, because
 * the next renewal follows within that time, and at least the probe interval, so that every replica receives the renewed token in time.
 */
export function computeOverlapMs({ overlapMs }: Pick<RenewalTerms, 'overlapMs'>, lifetimeMs: number, probeIntervalMs: number): number {
  return Math.max(Math.min(overlapMs, lifetimeMs / 2), probeIntervalMs);
}

/** The token that Purser uses on a cluster. */
export interface TokenInUse {
  /** `sha256:` and the digest of the token. */
  readonly digest: string;
  /** True if Purser did not obtain the token itself. Automatic renewal replaces such a token immediately. */
  readonly isSupplied: boolean;
  /** Time of issuance; undefined if it is unknown. */
  readonly issuedAt?: number | undefined;
  /** Expiry; undefined if it is unknown or the token does not expire. */
  readonly expiresAt?: number | undefined;
  /** Audiences of the token; undefined for a token that is not a JWT. */
  readonly audiences?: readonly string[] | undefined;
}

/** Reasons why a renewal, or a later step such as a revocation, failed. */
export type RenewalReason = Extract<
  ClusterReason,
  | 'CredentialRenewalFailed'
  | 'CredentialRenewalForbidden'
  | 'CredentialRenewalUntrusted'
  | 'CredentialNotStored'
  | 'CredentialNotRetired'
  | 'CredentialNotRevoked'
>;

/** A failed renewal, or a failed later step such as a revocation. */
export interface RenewalFailure {
  readonly reason: RenewalReason;
  /** Text of the error for operators; may be empty. */
  readonly detail: string;
}

/**
 * Returns the time at which a token is due for renewal; undefined if Purser does not renew the token automatically, or if Purser obtained
 * the token itself and its lifetime is unknown. `uid` is the UID of the registered Secret.
 */
export function computeRenewalDueAt(
  token: TokenInUse,
  { isAutomatic }: Pick<RenewalTerms, 'isAutomatic'>,
  uid: string,
): number | undefined {
  if (!isAutomatic) return undefined;
  return token.isSupplied ? (token.issuedAt ?? 0) : computeRenewalSlotAt(token, uid);
}

/**
 * Returns the renewal time of a credential: after at least an eighth and at most about half of the lifetime; undefined if the lifetime is
 * unknown. Each credential has its own slot in each half of a lifetime, so that credentials that were renewed together are not renewed
 * together again.
 */
export function computeRenewalSlotAt({ issuedAt, expiresAt }: Pick<TokenInUse, 'issuedAt' | 'expiresAt'>, uid: string): number | undefined {
  if (issuedAt === undefined || expiresAt === undefined) return undefined;
  const halfMs = Math.max((expiresAt - issuedAt) / 2, 1);
  // The recorded time of a renewal in its slot can be before the slot, because it is truncated to a whole second.
  const slotMs = computeNextTurnAt('renew', uid, issuedAt + ROUNDING_MS, halfMs) - issuedAt;
  const minAgeMs = halfMs / 4;
  const ageMs = slotMs >= minAgeMs ? slotMs : minAgeMs + 3 * slotMs;
  return issuedAt + Math.max(Math.floor(ageMs), MIN_AGE_MS);
}

const ROUNDING_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
// Defaults and limits of the schema, which also apply to objects that are older than the schema.
const LIFETIME_MS = 168 * HOUR_MS;
const MIN_LIFETIME_MS = 10 * MINUTE_MS;
const MAX_LIFETIME_MS = 720 * HOUR_MS;
const OVERLAP_MS = MINUTE_MS;
const MAX_OVERLAP_MS = 24 * HOUR_MS;
/** Minimum age of a token that is renewed: a cluster that grants lifetimes of seconds must not cause a renewal every second. */
const MIN_AGE_MS = 10_000;
/** Maximum length of a duration that the schema allows, in characters. */
const MAX_LENGTH = 32;

function toMs(text: string | undefined, fallback: number): number {
  if (text === undefined || text.length > MAX_LENGTH) return fallback;
  try {
    return parseDuration(text);
  } catch {
    return fallback;
  }
}
