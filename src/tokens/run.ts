// The context of one reconcile of a ManagedToken: the state that all runs share, the run, and the result of each of its plans.

import type { IssueReason } from '../api/reasons.ts';
import type { KubeClient } from '../kube/client.ts';
import type { EventContent, Recorder } from '../kube/recorder.ts';
import type { Clock } from '../std/clock.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import type { IssueError } from '../targets/issue-error.ts';
import type { TokenLimits } from '../targets/policy/grant.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { TokenAuthorizer } from './authorizer.ts';
import type { HubView } from './informers.ts';
import { invalidSpecFailure, type TokenFailure, tokenFailure } from './policy/messages.ts';
import { nextReconcileAt } from './policy/plan.ts';
import type { StoredToken } from './policy/spec.ts';
import type { EvaluatedToken, TokenObservation } from './policy/state.ts';
import type { RecordKey } from './record-key.ts';
import type { RemovalLimits } from './removal-limits.ts';
import type { TrackedToken, TrackedTokens } from './tracked-token.ts';
import type { Verification } from './verification.ts';

/** Settings of Purser that apply to all ManagedTokens. */
export interface TokenSettings {
  /** Interval between verifications of each token, in milliseconds; longer if there are many tokens. 0 disables verification. */
  readonly verifyIntervalMs: number;
  /** Namespaces on target clusters that the name of a whole cluster or set in a rule does not cover; see `toIssueNames`. */
  readonly protectedNamespaces: readonly string[];
  readonly limits: TokenLimits;
  /** Namespace that Purser runs in. */
  readonly namespace: string;
}

/** Metrics that the token controller records. */
export type TokenMetrics = Pick<
  Metrics,
  'observeQueue' | 'recordIssuance' | 'recordOrphan' | 'recordHeldRemoval' | 'setRemovalPaused' | 'observeBudgets' | 'observeVerification'
>;

/** Deadline for the requests of one run, in milliseconds. The last write of a ManagedToken's status is exempt. */
export const RUN_MS = 60_000;

/** Slot of the work queue that a run holds. */
export interface RunSlot {
  /** Lane of the slot. The run sends no requests to clusters of other lanes. */
  readonly lane: string;
  /** Requests a run for a key. */
  readonly request: (key: string) => void;
}

/** Shared state of all runs during one term of the controller. */
export interface TokenDeps {
  readonly hub: KubeClient;
  readonly clients: Pick<ClusterClients, 'use' | 'endpointsOf'>;
  readonly recorder: Pick<Recorder, 'record'>;
  readonly clock: Clock;
  /** Clock for the deadline of each run. */
  readonly timers: Clock;
  readonly log: Logger;
  /** Logger for decisions about tokens. */
  readonly auditLog: Logger;
  readonly metrics?: TokenMetrics | undefined;
  readonly settings: TokenSettings;
  readonly view: HubView;
  readonly memory: TrackedTokens;
  readonly authorizer: TokenAuthorizer;
  readonly removals: RemovalLimits;
  readonly verification: Verification;
  readonly recordKey: RecordKey;
  /** Start of the term, on the system clock. */
  readonly startedAt: number;
  /** Delay of issuances while the namespace is over its budget, in milliseconds; 0 or undefined otherwise. */
  readonly budgetMs?: number;
  /** Slot that the run holds; undefined if the run may dial any cluster. */
  readonly slot?: RunSlot;
}

/** One run for one ManagedToken. */
export interface TokenRun extends TokenDeps {
  /** `namespace/name` of the ManagedToken. */
  readonly key: string;
  readonly uid: string;
  readonly tracked: TrackedToken;
  readonly signal: AbortSignal;
}

/** Result of one plan. */
export interface Step {
  /** The observation after the plan. */
  readonly observation: TokenObservation;
  /** True if the run ends here. */
  readonly isDone: boolean;
  /** True if the next plan needs no review of the permission. */
  readonly isReviewed?: boolean;
  /** True if the plan waits for the deletion of anchors on other clusters. */
  readonly isPending?: boolean;
  /** Reason of the issuance; undefined if no token was issued. */
  readonly issued?: IssueReason;
  readonly failure?: TokenFailure | undefined;
  /** Value of the `revoke` annotation that the plan acted on; undefined if it revoked nothing. */
  readonly revoked?: string;
  /** Error after which the run is retried with backoff; undefined if it needs no retry. */
  readonly error?: IssueError | undefined;
  readonly requeueAt?: number | undefined;
  /** Events to record besides those that follow from the other fields. */
  readonly events?: readonly EventContent[];
}

/**
 * Returns the last step of a failed run. The run is retried, unless the failure lasts until an object changes: then that change, or the
 * expiry of the token, triggers the next run.
 */
export function toFailedStep({ clock }: TokenRun, { observation, state }: EvaluatedToken, error: IssueError): Step {
  const failed = { observation, isDone: true, failure: toFailure(error, observation.token) };
  if (!error.isLasting) return { ...failed, error };
  return { ...failed, requeueAt: nextReconcileAt(clock.now(), [state.record?.expiresAt]) };
}

/** Converts an error to the failure of a ManagedToken. */
export function toFailure({ reason, status, detail }: IssueError, token: StoredToken): TokenFailure {
  if (reason === 'InvalidSpec') return invalidSpecFailure(detail === '' ? [] : [detail]);
  return tokenFailure(reason === 'ServiceAccountRecreated' ? 'RequestRejected' : reason, token, status?.message);
}

/** Returns the ManagedToken of a run, including Purser's latest writes; `token` if the ManagedToken was deleted in the meantime. */
export function latestToken({ view, tracked, clock, key, uid }: TokenRun, token: StoredToken): StoredToken {
  const informed = view.tokens.get(key);
  return informed?.metadata.uid === uid ? tracked.latestToken(informed, clock.now()) : token;
}
