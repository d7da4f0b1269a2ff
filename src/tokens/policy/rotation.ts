// Times of renewal and retry, by Purser's own clock, in milliseconds since the epoch.

import { parseDuration } from '../../std/duration.ts';
import { hashToFraction } from '../../std/hash.ts';
import { toWholeSecond } from '../../std/timestamp.ts';

/** Period from issuance to expiry. */
export interface Lifetime {
  readonly issuedAt: number;
  readonly expiresAt: number;
}

const MIN_AGE_MS = 30_000;
const MIN_AGE_SHARE = 0.1;
const JITTER_SHARE = 0.05;

/**
 * Returns the time of renewal, truncated to a whole second: earlier than the expiry by `renewBefore` and by a jitter of up to a twentieth
 * of the lifetime, so that tokens issued together are not renewed together. The time is never before `earliestRenewAt`.
 */
export function computeRenewAt(lifetime: Lifetime, renewBefore: string, uid: string): number {
  const { expiresAt } = lifetime;
  const lifetimeMs = computeLengthMs(lifetime);
  const earliestAt = earliestRenewAt(lifetime);
  const jitterMs = lifetimeMs * JITTER_SHARE;
  // Jitter also applies to tokens whose renewBefore is clamped: they must not be renewed together either.
  const latestAt = Math.max(expiresAt - parseRenewBeforeMs(renewBefore, lifetimeMs), earliestAt + jitterMs);
  return Math.max(earliestAt, toWholeSecond(Math.min(latestAt - jitterMs * hashToFraction(uid), expiresAt)));
}

/**
 * Returns the earliest time of a renewal: a tenth of the lifetime after the issuance, but at least 30 seconds after it, rounded up to a
 * whole second.
 */
export function earliestRenewAt(lifetime: Lifetime): number {
  const ageMs = Math.max(MIN_AGE_MS, computeLengthMs(lifetime) * MIN_AGE_SHARE);
  return toWholeSecond(lifetime.issuedAt + ageMs + 999);
}

/** Returns whether `renewBefore` requests a renewal before `earliestRenewAt`. */
export function isClamped(lifetime: Lifetime, renewBefore: string): boolean {
  return lifetime.expiresAt - parseRenewBeforeMs(renewBefore, computeLengthMs(lifetime)) < earliestRenewAt(lifetime);
}

/**
 * Returns the latest time for the next attempt after a failed renewal: a fifth of the remaining validity from now, but at least 5 s. For an
 * expired token, which must be removed from its Secret, returns 5 s from now.
 */
export function latestRetryAt(expiresAt: number, now: number): number {
  return now + Math.max(Math.floor((expiresAt - now) / 5), 5_000);
}

/** Parses spec.rotation.renewBefore, a percentage of the lifetime or a duration. An invalid text means the default, 20%. */
export function parseRenewBeforeMs(text: string, lifetimeMs: number): number {
  const share = /^(\d{1,2})%$/.exec(text)?.[1];
  if (share !== undefined && Number(share) >= 1 && Number(share) <= 90) return (lifetimeMs * Number(share)) / 100;
  return parseDurationMs(text) ?? lifetimeMs / 5;
}

/** Maximum length of renewBefore in the CRD, in characters; a longer number would take too long to parse. */
const MAX_LENGTH = 32;

function parseDurationMs(text: string): number | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  try {
    const ms = parseDuration(text);
    return ms > 0 ? ms : undefined;
  } catch {
    return undefined;
  }
}

function computeLengthMs({ issuedAt, expiresAt }: Lifetime): number {
  return Math.max(0, expiresAt - issuedAt);
}
