// The Cluster controller: probes each cluster when a probe is due, and writes the status of the Cluster if the status changed or a
// heartbeat is due.

import { defer, filter, finalize, merge, type Observable, takeUntil } from 'rxjs';
import type { Cluster } from '../api/cluster.gen.ts';
import type { ManagedToken } from '../api/managed-token.gen.ts';
import { Clusters } from '../api/resources.ts';
import type { Informer } from '../kube/informer.ts';
import { type Outcome, type Result, runController } from '../runtime/controller.ts';
import { whenAborted } from '../runtime/leadership.ts';
import { planRetry } from '../runtime/retry-policy.ts';
import { generationChanged, requestNow, toSelfKeys, whenSynced } from '../runtime/trigger.ts';
import { computeExponentialMs } from '../std/backoff.ts';
import type { Clock } from '../std/clock.ts';
import { computeNextTurnAt } from '../std/hash.ts';
import { mergeItems } from '../std/merge-items.ts';
import { toIssueError } from '../targets/issue-error.ts';
import { normalizeServer } from '../targets/policy/registration.ts';
import { toRegisteredKey } from '../targets/policy/renewed-secret.ts';
import { isSameExceptRenewal, type RegisteredCluster, Registry, type RegistryInformers, registrationOf } from '../targets/registry.ts';
import type { Target } from '../targets/target.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { evaluateProbe, type Fault } from './policy/conditions.ts';
import { isInDoubt, isProbeRetried, updateHealth } from './policy/health.ts';
import { explainRejection, type ProbeResult, probe, selectNamespaces, toFault } from './probe.ts';
import { listCredentialTimes, type StatusDeps, writeStatus } from './status.ts';
import { type TrackedCluster, TrackedClusters } from './tracked-cluster.ts';

/** Settings of the operator for probes. */
interface ProbeSettings {
  /** Interval of /readyz probes of each cluster, in milliseconds. */
  readonly probeIntervalMs: number;
  /** Interval between checks of version, identity and permissions, in milliseconds; each probe repeats a failed check. */
  readonly accessIntervalMs: number;
}

/** Shared state of all reconciles during one term of the controller. */
interface ClusterDeps extends StatusDeps {
  readonly metrics?: Pick<Metrics, 'observeQueue' | 'observeCredentials' | 'recordProbe'>;
  readonly settings: ProbeSettings;
  readonly tokensForCluster: (name: string) => readonly ManagedToken[];
}

/** Informers that the controller of Clusters needs. */
export interface ClusterInformers extends RegistryInformers {
  readonly tokens: Informer<ManagedToken>;
}

/** Lookups that all terms of the controller share, because a store keeps each index forever. */
type Lookups = Pick<ClusterDeps, 'registry' | 'tokensForCluster'>;

export interface ClusterControllerOptions extends Omit<ClusterDeps, keyof Lookups | 'tracked'> {
  readonly informers: ClusterInformers;
  readonly random: () => number;
}

/** Creates the controller. Each subscription runs one term, without memory of earlier terms, and stops cleanly after `stopping` aborts. */
export function createClusterController(options: ClusterControllerOptions): (stopping: AbortSignal) => Observable<Outcome<string>> {
  const registry = new Registry(options.informers);
  const lookups = { registry, tokensForCluster: createTokenLookup(options.informers) };
  let terms = 0;
  options.metrics?.observeCredentials(() => listCredentialTimes(registry, options.clients, terms > 0));
  return (stopping) =>
    defer(() => {
      terms += 1;
      return runTerm(options, lookups, stopping).pipe(finalize(() => (terms -= 1)));
    });
}

/** Maximum number of concurrent probes per lane; most probes in the lane `hanging` only wait. */
const PROBES_PER_LANE = 512;
const LANES = ['new', 'responding', 'hanging'] as const;

function runTerm(
  { informers, random, ...options }: ClusterControllerOptions,
  lookups: Lookups,
  stopping: AbortSignal,
): Observable<Outcome<string>> {
  const { clock, settings } = options;
  const tracked = new TrackedClusters();
  const deps: ClusterDeps = { ...options, ...lookups, tracked };
  const all = [informers.clusters, informers.tokens, ...informers.credentials];
  const requests$ = whenSynced(all, () => lookups.registry.clusters.keys(), emitRegistrationChanges(informers, deps)).pipe(
    requestNow(clock),
    takeUntil(whenAborted(stopping)),
  );
  return runController(requests$, {
    reconcile: createReconcile(deps),
    retryPolicy: (failure) => {
      const latestAt = failure.now + settings.probeIntervalMs;
      return planRetry(failure, { random: random(), resource: Clusters, latestAt });
    },
    clock,
    concurrency: PROBES_PER_LANE * LANES.length,
    concurrencyPerLane: PROBES_PER_LANE,
    priorityOf: (key) => ({ lane: selectLane(tracked, key), deadlineAt: Infinity }),
    onQueue: ({ depth }) => options.metrics?.observeQueue('cluster-status', depth),
  });
}

/** Returns the lane of a cluster. Hanging clusters have a separate lane, so that other clusters never wait for them. */
function selectLane(tracked: TrackedClusters, key: string): (typeof LANES)[number] {
  const cluster = tracked.get(key);
  if (cluster === undefined || cluster.probedAt === undefined) return 'new';
  return cluster.isHanging ? 'hanging' : 'responding';
}

/** Emits the keys of Clusters whose registration changes. */
function emitRegistrationChanges({ clusters, credentials }: ClusterInformers, { registry }: ClusterDeps): Observable<string> {
  return merge(
    clusters.changes$.pipe(filter(generationChanged), mergeItems(toSelfKeys)),
    merge(...credentials.map(({ changes$ }) => changes$)).pipe(
      mergeItems(({ key }) => registry.clustersOfCredential(toRegisteredKey(key)).map(({ metadata }) => metadata.name)),
    ),
  );
}

/** Returns the lookup of the ManagedTokens for a cluster. The index is built on first use, because most fleets never need it. */
function createTokenLookup({ tokens }: ClusterInformers): (name: string) => readonly ManagedToken[] {
  let lookup: ((name: string) => readonly ManagedToken[]) | undefined;
  return (name) => {
    lookup ??= tokens.store.index(({ spec }) => [spec.clusterName]);
    return lookup(name);
  };
}

/** Returns the reconcile function for Clusters. */
function createReconcile(deps: ClusterDeps): (key: string, signal: AbortSignal) => Promise<Result> {
  const { registry, clock, metrics } = deps;
  return async (key, signal) => {
    const registered = registry.registered(key);
    if (registered === undefined) {
      deps.tracked.forget(key);
      return {};
    }
    const tracked = deps.tracked.track(registered);
    scheduleProbe(deps, registered, tracked);
    const startedAt = clock.monotonic();
    if (tracked.probeAt <= startedAt) {
      const result = await probeCluster(deps, registered, tracked, signal);
      metrics?.recordProbe(clock.monotonic() - startedAt);
      // A result for a former registration is dropped, unless only the token was renewed.
      if (isReplaced(deps, key, registered)) return { requeueAt: clock.now() };
      recordProbe(deps, tracked, registered.cluster, { ...result, startedAt });
    }
    await writeStatus(deps, registered, tracked, signal);
    return { requeueAt: toWallClock(clock, Math.min(tracked.probeAt, tracked.heartbeatAt ?? Infinity)) };
  };
}

/** Converts a monotonic time to the system clock, rounded up, because the system clock has whole milliseconds. */
function toWallClock(clock: Clock, at: number): number {
  return clock.now() + Math.ceil(at - clock.monotonic()) + 1;
}

interface Probed extends ProbeResult {
  /** Address at which the cluster is ready; undefined if /readyz failed or was not requested. */
  readonly activeServer?: string | undefined;
}

/** Schedules the first probe of a registration: soon if the health is unknown, otherwise at the cluster's regular time in the interval. */
function scheduleProbe(
  { clock, settings, tracked }: ClusterDeps,
  { cluster, credential }: RegisteredCluster,
  probed: TrackedCluster,
): void {
  if (probed.probeAt !== -Infinity) return;
  const now = clock.monotonic();
  const isSecretMissing = credential === undefined && cluster.spec.authInfo?.controller?.kind === 'Secret';
  const waitMs = isSecretMissing ? SECRET_WAIT_MS : 0;
  probed.probeAt =
    probed.health === undefined
      ? tracked.reserveFirstProbe(now) + waitMs
      : computeNextTurnAt('probe', probed.uid, now, settings.probeIntervalMs);
}

/** Time for the Secret of a new Cluster to arrive, in milliseconds: Clusters and Secrets arrive through different watches. */
const SECRET_WAIT_MS = 2_000;

async function probeCluster(
  { clients, clock, tokensForCluster, hub }: ClusterDeps,
  registered: RegisteredCluster,
  { access, accessAt, health, apiAudiences }: TrackedCluster,
  signal: AbortSignal,
): Promise<Probed> {
  const includesAccess = access === undefined || access.fault !== undefined || accessAt <= clock.monotonic();
  const isRetried = isProbeRetried(health);
  try {
    const probeTarget = async (target: Target): Promise<Probed> => {
      const includesAudiences = apiAudiences?.length !== 0;
      const namespaces = () => selectNamespaces(tokensForCluster(registered.cluster.metadata.name), target.namespaces);
      const result = await probe(target, { clock, isRetried, includesAccess, includesAudiences, namespaces }, signal);
      if (result.fault === undefined) return { ...result, activeServer: target.activeServer };
      return { ...result, fault: await explainRejection(result.fault, target, hub, signal) };
    };
    return await clients.use(registered, probeTarget, isRejected);
  } catch (error) {
    return { fault: toFault(toIssueError(error, signal)) };
  }
}

function isRejected({ fault, access }: ProbeResult): boolean {
  return [fault, access?.fault].some((each) => each?.reason === 'CredentialRejected');
}

function isReplaced({ registry }: ClusterDeps, key: string, registered: RegisteredCluster): boolean {
  const now = registry.registered(key);
  return now === undefined || !isSameExceptRenewal(registrationOf(now), registrationOf(registered));
}

/** Updates the tracked state after a probe, and schedules the next probe. */
function recordProbe(
  { clock, settings }: ClusterDeps,
  tracked: TrackedCluster,
  cluster: Cluster,
  result: Probed & { readonly startedAt: number },
): void {
  const { fault, latencyMs, access = tracked.access, activeServer, startedAt } = result;
  const faults = [fault, access === undefined ? PERMISSIONS_UNKNOWN : access.fault].filter((each) => each !== undefined);
  const health = updateHealth(tracked.health, evaluateProbe({ faults, scope: access?.scope }));
  const rejections = faults.some(({ reason }) => reason === 'CredentialRejected') ? tracked.rejections + 1 : 0;
  const now = clock.monotonic();
  Object.assign(tracked, {
    health,
    access,
    ...mergeFacts(tracked, result),
    latencyMs,
    rejections,
    activeEndpoint: findRegisteredAddress(cluster, activeServer) ?? tracked.activeEndpoint,
    isHanging: fault?.reason === 'Timeout' || fault?.reason === 'DNSFailed',
    probedAt: clock.now(),
    // If this probe contradicts a reported condition, the next one follows after half an interval and decides.
    probeAt: isInDoubt(health)
      ? startedAt + settings.probeIntervalMs / 2
      : computeNextTurnAt('probe', tracked.uid, now, computeIntervalMs(rejections, settings)),
    accessAt: result.access === undefined ? tracked.accessAt : computeNextTurnAt('access', tracked.uid, now, settings.accessIntervalMs),
  } satisfies Partial<TrackedCluster>);
}

/** Returns the facts about the cluster; each is kept until a probe returns a new value. */
function mergeFacts(known: TrackedCluster, { version, apiAudiences }: ProbeResult): Pick<TrackedCluster, 'version' | 'apiAudiences'> {
  return { version: version ?? known.version, apiAudiences: apiAudiences ?? known.apiAudiences };
}

/** Returns the interval of probes, in milliseconds. Repeated rejections of the credential extend it; a new credential triggers a probe. */
function computeIntervalMs(rejections: number, { probeIntervalMs, accessIntervalMs }: ProbeSettings): number {
  return computeExponentialMs(Math.max(rejections - 1, 0), {
    initialMs: probeIntervalMs,
    maxMs: Math.max(probeIntervalMs, accessIntervalMs),
  });
}

const PERMISSIONS_UNKNOWN: Fault = { reason: 'PermissionsUnknown', detail: '' };

/** Returns the address in the spelling of the Cluster; undefined if the Cluster does not list it. */
function findRegisteredAddress({ spec }: Cluster, server: string | undefined): string | undefined {
  const endpoints = server === undefined ? [] : spec.orchestratorApiEndpoints.serverEndpoints;
  // Compares the texts first, because parsing an address would make each probe noticeably slower.
  return endpoints.find(({ serverAddress }) => serverAddress === server || normalizeServer(serverAddress) === server)?.serverAddress;
}
