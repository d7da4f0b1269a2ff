// The context of one reconcile of a ManagedToken. `observe` reads everything that a decision needs from informers and memory, without a
// request.

import type { IssueReason } from '../api/reasons.ts';
import type { KubeClient } from '../kube/client.ts';
import type { EventContent, Recorder } from '../kube/recorder.ts';
import { BoundedCache } from '../std/bounded-cache.ts';
import type { Clock } from '../std/clock.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import type { PinnedEndpoints } from '../targets/endpoints.ts';
import { IssueError } from '../targets/issue-error.ts';
import type { TokenLimits } from '../targets/policy/grant.ts';
import { issuingCredentialOf } from '../targets/registry.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { TokenAuthorizer } from './authorizer.ts';
import { type HubView, secretKeyOf } from './informers.ts';
import { type OutputContent, toOutputContent } from './outputs/outputs.ts';
import { invalidSpecFailure, type TokenFailure, tokenFailure } from './policy/messages.ts';
import { nextReconcileAt } from './policy/plan.ts';
import { earlierClaimant, isOwnedBy, type StoredSecret, secretNameOf, toOutputsDigest } from './policy/secret.ts';
import type { StoredToken } from './policy/spec.ts';
import type { EvaluatedToken, TokenObservation } from './policy/state.ts';
import type { RecordKey } from './record-key.ts';
import type { RemovalLimits } from './removal-limits.ts';
import type { TrackedToken, TrackedTokens } from './tracked-token.ts';
import type { Verification } from './verification.ts';

/** Settings of the operator for ManagedTokens. */
export interface TokenSettings {
  /** Minimum interval between TokenReviews of each token, in milliseconds; 0 disables them. */
  readonly verifyIntervalMs: number;
  /** Namespaces on target clusters for which a permission must name the namespace; see `toIssueNames`. */
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
  /** Lane of the slot. The run dials no cluster of another lane. */
  readonly lane: string;
  /** Requests a run of this key. */
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
  /** True if a review in this run allowed the next issuance. */
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
 * Returns the last step of a failed run. The run is retried, unless the failure lasts until an object changes: that change triggers the
 * next run.
 */
export function failedStep({ clock }: TokenRun, { observation, state }: EvaluatedToken, error: IssueError): Step {
  const failed = { observation, isDone: true, failure: toFailure(error, observation.token) };
  if (!error.isLasting) return { ...failed, error };
  return { ...failed, requeueAt: nextReconcileAt(clock.now(), [state.record?.expiresAt]) };
}

/** Converts an error to the failure of a ManagedToken. */
export function toFailure({ reason, status, detail }: IssueError, token: StoredToken): TokenFailure {
  if (reason === 'InvalidSpec') return invalidSpecFailure(detail === '' ? [] : [detail]);
  return tokenFailure(reason === 'ServiceAccountRecreated' ? 'RequestRejected' : reason, token, status?.message);
}

/** Returns the observation for a run; `informed` is the ManagedToken as the informer has it. */
export function observe(run: TokenRun, informed: StoredToken): TokenObservation {
  const { view, tracked, clock, recordKey, verification } = run;
  const now = clock.now();
  const token = tracked.latestToken(informed, now);
  const { verdict, verifiedAt = run.startedAt, lastIssuedAt, anchorsAt } = tracked;
  const { secretDigest, secretRef } = token.status ?? {};
  const { writtenDigest = secretDigest, issuedDigest = recordKey.verify(token), writtenSecret = secretRef } = tracked;
  return {
    token,
    ...observeCluster(view, token),
    secret: tracked.latestSecret(view.secrets.get(secretKeyOf(token)), secretNameOf(token), now),
    former: formerSecrets(run, token),
    ...observeOutputs(run, token),
    claimant: earlierClaimant(token, view.firstClaimant(secretKeyOf(token))),
    writtenDigest,
    writtenSecret,
    issuedDigest,
    verdict,
    verifyAt: verification.nextAt(token, Math.max(...[verifiedAt, lastIssuedAt ?? 0].filter((at) => at <= now))),
    lastIssuedAt,
    anchorsAt,
  };
}

/** Returns the ManagedToken of a run with Purser's own writes; `token` if the ManagedToken was deleted in the meantime. */
export function latestToken({ view, tracked, clock, key, uid }: TokenRun, token: StoredToken): StoredToken {
  const informed = view.tokens.get(key);
  return informed?.metadata.uid === uid ? tracked.latestToken(informed, clock.now()) : token;
}

/** Returns the observation with the Cluster as it is registered now. */
export function withRegistration(run: TokenRun, observation: TokenObservation): TokenObservation {
  const { outputsDigest: _, unwritable: __, ...rest } = observation;
  return { ...rest, ...observeCluster(run.view, rest.token), ...observeOutputs(run, rest.token) };
}

function observeCluster(view: HubView, { spec }: StoredToken): Pick<TokenObservation, 'cluster' | 'issuingCredential'> {
  const registered = view.registry.registered(spec.clusterName);
  return { cluster: registered?.cluster, issuingCredential: registered && issuingCredentialOf(registered) };
}

/** Returns the digest of the desired outputs, or the failure that prevents writing them; empty without the Cluster. */
function observeOutputs({ view, clients }: TokenRun, token: StoredToken): Pick<TokenObservation, 'outputsDigest' | 'unwritable'> {
  const registered = view.registry.registered(token.spec.clusterName);
  if (registered === undefined) return {};
  try {
    return { outputsDigest: toOutputsDigest(outputsOf(token, clients.endpointsOf(registered))) };
  } catch (error) {
    if (!(error instanceof IssueError)) throw error;
    return { unwritable: toFailure(error, token) };
  }
}

/** Returns the outputs for the token. Throws an IssueError if the spec names an address that is not the cluster's. */
export function outputsOf(token: StoredToken, endpoints: PinnedEndpoints): OutputContent {
  const known = recentOutputs.get(token.spec);
  if (known?.endpoints === endpoints) return known.content;
  const content = toOutputContent(token, endpoints);
  if (content === undefined) throw new IssueError('InvalidSpec', 'spec.secret.server is not an address of the cluster');
  recentOutputs.set(token.spec, { endpoints, content });
  return content;
}

interface RecentOutputs {
  readonly endpoints: PinnedEndpoints;
  readonly content: OutputContent;
}

const MAX_OUTPUTS = 256;
/** Outputs by spec, because a reconcile reads them and their digest several times. ManagedTokens with equal specs share one object. */
const recentOutputs = new BoundedCache<RecentOutputs, StoredToken['spec']>(MAX_OUTPUTS);

/** Maximum number of former Secrets that one reconcile handles: tenants can create many. Each deletion triggers the next reconcile. */
const MAX_FORMER = 16;

/** Returns Secrets with former names; first the one that held the token at the last reconcile. */
function formerSecrets({ view }: TokenRun, token: StoredToken): readonly StoredSecret[] {
  const { metadata, status } = token;
  const last = view.secrets.get(`${metadata.namespace}/${status?.secretName}`);
  const owned = view.secretsOwnedBy(token, MAX_FORMER + 1);
  const former = [...new Set(last !== undefined && isOwnedBy(last.metadata, token) ? [last, ...owned] : owned)];
  return former.filter(({ metadata: { name } }) => name !== secretNameOf(token)).slice(0, MAX_FORMER);
}
