// Retries of failed runs: class of the failure and time of the next attempt.

import type { Resource } from '../api/resources.ts';
import { retryAfterMsOf } from '../kubernetes/retry-after.ts';
import { hasReason } from '../kubernetes/status.ts';
import { computeExponentialMs } from '../std/backoff.ts';
import { omitUndefined } from '../std/omit-undefined.ts';

/**
 * - `gone`: the object was deleted during the run.
 * - `conflict`: a write was based on an outdated object.
 * - `throttled`: the server, or the circuit breaker of the target, rejects requests for a while.
 * - `transient`: all other errors, including aborts by signals other than the controller's; an abort of the controller has no outcome.
 */
export type FailureClass = 'gone' | 'conflict' | 'throttled' | 'transient';

/** A run that failed. */
export interface Failure<K> {
  readonly key: K;
  readonly error: unknown;
  /** Number of consecutive failures, including this one; earlier conflicts and deferred runs are not counted. */
  readonly failures: number;
  /** Number of consecutive conflicts, if this failure is a conflict; meaningless otherwise. */
  readonly conflicts: number;
  readonly now: number;
}

/** Decision about a failed run. */
export interface Retry {
  readonly class: FailureClass;
  /** Time of the next attempt; undefined if only a new request wakes the key. */
  readonly retryAt: number | undefined;
  /** True if the target's circuit breaker prevented the run, which is then not counted as a failure. */
  readonly isDeferred?: boolean;
}

export interface RetryTerms {
  /** Random number in [0, 1), which spreads the retries of keys that failed together. */
  readonly random: number;
  /** Resource of the objects; a NotFound error for the object of a key means `gone`. If undefined, no failure has this class. */
  readonly resource?: Resource<unknown>;
  /** Latest time of the retry, even if the server requests a longer wait; unlimited by default. */
  readonly latestAt?: number;
  /** Takes a retry from a RetryBudget and returns the additional delay, in milliseconds; no additional delay by default. */
  readonly spend?: () => number;
}

/** Decides whether and when to retry a failed run. */
export function planRetry(failure: Failure<string>, terms: RetryTerms): Retry {
  const failureClass = classifyFailure(failure, terms.resource);
  const delayMs = computeDelayMs(failureClass, failure, terms.random);
  if (delayMs === undefined) return { class: failureClass, retryAt: undefined };
  const isFree = failureClass === 'conflict' || isDeferred(failure.error);
  const laterMs = isFree ? 0 : (terms.spend?.() ?? 0);
  const retryAt = Math.min(failure.now + Math.ceil(delayMs) + laterMs, terms.latestAt ?? Infinity);
  return omitUndefined<Retry>({ class: failureClass, retryAt, isDeferred: isDeferred(failure.error) || undefined });
}

const BACKOFF = { initialMs: 500, maxMs: 300_000 };
/** Delays after conflicts: time for the informer's store to receive the conflicting write. */
const CONFLICT_BACKOFF = { initialMs: 200, maxMs: 10_000 };

function classifyFailure({ key, error }: Failure<string>, resource: Resource<unknown> | undefined): FailureClass {
  if (resource !== undefined && isAbsent(error, resource, key)) return 'gone';
  if (hasReason(error, 'Conflict')) return 'conflict';
  return retryAfterMsOf(error) === undefined ? 'transient' : 'throttled';
}

/** Returns whether the error is a NotFound for the object of the key, not for a service account, a namespace or a kind. */
function isAbsent(error: unknown, resource: Resource<unknown>, key: string): boolean {
  if (!hasReason(error, 'NotFound')) return false;
  const { group = '', kind, name } = error.status.details ?? {};
  return group === resource.group && kind === resource.plural && name === key.slice(key.lastIndexOf('/') + 1);
}

function computeDelayMs(failureClass: FailureClass, { error, failures, conflicts }: Failure<string>, random: number): number | undefined {
  const backoffMs = withJitter(computeExponentialMs(failures - 1, BACKOFF), random);
  switch (failureClass) {
    case 'gone':
      return undefined;
    case 'conflict':
      return withJitter(computeExponentialMs(conflicts - 1, CONFLICT_BACKOFF), random);
    case 'throttled':
      // A server may always request one second, so the backoff applies too, unless the circuit breaker prevented the run.
      return Math.max((retryAfterMsOf(error) ?? 0) * (1 + random / 10), isDeferred(error) ? 0 : backoffMs);
    case 'transient':
      return backoffMs;
  }
}

/** Subtracts a jitter of up to half the delay. */
function withJitter(ms: number, random: number): number {
  return ms * (1 - random / 2);
}

/** Returns whether the circuit breaker of the target prevented the run. */
function isDeferred(error: unknown): boolean {
  return error instanceof Error && 'reason' in error && error.reason === 'CircuitOpen';
}

export interface RetryRate {
  /** Maximum burst of retries of a lane without additional delay. */
  readonly free: number;
  /** Interval between further retries of a lane, in milliseconds. */
  readonly gapMs: number;
}

/** Limits the retries of each lane. Times are monotonic. */
export class RetryBudget {
  readonly #rate: RetryRate;
  /** Time at which each lane's budget is full again. */
  readonly #fullAt = new Map<string, number>();

  constructor(rate: RetryRate = RETRY_RATE) {
    this.#rate = rate;
  }

  /** Takes one retry and returns its additional delay in milliseconds: 0 for a lane that fails rarely. */
  spend(lane: string, now: number): number {
    const { free, gapMs } = this.#rate;
    if (!this.#fullAt.has(lane)) this.#forgetFull(now);
    const fullAt = Math.max(this.#fullAt.get(lane) ?? now, now) + gapMs;
    this.#fullAt.set(lane, fullAt);
    return Math.min(Math.max(0, fullAt - now - free * gapMs), MAX_DELAY_MS);
  }

  /** Number of lanes with recent retries. */
  get size(): number {
    return this.#fullAt.size;
  }

  #forgetFull(now: number): void {
    for (const [lane, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(lane);
  }
}

const RETRY_RATE: RetryRate = { free: 500, gapMs: 20 };
/** Maximum additional delay, in milliseconds, so that a recovered lane resumes soon. */
const MAX_DELAY_MS = 60_000;
