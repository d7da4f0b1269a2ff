// The status of a Cluster: written when its content changes, and as a heartbeat.

import type { ClusterStatus } from '../api/cluster.gen.ts';
import { Clusters } from '../api/resources.ts';
import { defined } from '../std/defined.ts';
import { nextTurnAt } from '../std/hash.ts';
import { formatTimestamp, parseTimestamp } from '../std/timestamp.ts';
import type { IssueError } from '../targets/issue-error.ts';
import { credentialKey } from '../targets/policy/registration.ts';
import type { RegisteredCluster } from '../targets/registered-cluster.ts';
import { credentialEvidence } from './credential-freshness.ts';
import type { ClusterDeps } from './deps.ts';
import { eventsOf } from './events.ts';
import { type CredentialEvidence, evaluateCredential, type HubTokenFailure } from './policy/conditions.ts';
import { type Health, isReadyInDoubt, toConditions } from './policy/health.ts';
import { heartbeatMs, isDifferentStatus } from './policy/heartbeat.ts';
import { distributionOf } from './policy/version.ts';
import type { TrackedCluster } from './tracked-cluster.ts';

/** Writes the status and records events, if the content changed or a heartbeat is due. */
export async function writeStatus(
  deps: ClusterDeps,
  registered: RegisteredCluster,
  tracked: TrackedCluster,
  signal: AbortSignal,
): Promise<void> {
  const { hub, clock, recorder } = deps;
  const { cluster } = registered;
  const { health } = tracked;
  // Health that was restored from an earlier term is not written before a probe confirms it.
  if (tracked.probedAt === undefined || health === undefined) return;
  const now = clock.now();
  const previous = cluster.status ?? {};
  const status = toStatus(deps, registered, { ...tracked, health });
  tracked.conditions = status.conditions ?? [];
  const isChanged = tracked.mustWrite || isDifferentStatus(status, previous);
  const isHeartbeat = !isChanged && reserveHeartbeat(deps, tracked, previous) <= clock.monotonic() && !isReadyInDoubt(health);
  if (!isChanged && !isHeartbeat) return;
  const conditions = tracked.conditions.map((condition) => ({ ...condition, lastHeartbeatTime: formatTimestamp(now) }));
  await hub.updateStatus(Clusters, { ...cluster, status: { ...status, conditions } }, { signal });
  tracked.mustWrite = false;
  tracked.isRegular = isHeartbeat;
  tracked.heartbeatAt = undefined;
  for (const event of eventsOf(previous, status)) recorder.record(cluster, event);
}

/** Times in a status are truncated to seconds. */
const TRUNCATED_MS = 1_000;

function toStatus(
  deps: ClusterDeps,
  registered: RegisteredCluster,
  { health, version, activeEndpoint, probedAt, conditions: previous }: TrackedCluster & { readonly health: Health },
): ClusterStatus {
  const now = deps.clock.now();
  const probed = [...health].map(([type, { shown }]) => [type, shown] as const);
  const evidence = withFailure(credentialEvidence(registered, deps.view, deps.clients), registered, deps);
  const findings = new Map([...probed, ...evaluateCredential(evidence, now)]);
  const conditions = toConditions(findings, previous, now);
  const lastProbeTime = probedAt === undefined ? undefined : formatTimestamp(probedAt);
  return defined<ClusterStatus>({ type: version && distributionOf(version), version, activeEndpoint, lastProbeTime, conditions });
}

/** Adds the failure of a renewal, or of a request to the hub for a token. */
function withFailure(evidence: CredentialEvidence, registered: RegisteredCluster, { clients, renewals }: ClusterDeps): CredentialEvidence {
  if (evidence.type === 'federated') return { ...evidence, ...toHubFailure(clients.hubTokenFailure(registered.cluster)) };
  const failure = evidence.type === 'stored' ? renewals?.failureOf(credentialKey(registered.cluster)) : undefined;
  return evidence.type === 'stored' && failure !== undefined ? { ...evidence, failure } : evidence;
}

function toHubFailure(error: IssueError | undefined): { readonly failure?: HubTokenFailure } {
  if (error === undefined) return {};
  const { reason, detail } = error;
  return { failure: { reason: reason === 'HubTokenForbidden' || reason === 'CredentialMissing' ? reason : 'HubTokenFailed', detail } };
}

/** Reserves a time for a due heartbeat among those of all clusters. Returns that time; Infinity while no heartbeat is due. */
function reserveHeartbeat(deps: ClusterDeps, cluster: TrackedCluster, previous: ClusterStatus): number {
  const now = deps.clock.monotonic();
  if (heartbeatDueAt(deps, cluster, previous) > deps.clock.now()) {
    // A reservation from the time of a smaller fleet would make the cluster due immediately, again and again.
    cluster.heartbeatAt = undefined;
    return Infinity;
  }
  const at = cluster.heartbeatAt ?? deps.tracked.reserveHeartbeat(now);
  cluster.heartbeatAt = at > now ? at : undefined;
  return at;
}

function heartbeatDueAt({ view, clock }: ClusterDeps, { uid, isRegular }: TrackedCluster, { conditions = [] }: ClusterStatus): number {
  const periodMs = heartbeatMs(view.clusters.size);
  const writtenAt = parseTimestamp(conditions[0]?.lastHeartbeatTime) ?? 0;
  // A heartbeat far in the future was written before the clock was set back, or by another writer.
  const lastAt = writtenAt - clock.now() > periodMs ? 0 : writtenAt;
  // Slots spread the heartbeats of clusters that were written together. Later heartbeats follow the last one by a whole period: with slots,
  // a late heartbeat would be followed by an early one.
  return isRegular ? lastAt + periodMs + TRUNCATED_MS : nextTurnAt('heartbeat', uid, lastAt, periodMs);
}
