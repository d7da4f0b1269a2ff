// A circuit breaker: a cluster that fails again and again is left alone for a while, then asked once before it is
// asked as usual. A state machine without timers; instants are on the monotonic clock.

export type Breaker =
  | { readonly type: 'closed'; readonly failures: number }
  | { readonly type: 'open'; readonly until: number; readonly pauseMs: number }
  /** One request is on its way to find out. */
  | { readonly type: 'probing'; readonly since: number; readonly pauseMs: number };

/** How a request ended: `abandoned` says nothing of the cluster. */
export type Outcome = 'success' | 'failure' | 'abandoned';

/** Lets everything pass, as at first. */
export const CLOSED: Breaker = { type: 'closed', failures: 0 };

/** Whether a request may be sent now, and the breaker if it is. Without `breaker` it has to wait `waitMs`. */
export type Admission = { readonly breaker: Breaker } | { readonly breaker?: never; readonly waitMs: number };

/** Asks to send a request. Whoever is let through has to report the outcome. */
export function admit(breaker: Breaker, now: number): Admission {
  if (breaker.type === 'closed') return { breaker };
  if (breaker.type === 'probing') return { waitMs: probeWaitMs(now - breaker.since) };
  if (now < breaker.until) return { waitMs: breaker.until - now };
  return { breaker: { type: 'probing', since: now, pauseMs: breaker.pauseMs } };
}

/** A request that was let through: the breaker that it was let through with, and how it ended. */
export interface Settlement {
  readonly admitted: Breaker;
  readonly outcome: Outcome;
}

/** The breaker after the outcome of a request. What was sent before the breaker opened tells nothing new when it fails. */
export function settled(breaker: Breaker, { admitted, outcome }: Settlement, now: number): Breaker {
  if (outcome === 'success') return CLOSED;
  if (breaker.type === 'open') return breaker;
  if (breaker.type === 'probing') return admitted === breaker ? reopened(breaker.pauseMs, outcome, now) : breaker;
  if (outcome === 'abandoned') return breaker;
  const failures = breaker.failures + 1;
  return failures < THRESHOLD ? { type: 'closed', failures } : opened(FIRST_PAUSE_MS, now);
}

const THRESHOLD = 5;
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 60_000;
const MIN_WAIT_MS = 1_000;

/** A probe that answers does so in no time; the longer it takes, the longer it is likely to take. */
function probeWaitMs(sinceMs: number): number {
  return Math.min(Math.max(sinceMs, MIN_WAIT_MS), MAX_PAUSE_MS);
}

/** After a probe that was abandoned the next request finds out. */
function reopened(pauseMs: number, outcome: Exclude<Outcome, 'success'>, now: number): Breaker {
  return outcome === 'abandoned' ? { type: 'open', until: now, pauseMs } : opened(Math.min(pauseMs * 2, MAX_PAUSE_MS), now);
}

function opened(pauseMs: number, now: number): Breaker {
  return { type: 'open', until: now + pauseMs, pauseMs };
}
