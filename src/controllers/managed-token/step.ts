// How far one run has come with a ManagedToken.

import { FailureReason, type IssueReason } from '../../api/reasons.ts';
import type { TokenObservation } from '../../domain/token-observation.ts';
import type { TokenFailure } from '../../domain/token-plan.ts';
import type { IssueError } from '../../issuers/issue-error.ts';
import type { Note } from '../../kube/event-series.ts';

/** What came of carrying out one plan. */
export interface Step {
  /** Everything as it is now. */
  readonly observation: TokenObservation;
  /** Whether nothing is left to be done now. */
  readonly isDone: boolean;
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

/** A failure as conditions tell it. Details of a registration are for operators, who find them on the Cluster. */
export function failureOf({ reason, message }: IssueError): TokenFailure {
  if (reason === 'AccountRecreated') return { reason: 'TargetRefused', message };
  return { reason, message: OF_REGISTRATION.has(reason) ? FailureReason[reason as keyof typeof FailureReason] : message };
}

const OF_REGISTRATION: ReadonlySet<string> = new Set<FailureReason>([
  'CredentialMissing',
  'CredentialNotForCluster',
  'EndpointNotPinned',
  'CANotPinned',
]);
