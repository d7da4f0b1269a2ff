// Errors with a reason: failures of a target cluster or the hub while a token is issued, verified or written.

import { FailureReason, IssueReason, ReadyReason } from '../api/reasons.ts';
import { retryAfterMs } from '../kubernetes/retry-after.ts';
import { type Status, StatusError } from '../kubernetes/status.ts';
import { cleanMessage } from '../std/clean-message.ts';
import { defined } from '../std/defined.ts';

/** Reasons of errors. */
export type IssueFailure = FailureReason | 'ServiceAccountRecreated' | 'InvalidSpec';

export interface IssueErrorOptions {
  /** Delay before the next request that the server requested, in milliseconds. */
  readonly retryAfterMs?: number;
  /** Status of the response, if the request caused the error; without Purser's credential. */
  readonly status?: Status;
  /** Code of a network error, such as `ECONNREFUSED`. */
  readonly code?: string;
  /** Overrides `isLasting` of the reason. */
  readonly isLasting?: boolean;
  /** UID of the service account on the target, if it differs from the expected one. */
  readonly accountUID?: string | undefined;
}

/** An error with a reason for programs. The message is one line for operators and contains no token. */
export class IssueError extends Error {
  override readonly name = 'IssueError';
  readonly reason: IssueFailure;
  /** Part of the message that may name addresses and Secrets; may be empty. */
  readonly detail: string;
  readonly retryAfterMs?: number;
  readonly status?: Status;
  readonly code?: string;
  readonly accountUID?: string;
  /** True if only a change of the Cluster, its credential or the ManagedToken can end the failure, so that a retry is pointless. */
  readonly isLasting: boolean;

  constructor(reason: IssueFailure, detail = '', options: IssueErrorOptions = {}) {
    const { status, code, accountUID, isLasting = isLastingReason(reason) } = options;
    const cleaned = cleanMessage(detail);
    super(cleaned === '' ? MEANINGS[reason] : `${MEANINGS[reason]}: ${cleaned}`);
    this.reason = reason;
    this.detail = cleaned;
    this.isLasting = isLasting;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
    if (status !== undefined) this.status = status;
    if (code !== undefined) this.code = code;
    if (accountUID !== undefined) this.accountUID = accountUID;
  }
}

/**
 * Waits for a response of the hub. Throws the reason of `signal` if it aborted, otherwise an IssueError with `reason`, whose message
 * contains no part of the request.
 */
export async function orIssueError<T>(response: Promise<T>, reason: IssueFailure, signal: AbortSignal): Promise<T> {
  try {
    return await response;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof IssueError) throw error;
    const waitMs = retryAfterMs(error);
    const status = error instanceof StatusError ? error.status : undefined;
    const options = defined({ retryAfterMs: waitMs, status });
    throw new IssueError(reason, error instanceof Error ? error.message : '', options);
  }
}

/** Returns the error if it is an IssueError. Throws the reason of `signal` if it aborted, and any other error unchanged. */
export function toIssueError(error: unknown, signal: AbortSignal): IssueError {
  signal.throwIfAborted();
  if (!(error instanceof IssueError)) throw error;
  return error;
}

/** Returns whether failures with this reason last until an object is changed. */
export function isLastingReason(reason: string): boolean {
  return LASTING.has(reason);
}

const LASTING: ReadonlySet<string> = new Set<IssueFailure>([
  'CredentialMissing',
  'CredentialNotForCluster',
  'EndpointNotPinned',
  'CANotPinned',
  'NamespaceNotAllowed',
  'AudienceNotAccepted',
  'InvalidSpec',
]);

const MEANINGS: Readonly<Record<IssueFailure, string>> = {
  ...FailureReason,
  ServiceAccountRecreated: IssueReason.ServiceAccountRecreated,
  InvalidSpec: ReadyReason.InvalidSpec,
};
