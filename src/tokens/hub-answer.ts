// What the hub answers, sorted: what was expected, and failures with their one word for people.

import { retryAfterMs } from '../kubernetes/retry-after.ts';
import { hasReason, StatusError, type StatusReason } from '../kubernetes/status.ts';
import { IssueError, type IssueFailure } from '../targets/issue-error.ts';

/** The answer. Throws an IssueError otherwise, whose message holds nothing that was sent, or the reason of `signal`. */
export async function hubAnswer<T>(answer: Promise<T>, failure: IssueFailure, signal: AbortSignal): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    signal.throwIfAborted();
    const askedMs = retryAfterMs(error);
    const status = error instanceof StatusError ? error.status : undefined;
    const options = { ...(askedMs !== undefined && { retryAfterMs: askedMs }), ...(status && { status }) };
    throw new IssueError(failure, error instanceof Error ? error.message : '', options);
  }
}

/** The answer; undefined for refusals that are expected. */
export async function unless<T>(answer: Promise<T>, ...expected: readonly StatusReason[]): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (hasReason(error, ...expected)) return undefined;
    throw error;
  }
}
