// The status of a Cluster, from the last probe and from Purser's credential for the cluster. Purser writes the status when its content
// changes, and as a heartbeat.

import type { ClusterCondition, ClusterStatus } from '../api/cluster.gen.ts';
import { ClusterConditionType } from '../api/names.ts';
import { Clusters, type Secret, type Stored } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import type { EventContent, Recorder } from '../kube/recorder.ts';
import type { Clock } from '../std/clock.ts';
import { computeNextTurnAt } from '../std/hash.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import { formatTimestamp, parseTimestamp } from '../std/timestamp.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import { readClusterNames, readCredential, readCredentialLifetime, readTokenInUse } from '../targets/credential.ts';
import { IssueError } from '../targets/issue-error.ts';
import { credentialKeyOf } from '../targets/policy/registration.ts';
import { combineRenewalTerms, computeRenewalDueAt, type RenewalFailure, type TokenInUse } from '../targets/policy/renewal.ts';
import { parseRenewal, revokeRequestOf } from '../targets/policy/renewed-secret.ts';
import type { RegisteredCluster, Registry } from '../targets/registry.ts';
import type { CredentialTimes } from '../telemetry/exposition.ts';
import {
  type CredentialEvidence,
  clusterConditions,
  evaluateCredential,
  type HubTokenFailure,
  type StoredEvidence,
  type Validity,
} from './policy/conditions.ts';
import { type Health, isReadyInDoubt, toConditions } from './policy/health.ts';
import { computeHeartbeatMs, type TrackedCluster, type TrackedClusters } from './tracked-cluster.ts';

/** Shared state of all status writes during one term of the controller. */
export interface StatusDeps {
  readonly hub: KubeClient;
  readonly clients: ClusterClients;
  readonly recorder: Pick<Recorder, 'record'>;
  readonly clock: Clock;
  /** Renewals of credentials; undefined in tests without them. */
  readonly renewals?: { failureOf(key: string): RenewalFailure | undefined };
  readonly registry: Registry;
  readonly tracked: TrackedClusters;
}

/** Writes the status and records events, if the content changed or a heartbeat is due. */
export async function writeStatus(
  deps: StatusDeps,
  registered: RegisteredCluster,
  tracked: TrackedCluster,
  signal: AbortSignal,
): Promise<void> {
  const { hub, clock, recorder } = deps;
  const { cluster } = registered;
  const { health } = tracked;
  // Health that was restored from an earlier term is not written before the first probe of this term.
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
  for (const event of deriveEvents(previous, status)) recorder.record(cluster, event);
}

/** Returns whether two statuses differ in more than heartbeats, probe times, latency, messages and the order of conditions. */
export function isDifferentStatus(status: ClusterStatus, other: ClusterStatus): boolean {
  const { conditions = [], apiAudiences: audiences = [] } = status;
  const { conditions: others = [], apiAudiences: otherAudiences = [] } = other;
  return (
    COMPARED_FIELDS.some((field) => status[field] !== other[field]) ||
    audiences.length !== otherAudiences.length ||
    audiences.some((audience, index) => audience !== otherAudiences[index]) ||
    conditions.length !== others.length ||
    conditions.some((condition) => !others.some((each) => isSameCondition(condition, each)))
  );
}

const COMPARED_FIELDS = ['type', 'version', 'activeEndpoint', 'credentialExpirationTime', 'credentialRenewalTime'] as const;

function isSameCondition(a: ClusterCondition, b: ClusterCondition): boolean {
  return a.type === b.type && a.status === b.status && a.reason === b.reason && a.lastTransitionTime === b.lastTransitionTime;
}

/** Maximum error of the times in a status, in milliseconds: Purser truncates the times to seconds. */
const MAX_TIME_ERROR_MS = 1_000;

function toStatus(deps: StatusDeps, registered: RegisteredCluster, tracked: TrackedCluster & { readonly health: Health }): ClusterStatus {
  const { health, version, latencyMs, activeEndpoint, probedAt, conditions: previous } = tracked;
  const now = deps.clock.now();
  const probed = [...health].map(([type, { shown }]) => [type, shown] as const);
  const evidence = withFailure(toCredentialEvidence(registered, deps.registry, deps.clients), registered, deps);
  const isRejected = health.get(ClusterConditionType.authorized)?.shown.reason === 'CredentialRejected';
  const findings = new Map([...probed, ...evaluateCredential(evidence.type === 'stored' ? { ...evidence, isRejected } : evidence, now)]);
  const conditions = toConditions(findings, previous, now);
  const lastProbeTime = probedAt === undefined ? undefined : formatTimestamp(probedAt);
  return omitUndefined<ClusterStatus>({
    type: version && detectDistribution(version),
    version,
    apiAudiences: resolveAPIAudiences(registered, tracked.apiAudiences),
    activeEndpoint,
    lastProbeTime,
    probeLatencyMilliseconds: latencyMs === undefined ? undefined : Math.round(latencyMs),
    ...toStoredTimes(evidence),
    conditions,
  });
}

/** Returns the distribution that a version belongs to; `Kubernetes` if the version has no known suffix. */
export function detectDistribution(version: string): string {
  return DISTRIBUTIONS.find(([, suffix]) => suffix.test(version))?.[0] ?? 'Kubernetes';
}

const DISTRIBUTIONS: readonly (readonly [string, RegExp])[] = [
  ['K3s', /[+-]k3s/],
  ['RKE2', /[+-]rke2/],
  ['k0s', /[+-]k0s/],
  ['EKS', /-eks-/],
  ['GKE', /-gke\./],
  ['AKS', /[+-]aks/],
  ['ACK', /-aliyun/],
  ['TKE', /-tke\./],
  ['IKS', /\+IKS/],
  ['Tanzu', /\+vmware/],
  ['MKE', /-mirantis/],
  // OpenShift versions end with a commit hash.
  ['OpenShift', /\+[0-9a-f]{7,}$/],
];

/**
 * Returns the expiry and the renewal time of a stored credential, if they are known; none for other credentials. Omits the renewal time of
 * a supplied token, whose renewal is already due.
 */
function toStoredTimes(evidence: CredentialEvidence): Pick<ClusterStatus, 'credentialExpirationTime' | 'credentialRenewalTime'> {
  if (evidence.type !== 'stored') return {};
  const { validity, renewAt, isSupplied } = evidence;
  const expiresAt = validity?.expiresAt;
  return {
    ...(expiresAt !== undefined && { credentialExpirationTime: formatTimestamp(expiresAt) }),
    ...(renewAt !== undefined && isSupplied !== true && { credentialRenewalTime: formatTimestamp(renewAt) }),
  };
}

/** Returns the evidence with the failure of a renewal, or of a request to the hub for a token, if there is one. */
function withFailure(evidence: CredentialEvidence, registered: RegisteredCluster, { clients, renewals }: StatusDeps): CredentialEvidence {
  if (evidence.type === 'federated') return { ...evidence, ...toHubFailure(clients.hubTokenFailure(registered.cluster)) };
  const failure = evidence.type === 'stored' ? renewals?.failureOf(credentialKeyOf(registered.cluster)) : undefined;
  return evidence.type === 'stored' && failure !== undefined ? { ...evidence, failure } : evidence;
}

function toHubFailure(error: IssueError | undefined): { readonly failure?: HubTokenFailure } {
  if (error === undefined) return {};
  const { reason, detail } = error;
  return { failure: { reason: reason === 'HubTokenForbidden' || reason === 'CredentialMissing' ? reason : 'HubTokenFailed', detail } };
}

/**
 * Reserves a time for a due heartbeat, so that clusters do not write their heartbeats together. Returns that time on the monotonic clock;
 * Infinity if no heartbeat is due.
 */
function reserveHeartbeat(deps: StatusDeps, cluster: TrackedCluster, previous: ClusterStatus): number {
  const now = deps.clock.monotonic();
  if (computeHeartbeatDueAt(deps, cluster, previous) > deps.clock.now()) {
    // A reservation from a time when the fleet was smaller would repeatedly make the cluster due immediately.
    cluster.heartbeatAt = undefined;
    return Infinity;
  }
  const at = cluster.heartbeatAt ?? deps.tracked.reserveHeartbeat(now);
  cluster.heartbeatAt = at > now ? at : undefined;
  return at;
}

function computeHeartbeatDueAt(
  { registry, clock }: StatusDeps,
  { uid, isRegular }: TrackedCluster,
  { conditions = [] }: ClusterStatus,
): number {
  const periodMs = computeHeartbeatMs(registry.clusters.size);
  const writtenAt = parseTimestamp(conditions[0]?.lastHeartbeatTime) ?? 0;
  // A heartbeat far in the future was written before the clock was set back, or by another writer.
  const lastAt = writtenAt - clock.now() > periodMs ? 0 : writtenAt;
  // Slots spread the heartbeats of clusters whose statuses were written together. Later heartbeats follow the last one by a whole period:
  // with slots, a late heartbeat would be followed by an early one.
  return isRegular ? lastAt + periodMs + MAX_TIME_ERROR_MS : computeNextTurnAt('heartbeat', uid, lastAt, periodMs);
}

/** Returns the events to record when one status follows another. */
export function deriveEvents(previous: ClusterStatus, next: ClusterStatus): readonly EventContent[] {
  return [...clusterConditions].flatMap(([wanted, { events }]) => {
    const [before, after] = [previous, next].map(({ conditions = [] }) => conditions.find(({ type }) => type === wanted));
    if (after === undefined || events === 'none' || isSame(before, after)) return [];
    if (events === 'failures' && before?.status !== 'False' && after.status !== 'False') return [];
    return [{ type: after.status === 'True' ? 'Normal' : 'Warning', reason: after.reason ?? '', message: after.message ?? '' } as const];
  });
}

/** Returns whether two conditions call for the same action: another cause of a failure needs another remedy. */
function isSame(before: ClusterCondition | undefined, after: ClusterCondition): boolean {
  return before?.status === after.status && (after.status === 'True' || before.reason === after.reason);
}

/** Lookups in the cluster clients that the evidence about a credential needs. */
export type CredentialClients = Pick<ClusterClients, 'isHub' | 'hubTokenTimes'>;

/** Returns the evidence about Purser's credential for a cluster. */
export function toCredentialEvidence(
  { cluster, credential, renewed }: RegisteredCluster,
  registry: Pick<Registry, 'clustersOfCredential'>,
  clients: CredentialClients,
): CredentialEvidence {
  const isOwn = cluster.spec.authInfo?.controller?.kind === 'ServiceAccount' && clients.isHub(cluster);
  if (isOwn) return { type: 'own' };
  const stored = credential && readStored(credential, renewed);
  // A user who may write Clusters must not learn the validity of the credential of another Cluster.
  if (credential === undefined || stored === undefined || !stored.clusters.includes(cluster.metadata.name)) return { type: 'missing' };
  const { clusters, token, serviceAccount } = stored;
  if (serviceAccount !== undefined) return { type: 'federated', serviceAccount, times: clients.hubTokenTimes(cluster) };
  const users = registry.clustersOfCredential(credentialKeyOf(cluster)).filter(({ metadata }) => clusters.includes(metadata.name));
  const renewAt = token && computeRenewalDueAt(token, combineRenewalTerms(users), credential.metadata.uid);
  const failure = renewAt === undefined ? findRevocationFailure(credential, renewed) : undefined;
  return { ...toStoredEvidence(stored, renewAt, cluster.metadata.name), ...failure };
}

/**
 * Returns the audiences that a cluster's API server accepts: those of the stored token that Purser uses there; for a federated cluster,
 * `reviewed`, the audiences from a review, or those in the status if `reviewed` is undefined. Omits audiences that exceed the limits of the
 * CRD. Returns undefined if no audience is known.
 */
export function resolveAPIAudiences(
  { cluster, credential, renewed }: RegisteredCluster,
  reviewed: readonly string[] | undefined,
): readonly string[] | undefined {
  const stored = credential && readStored(credential, renewed);
  if (stored === undefined || !stored.clusters.includes(cluster.metadata.name)) return undefined;
  const stated = stored.serviceAccount === undefined ? undefined : (reviewed ?? cluster.status?.apiAudiences);
  const audiences = stored.token?.audiences ?? stated;
  const usable = audiences?.filter(({ length }) => length > 0 && length <= MAX_AUDIENCE_LENGTH).slice(0, MAX_AUDIENCES);
  return usable?.length ? usable : undefined;
}

/** Limits in the CRD of Clusters. */
const MAX_AUDIENCES = 16;
const MAX_AUDIENCE_LENGTH = 256;

function toStoredEvidence({ validity, token }: ReadCredential, renewAt: number | undefined, cluster: string): StoredEvidence {
  if (token === undefined) return { type: 'stored', validity };
  return { type: 'stored', validity, renewAt, isSupplied: token.isSupplied && renewAt !== undefined, cluster };
}

const REVOCATION_FAILURE: RenewalFailure = { reason: 'CredentialNotRevoked', detail: 'Purser does not renew the credential' };

/** Returns the failure of a requested revocation of a credential that Purser does not renew; undefined without a pending request. */
function findRevocationFailure(
  credential: Stored<Secret>,
  renewed: Stored<Secret> | undefined,
): { readonly failure: RenewalFailure } | undefined {
  const request = revokeRequestOf(credential);
  const revoked = renewed && parseRenewal(renewed, credential.metadata.uid)?.revoked;
  return request === undefined || request === revoked ? undefined : { failure: REVOCATION_FAILURE };
}

/**
 * Yields the times of Purser's credential for each Cluster; omits credentials that do not expire or whose expiry is unknown. Tokens that
 * the hub issues are omitted unless `isProbing`: a process that sends no probes does not renew them in time.
 */
export function* listCredentialTimes(registry: Registry, clients: CredentialClients, isProbing: boolean): Generator<CredentialTimes> {
  for (const registered of registry.allRegistered()) {
    const cluster = registered.cluster.metadata.name;
    const evidence = toCredentialEvidence(registered, registry, clients);
    if (evidence.type === 'federated' && evidence.times !== undefined && isProbing) yield { cluster, ...evidence.times };
    if (evidence.type !== 'stored') continue;
    const { startsAt: issuedAt, expiresAt } = evidence.validity ?? {};
    if (expiresAt !== undefined) yield { cluster, issuedAt, expiresAt, renewAt: evidence.renewAt };
  }
}

interface ReadCredential {
  readonly renewed: Stored<Secret> | undefined;
  readonly clusters: readonly string[];
  /** Validity of a stored credential; undefined for a token that is not a JWT and was not renewed, and for a service account. */
  readonly validity: Validity | undefined;
  /** Token in use; undefined for a credential that cannot be renewed. */
  readonly token: TokenInUse | undefined;
  /** Namespace and name of the service account on the hub; undefined for a stored credential. */
  readonly serviceAccount?: string;
}

/** Known credentials by Secret: parsing certificates is expensive, and informers replace Secrets rather than change them. */
const knownCredentials = new WeakMap<
  Secret,
  ReadCredential | { readonly renewed: Stored<Secret> | undefined; readonly clusters?: never }
>();

/** Returns the credential, parsed once for each version of the registered and the renewed Secret; undefined if it is unreadable. */
function readStored(credential: Stored<Secret>, renewed: Stored<Secret> | undefined): ReadCredential | undefined {
  const known = knownCredentials.get(credential);
  const stored = known !== undefined && known.renewed === renewed ? known : (parseStored(credential, renewed) ?? { renewed });
  knownCredentials.set(credential, stored);
  return stored.clusters === undefined ? undefined : stored;
}

function parseStored(credential: Stored<Secret>, renewed: Stored<Secret> | undefined): ReadCredential | undefined {
  try {
    const registered = readCredential(credential);
    const clusters = readClusterNames(credential);
    if (registered.type === 'serviceAccount') {
      const serviceAccount = `${credential.metadata.namespace}/${registered.name}`;
      return { renewed, clusters, validity: undefined, token: undefined, serviceAccount };
    }
    const token = readTokenInUse(credential, renewed);
    const isRenewed = token !== undefined && !token.isSupplied;
    const validity = isRenewed ? { startsAt: token.issuedAt, expiresAt: token.expiresAt } : readCredentialLifetime(registered);
    return { renewed, clusters, validity, token };
  } catch (error) {
    if (!(error instanceof IssueError)) throw error;
    return undefined;
  }
}
