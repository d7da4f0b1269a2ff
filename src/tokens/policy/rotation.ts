// When a token is renewed and verified. All instants are by our own clock.

import { wholeSecond } from '../../std/instant.ts';
import { nextTurnAt, shareOf } from '../../std/spread.ts';
import { renewBeforeMs } from './renew-before.ts';

/** From issuance to expiry. */
export interface Lifetime {
  readonly issuedAt: number;
  readonly expiresAt: number;
}

const MIN_AGE_MS = 30_000;
const MIN_AGE_SHARE = 0.1;
const JITTER_SHARE = 0.05;

/**
 * When the token is renewed, in whole seconds: `renewBefore` its expiry, and earlier by up to a twentieth of its
 * lifetime, so that tokens made together do not renew together. Never before `earliestRenewAt`.
 */
export function renewAt(lifetime: Lifetime, renewBefore: string, uid: string): number {
  const { expiresAt } = lifetime;
  const lifetimeMs = lengthMs(lifetime);
  const earliestAt = earliestRenewAt(lifetime);
  const jitterMs = lifetimeMs * JITTER_SHARE;
  // Where renewBefore is cut short, the jitter follows the cut: these tokens must not renew together either.
  const latestAt = Math.max(expiresAt - renewBeforeMs(renewBefore, lifetimeMs), earliestAt + jitterMs);
  return Math.max(earliestAt, wholeSecond(Math.min(latestAt - jitterMs * shareOf(uid), expiresAt)));
}

/** Before this instant no token is renewed for its age: a tenth of its lifetime, and 30 seconds, must have passed. */
export function earliestRenewAt(lifetime: Lifetime): number {
  const ageMs = Math.max(MIN_AGE_MS, lengthMs(lifetime) * MIN_AGE_SHARE);
  return wholeSecond(lifetime.issuedAt + ageMs + 999);
}

/** Whether `renewBefore` asks for a renewal earlier than is allowed. */
export function isCutShort(lifetime: Lifetime, renewBefore: string): boolean {
  return lifetime.expiresAt - renewBeforeMs(renewBefore, lengthMs(lifetime)) < earliestRenewAt(lifetime);
}

/**
 * Until when a renewal that failed must be tried again: within a fifth of the remaining validity, but not more often than
 * every 5 s. A token that has expired meanwhile is in its Secret all the same, and must leave it.
 */
export function latestRetryAt(expiresAt: number, now: number): number {
  return now + Math.max(Math.floor((expiresAt - now) / 5), 5_000);
}

/** The first instant after `after` at which this object is verified. With an interval of 0 it never is. */
export function nextVerifyAt(uid: string, after: number, intervalMs: number): number | undefined {
  return intervalMs > 0 ? nextTurnAt('verify', uid, after, intervalMs) : undefined;
}

function lengthMs({ issuedAt, expiresAt }: Lifetime): number {
  return Math.max(0, expiresAt - issuedAt);
}
