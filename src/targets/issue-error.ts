// Why a target cluster did not do what was asked of it.

import { FailureReason, IssueReason, ReadyReason } from '../api/reasons.ts';
import { retryAfterMs } from '../kubernetes/retry-after.ts';
import { type Status, StatusError } from '../kubernetes/status.ts';
import { cleanedMessage } from '../std/clean-message.ts';

/** What can go wrong between us and a target. */
export type IssueFailure = FailureReason | 'AccountRecreated' | 'InvalidSpec';

export interface IssueErrorOptions {
  /** How long the target wants to be left alone. */
  readonly retryAfterMs?: number;
  /** What the target answered, if its refusal is for whoever asked; without our credential. */
  readonly status?: Status;
  /** What the network said, such as `ECONNREFUSED`, where it was the network. */
  readonly code?: string;
  /** Overrides `isLasting` of the reason. */
  readonly isLasting?: boolean;
  /** The account that the target has under the name that was asked for, where it is another one. */
  readonly accountUID?: string | undefined;
}

/** A failure with its one word for programs. The message is one line for people and holds no token. */
export class IssueError extends Error {
  override readonly name = 'IssueError';
  readonly reason: IssueFailure;
  /** Part of the message that is for operators: it may name addresses and Secrets. Empty without one. */
  readonly detail: string;
  readonly retryAfterMs?: number;
  readonly status?: Status;
  readonly code?: string;
  readonly accountUID?: string;
  /** Whether only a change of the Cluster, its credential or the ManagedToken can end the failure, so that a retry is pointless. */
  readonly isLasting: boolean;

  constructor(reason: IssueFailure, detail = '', options: IssueErrorOptions = {}) {
    const { status, code, accountUID, isLasting = isLastingReason(reason) } = options;
    const cleaned = cleanedMessage(detail);
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
 * contains nothing that was sent.
 */
export async function orIssueError<T>(response: Promise<T>, reason: IssueFailure, signal: AbortSignal): Promise<T> {
  try {
    return await response;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof IssueError) throw error;
    const waitMs = retryAfterMs(error);
    const status = error instanceof StatusError ? error.status : undefined;
    const options = { ...(waitMs !== undefined && { retryAfterMs: waitMs }), ...(status && { status }) };
    throw new IssueError(reason, error instanceof Error ? error.message : '', options);
  }
}

/** Returns an error that is an IssueError. Throws the reason of `signal` if it aborted, and any other error as it is. */
export function asIssueError(error: unknown, signal: AbortSignal): IssueError {
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
  'InvalidSpec',
]);

const MEANINGS: Readonly<Record<IssueFailure, string>> = {
  ...FailureReason,
  AccountRecreated: IssueReason.AccountRecreated,
  InvalidSpec: ReadyReason.InvalidSpec,
};
