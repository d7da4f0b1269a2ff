// Requests to the hub: expected rejections as undefined, failures as IssueErrors.

import { retryAfterMs } from '../kubernetes/retry-after.ts';
import { hasReason, StatusError, type StatusReason } from '../kubernetes/status.ts';
import { IssueError, type IssueFailure } from '../targets/issue-error.ts';

/**
 * Returns the response. Throws the reason of `signal` if it is aborted, and otherwise an IssueError, whose message holds nothing that
 * was sent.
 */
export async function hubResponse<T>(request: Promise<T>, failure: IssueFailure, signal: AbortSignal): Promise<T> {
  try {
    return await request;
  } catch (error) {
    signal.throwIfAborted();
    const delayMs = retryAfterMs(error);
    const status = error instanceof StatusError ? error.status : undefined;
    const options = { ...(delayMs !== undefined && { retryAfterMs: delayMs }), ...(status && { status }) };
    throw new IssueError(failure, error instanceof Error ? error.message : '', options);
  }
}

/** Returns the response; undefined for a rejection with one of these reasons. */
export async function unless<T>(request: Promise<T>, ...expected: readonly StatusReason[]): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (hasReason(error, ...expected)) return undefined;
    throw error;
  }
}

/** Returns a caught error that is an IssueError; throws any other, and the reason of `signal` if it is aborted. */
export function toIssueError(error: unknown, signal: AbortSignal): IssueError {
  signal.throwIfAborted();
  if (!(error instanceof IssueError)) throw error;
  return error;
}
