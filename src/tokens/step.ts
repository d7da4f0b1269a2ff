// How far one run has come with a ManagedToken.

import type { ManagedToken } from '../api/managed-token.gen.ts';
import type { IssueReason } from '../api/reasons.ts';
import type { Note } from '../kube/event-series.ts';
import type { IssueError } from '../targets/issue-error.ts';
import { invalidSpecFailure, tokenFailure } from './policy/messages.ts';
import type { TokenObservation } from './policy/observation.ts';
import type { TokenFailure } from './policy/plan.ts';

/** What came of carrying out one plan. */
export interface Step {
  /** Everything as it is now. */
  readonly observation: TokenObservation;
  /** Whether nothing is left to be done now. */
  readonly isDone: boolean;
  /** Whether a review of this run allowed the next issuance. */
  readonly isReviewed?: boolean;
  /** Why a token was issued. */
  readonly issued?: IssueReason;
  readonly failure?: TokenFailure | undefined;
  /** The request to revoke that was acted on. */
  readonly revoked?: string;
  /** To be tried again, with ever longer pauses. */
  readonly error?: IssueError | undefined;
  readonly requeueAt?: number | undefined;
  /** For people, besides what follows from the rest. */
  readonly notes?: readonly Note[];
}

/** Returns the failure of a ManagedToken that an error stands for. */
export function failureOf({ reason, status, detail }: IssueError, token: ManagedToken): TokenFailure {
  if (reason === 'InvalidSpec') return invalidSpecFailure(detail === '' ? [] : [detail]);
  return tokenFailure(reason === 'AccountRecreated' ? 'TargetRefused' : reason, token, status?.message);
}
