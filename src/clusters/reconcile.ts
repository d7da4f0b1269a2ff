// The reconcile of one Cluster: probes the cluster if a probe is due, and writes its status if it changed or a heartbeat is due.

import type { Cluster } from '../api/cluster.gen.ts';
import type { ManagedToken } from '../api/managed-token.gen.ts';
import type { Result } from '../runtime/controller.ts';
import { exponentialMs } from '../std/backoff.ts';
import type { Clock } from '../std/clock.ts';
import { nextTurnAt } from '../std/hash.ts';
import { toIssueError } from '../targets/issue-error.ts';
import { isSameExceptRenewal, serverUrl } from '../targets/policy/registration.ts';
import { type RegisteredCluster, registrationOf } from '../targets/registry.ts';
import type { Target } from '../targets/target.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { evaluateProbe, type Fault } from './policy/conditions.ts';
import { healthAfter, isInDoubt, isReadyConfirmed } from './policy/health.ts';
import { explainRejection, namespacesToReview, type ProbeResult, probe, toFault } from './probe.ts';
import { type StatusDeps, writeStatus } from './status.ts';
import type { TrackedCluster } from './tracked-cluster.ts';

/** Settings of the operator for probes. */
export interface ProbeSettings {
  /** Interval of /readyz probes of each cluster, in milliseconds. */
  readonly probeIntervalMs: number;
  /** Interval between checks of version, identity and permissions, in milliseconds. */
  readonly accessIntervalMs: number;
}

/** Shared state of all reconciles during one term of the controller. */
export interface ClusterDeps extends StatusDeps {
  readonly metrics?: Pick<Metrics, 'observeQueue' | 'observeCredentials' | 'recordProbe'>;
  readonly settings: ProbeSettings;
  readonly tokensForCluster: (name: string) => readonly ManagedToken[];
}

/** Returns the reconcile function for Clusters. */
export function createReconcile(deps: ClusterDeps): (key: string, signal: AbortSignal) => Promise<Result> {
  const { registry, clock, metrics } = deps;
  return async (key, signal) => {
    const registered = registry.registered(key);
    if (registered === undefined) {
      deps.tracked.forget(key);
      return {};
    }
    const tracked = deps.tracked.track(registered);
    scheduleProbe(deps, tracked);
    const startedAt = clock.monotonic();
    if (tracked.probeAt <= startedAt) {
      const result = await probeCluster(deps, registered, tracked, signal);
      metrics?.recordProbe(clock.monotonic() - startedAt);
      // The probed registration is no longer current.
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
  /** Address that responded; undefined if there is none. */
  readonly activeServer?: string | undefined;
}

/** Schedules the first probe of a registration. Clusters without known health come first; the others keep their slots after a restart. */
function scheduleProbe({ clock, settings, tracked }: ClusterDeps, cluster: TrackedCluster): void {
  if (cluster.probeAt !== -Infinity) return;
  const now = clock.monotonic();
  cluster.probeAt =
    cluster.health === undefined ? tracked.reserveFirstProbe(now) : nextTurnAt('probe', cluster.uid, now, settings.probeIntervalMs);
}

async function probeCluster(
  { clients, clock, tokensForCluster, hub }: ClusterDeps,
  registered: RegisteredCluster,
  { access, accessAt, health, apiAudiences }: TrackedCluster,
  signal: AbortSignal,
): Promise<Probed> {
  const includesAccess = access === undefined || access.fault !== undefined || accessAt <= clock.monotonic();
  // Only a new cluster, or one that is confirmed as ready, needs an immediate retry: for others, the next regular probe is soon enough.
  const isRetried = health === undefined || isReadyConfirmed(health);
  const namespaces = () => namespacesToReview(tokensForCluster(registered.cluster.metadata.name));
  try {
    const probeTarget = async (target: Target): Promise<Probed> => {
      const includesAudiences = apiAudiences?.length !== 0;
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

/** Updates the tracked state after a probe, and schedules the next one. */
function recordProbe(
  { clock, settings }: ClusterDeps,
  tracked: TrackedCluster,
  cluster: Cluster,
  result: Probed & { readonly startedAt: number },
): void {
  const { fault, latencyMs, access = tracked.access, activeServer, startedAt } = result;
  const faults = [fault, access === undefined ? PERMISSIONS_UNKNOWN : access.fault].filter((each) => each !== undefined);
  const health = healthAfter(tracked.health, evaluateProbe({ faults, scope: access?.scope }));
  const rejections = faults.some(({ reason }) => reason === 'CredentialRejected') ? tracked.rejections + 1 : 0;
  const now = clock.monotonic();
  Object.assign(tracked, {
    health,
    access,
    ...factsAfter(tracked, result),
    latencyMs,
    rejections,
    activeEndpoint: registeredAddress(cluster, activeServer) ?? tracked.activeEndpoint,
    isHanging: fault?.reason === 'Timeout' || fault?.reason === 'DNSFailed',
    probedAt: clock.now(),
    // If the health is in doubt, the next probe does not wait for its regular time.
    probeAt: isInDoubt(health)
      ? startedAt + settings.probeIntervalMs / 2
      : nextTurnAt('probe', tracked.uid, now, backoffMs(rejections, settings)),
    accessAt: result.access === undefined ? tracked.accessAt : nextTurnAt('access', tracked.uid, now, settings.accessIntervalMs),
  } satisfies Partial<TrackedCluster>);
}

/** Returns the facts about the cluster; each is kept until a probe returns a new value. */
function factsAfter(known: TrackedCluster, { version, apiAudiences }: ProbeResult): Pick<TrackedCluster, 'version' | 'apiAudiences'> {
  return { version: version ?? known.version, apiAudiences: apiAudiences ?? known.apiAudiences };
}

/** Returns the interval of probes, which grows while the credential is rejected; a new credential triggers the Cluster. */
function backoffMs(rejections: number, { probeIntervalMs, accessIntervalMs }: ProbeSettings): number {
  return exponentialMs(Math.max(rejections - 1, 0), { initialMs: probeIntervalMs, maxMs: Math.max(probeIntervalMs, accessIntervalMs) });
}

const PERMISSIONS_UNKNOWN: Fault = { reason: 'PermissionsUnknown', detail: '' };

/** Returns the address in the spelling of the Cluster; undefined if the Cluster does not list it. */
function registeredAddress({ spec }: Cluster, server: string | undefined): string | undefined {
  const endpoints = server === undefined ? [] : spec.orchestratorApiEndpoints.serverEndpoints;
  // Compares the texts first, because parsing an address would make each probe noticeably slower.
  return endpoints.find(({ serverAddress }) => serverAddress === server || serverUrl(serverAddress) === server)?.serverAddress;
}
