// Retry delays that a server requests.

import { StatusError } from './status.ts';

/**
 * Returns the delay that the server requested, in milliseconds, but at least 1 s and at most 5 min. Without a requested delay, returns 1 s
 * for a 429 response and undefined for other errors.
 */
export function retryAfterMsOf(error: unknown): number | undefined {
  const requestedMs = requestedDelayMsOf(error);
  if (typeof requestedMs === 'number' && requestedMs > 0) return Math.min(Math.max(requestedMs, MIN_MS), MAX_MS);
  return error instanceof StatusError && error.code === 429 ? MIN_MS : undefined;
}

const MIN_MS = 1_000;
const MAX_MS = 300_000;

/**
 * Returns the requested delay in milliseconds: a StatusError contains seconds, an IssueError milliseconds; undefined if no delay was
 * requested. The property `retryAfterMs` of other errors can have any type.
 */
function requestedDelayMsOf(error: unknown): unknown {
  if (!(error instanceof StatusError)) return error instanceof Error && 'retryAfterMs' in error ? error.retryAfterMs : undefined;
  const seconds: unknown = error.retryAfterSeconds;
  return typeof seconds === 'number' ? seconds * 1_000 : undefined;
}
