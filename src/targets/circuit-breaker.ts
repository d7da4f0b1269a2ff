// The circuit breaker of a target: after repeated failures, requests pause, then one request tests the cluster before other requests
// resume. Times are on the monotonic clock.

/** State of the circuit breaker of a target. */
export type Breaker =
  | { readonly type: 'closed'; readonly failures: number }
  | { readonly type: 'open'; readonly until: number; readonly pauseMs: number }
  /** One request tests the cluster. */
  | { readonly type: 'probing'; readonly since: number; readonly pauseMs: number };

/** Outcome of a call; `abandoned` is neither success nor failure of the cluster. */
export type CallOutcome = 'success' | 'failure' | 'abandoned';

/** The initial state, in which all requests are sent. */
export const CLOSED_BREAKER: Breaker = { type: 'closed', failures: 0 };

/** The state after a request is admitted, or the time in milliseconds that it must wait. */
type BreakerAdmission = { readonly breaker: Breaker } | { readonly breaker?: never; readonly waitMs: number };

/** Admits a request or makes it wait. The caller of an admitted request must call `settle` with its outcome. */
export function admit(breaker: Breaker, now: number): BreakerAdmission {
  if (breaker.type === 'closed') return { breaker };
  if (breaker.type === 'probing') return { waitMs: computeProbeWaitMs(now - breaker.since) };
  if (now < breaker.until) return { waitMs: breaker.until - now };
  return { breaker: { type: 'probing', since: now, pauseMs: breaker.pauseMs } };
}

/** Outcome of an admitted request, with the state of the circuit breaker that admitted it. */
interface Settlement {
  readonly admitted: Breaker;
  readonly outcome: CallOutcome;
}

/**
 * Returns the state after a request. Any success closes the circuit; failures of requests that were sent before the circuit opened are
 * ignored.
 */
export function settle(breaker: Breaker, { admitted, outcome }: Settlement, now: number): Breaker {
  if (outcome === 'success') return CLOSED_BREAKER;
  if (breaker.type === 'open') return breaker;
  if (breaker.type === 'probing') return admitted === breaker ? reopen(breaker.pauseMs, outcome, now) : breaker;
  if (outcome === 'abandoned') return breaker;
  const failures = breaker.failures + 1;
  return failures < THRESHOLD ? { type: 'closed', failures } : open(FIRST_PAUSE_MS, now);
}

/** Number of consecutive failures that opens the circuit. */
const THRESHOLD = 5;
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 60_000;
const MIN_WAIT_MS = 1_000;

/** Returns the time to wait during a test: the age of the test, within limits, because a test that has lasted long probably fails. */
function computeProbeWaitMs(sinceMs: number): number {
  return Math.min(Math.max(sinceMs, MIN_WAIT_MS), MAX_PAUSE_MS);
}

/** Returns the breaker after a failed test. After an abandoned test, the next request tests the cluster. */
function reopen(pauseMs: number, outcome: Exclude<CallOutcome, 'success'>, now: number): Breaker {
  return outcome === 'abandoned' ? { type: 'open', until: now, pauseMs } : open(Math.min(pauseMs * 2, MAX_PAUSE_MS), now);
}

function open(pauseMs: number, now: number): Breaker {
  return { type: 'open', until: now + pauseMs, pauseMs };
}
