// What becomes of a failed run: when the key is looked at again, if at all, and how much is made of it.

import type { Resource } from '../api/resources.ts';
import { retryAfterMs } from '../kubernetes/retry-after.ts';
import { hasReason } from '../kubernetes/status.ts';
import { doubledMs } from '../std/backoff.ts';

/**
 * - `gone`: the object itself was deleted meanwhile.
 * - `conflict`: a write was based on a state that had changed; nobody's failure.
 * - `throttled`: the server rejects requests for a while.
 * - `transient`: everything else. An abort too, since those of our own end the controller and its outcomes with it.
 */
export type FailureClass = 'gone' | 'conflict' | 'throttled' | 'transient';

/** A run that failed. */
export interface Failure<K> {
  readonly key: K;
  readonly error: unknown;
  /** Failures in a row, this one included. Conflicts before it do not count. */
  readonly failures: number;
  /** Conflicts in a row; counts this one, which may be one. */
  readonly conflicts: number;
  readonly now: number;
}

/** What follows a failed run. */
export interface Retry {
  readonly class: FailureClass;
  /** Undefined: only a new request wakes the key. */
  readonly retryAt: number | undefined;
  /** Whether nothing was tried, so that nothing more has failed than before. */
  readonly isPutOff?: boolean;
}

export interface RetryTerms {
  /** A number in [0, 1), so that keys which failed together do not return together. */
  readonly random: number;
  /** The kind that keys name: the server's word that such an object does not exist ends the matter. */
  readonly resource?: Resource<unknown>;
  /** A retry comes no later than this, whatever anybody asks for. */
  readonly latestAt?: number;
  /** Spends a retry of what hangs together with the key, and tells how much later it has to come; see RetryBudget. */
  readonly spend?: () => number;
}

/** Decides what follows a failed run. */
export function planRetry(failure: Failure<string>, terms: RetryTerms): Retry {
  const failureClass = classOf(failure, terms.resource);
  const delayMs = delayOf(failureClass, failure, terms.random);
  if (delayMs === undefined) return { class: failureClass, retryAt: undefined };
  const isFree = failureClass === 'conflict' || isPutOff(failure.error);
  const laterMs = isFree ? 0 : (terms.spend?.() ?? 0);
  const retryAt = Math.min(failure.now + Math.ceil(delayMs) + laterMs, terms.latestAt ?? Infinity);
  return { class: failureClass, retryAt, ...(isPutOff(failure.error) && { isPutOff: true }) };
}

const BACKOFF = { initialMs: 500, maxMs: 300_000 };
/** Time for the store to hear of the write that was in the way; if it is further behind, asking again at once is no use. */
const CONFLICT = { initialMs: 200, maxMs: 10_000 };

function classOf({ key, error }: Failure<string>, resource: Resource<unknown> | undefined): FailureClass {
  if (resource !== undefined && isAbsent(error, resource, key)) return 'gone';
  if (hasReason(error, 'Conflict')) return 'conflict';
  return retryAfterMs(error) === undefined ? 'transient' : 'throttled';
}

/** A NotFound may speak of many things: an account, a namespace, a whole kind that was uninstalled. */
function isAbsent(error: unknown, resource: Resource<unknown>, key: string): boolean {
  if (!hasReason(error, 'NotFound')) return false;
  const { group = '', kind, name } = error.status.details ?? {};
  return group === resource.group && kind === resource.plural && name === key.slice(key.lastIndexOf('/') + 1);
}

function delayOf(failureClass: FailureClass, { error, failures, conflicts }: Failure<string>, random: number): number | undefined {
  const backoffMs = jittered(doubledMs(failures - 1, BACKOFF), random);
  switch (failureClass) {
    case 'gone':
      return undefined;
    case 'conflict':
      return jittered(doubledMs(conflicts - 1, CONFLICT), random);
    case 'throttled':
      // A server that asks for a second again and again is waited for ever longer; whoever waits for one answer is not.
      return Math.max((retryAfterMs(error) ?? 0) * (1 + random / 10), isPutOff(error) ? 0 : backoffMs);
    case 'transient':
      return backoffMs;
  }
}

/** Between half of it and all of it. */
function jittered(ms: number, random: number): number {
  return ms * (1 - random / 2);
}

/** Nothing was sent, because the target is left alone for a while. */
function isPutOff(error: unknown): boolean {
  return error instanceof Error && 'reason' in error && error.reason === 'CircuitOpen';
}
