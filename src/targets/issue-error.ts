// Why a target cluster did not do what was asked of it.

import { FailureReason, IssueReason, ReadyReason } from '../api/reasons.ts';
import type { Status } from '../kubernetes/status.ts';
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
    const { retryAfterMs, status, code, accountUID, isLasting = isLastingReason(reason) } = options;
    const cleaned = cleanedMessage(detail);
    super(cleaned === '' ? MEANINGS[reason] : `${MEANINGS[reason]}: ${cleaned}`);
    this.reason = reason;
    this.detail = cleaned;
    this.isLasting = isLasting;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
    if (status !== undefined) this.status = status;
    if (code !== undefined) this.code = code;
    if (accountUID !== undefined) this.accountUID = accountUID;
  }
}

/** Whether failures with this reason last until something is changed. */
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
