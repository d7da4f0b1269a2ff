// One look at a Cluster: probe it if its turn has come, and write its status if that says something new or is due.

import type { Cluster, ClusterStatus } from '../../api/cluster.gen.ts';
import { Clusters } from '../../api/resources.ts';
import { clusterConditions, type Health, healthAfter, isInDoubt } from '../../domain/cluster-health.ts';
import { type Fault, readingOf } from '../../domain/cluster-reading.ts';
import { distributionOf } from '../../domain/cluster-version.ts';
import { heartbeatMs, nextTurnAt, saysOther } from '../../domain/cluster-writes.ts';
import { defined } from '../../domain/defined.ts';
import { instantOf, instantText } from '../../domain/instant.ts';
import { namespacesToAsk } from '../../domain/issuing-rights.ts';
import { serverUrl } from '../../domain/server-url.ts';
import type { ClusterClients } from '../../issuers/cluster-clients.ts';
import { IssueError } from '../../issuers/issue-error.ts';
import { isSameRegistration, type RegisteredCluster, registrationOf } from '../../issuers/registered-cluster.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Recorder } from '../../kube/recorder.ts';
import type { Result } from '../../runtime/controller.ts';
import type { Clock } from '../../std/clock.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { faultOf } from './faults.ts';
import { freshnessOf } from './freshness.ts';
import type { ClusterMemory, Recollection } from './memory.ts';
import { notesOf } from './notes.ts';
import type { RegistryView } from './observe.ts';
import { type ProbeResult, probe } from './probe.ts';

/** What an operator can set. */
export interface ProbeSettings {
  /** How often each cluster is asked whether it is ready. */
  readonly probeIntervalMs: number;
  /** How often version, identity and rights are looked at. */
  readonly accessIntervalMs: number;
}

export interface ClusterDeps {
  readonly hub: KubeClient;
  readonly clients: ClusterClients;
  readonly recorder: Pick<Recorder, 'record'>;
  readonly clock: Clock;
  readonly metrics?: Pick<Metrics, 'queue' | 'probed'>;
  readonly settings: ProbeSettings;
  readonly view: RegistryView;
  readonly memory: ClusterMemory;
}

/** Makes the reconcile of Clusters. */
export function createReconcile(deps: ClusterDeps): (key: string, signal: AbortSignal) => Promise<Result> {
  const { view, memory, clock } = deps;
  return async (key, signal) => {
    const registered = view.registered(key);
    if (registered === undefined) {
      memory.forget(key);
      return {};
    }
    const known = memory.of(registered);
    if (isDue(deps, known)) {
      const startedAt = clock.now();
      const start = clock.monotonic();
      const result = await look(deps, registered, signal);
      deps.metrics?.probed(clock.monotonic() - start);
      // What is true of the former registration is no longer worth knowing.
      if (isReplaced(deps, key, registered)) return { requeueAt: clock.now() };
      absorb(deps, known, registered.cluster, { ...result, startedAt });
    }
    await tell(deps, registered, signal);
    return { requeueAt: Math.min(known.probeAt, known.reservedAt ?? Infinity) };
  };
}

interface Look extends ProbeResult {
  readonly activeServer?: string | undefined;
}

/** Those of whom nothing is known go first, closely after each other; the others have a turn each, so that a restart is no rush. */
function isDue({ clock, settings, memory }: ClusterDeps, known: Recollection): boolean {
  const now = clock.now();
  if (known.probeAt === -Infinity) {
    const isKnown = known.health !== undefined;
    known.probeAt = isKnown ? nextTurnAt('probe', known.uid, now, settings.probeIntervalMs) : memory.reserveFirstProbe(now);
  }
  return known.probeAt <= now;
}

async function look({ clients, memory, clock, view }: ClusterDeps, registered: RegisteredCluster, signal: AbortSignal): Promise<Look> {
  const known = memory.of(registered);
  const isDeep = known.access === undefined || known.access.fault !== undefined || known.accessAt <= clock.now();
  const isTriedTwice = known.health === undefined || isWell(known.health);
  const namespaces = () => namespacesToAsk(view.tokensForCluster(registered.cluster.metadata.name ?? ''));
  try {
    return await clients.use(registered, async (target) => {
      const result = await probe(target, { isTriedTwice, isDeep, namespaces }, signal);
      return { ...result, activeServer: result.fault === undefined ? target.activeServer : undefined };
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof IssueError)) throw error;
    return { fault: faultOf(error) };
  }
}

/** A cluster that is down, or about to be taken for it, is asked once and soon again. */
function isWell({ ready }: Health): boolean {
  return ready.shown.status === 'True' && ready.doubt === undefined;
}

function isReplaced({ view }: ClusterDeps, key: string, registered: RegisteredCluster): boolean {
  const now = view.registered(key);
  return now === undefined || !isSameRegistration(registrationOf(now), registrationOf(registered));
}

function absorb(
  { clock, settings }: ClusterDeps,
  known: Recollection,
  cluster: Cluster,
  result: Look & { readonly startedAt: number },
): void {
  const { probeIntervalMs, accessIntervalMs } = settings;
  const now = clock.now();
  const { fault, access = known.access, version = known.version, activeServer, startedAt } = result;
  const faults = [fault, access === undefined ? RIGHTS_UNKNOWN : access.fault];
  known.health = healthAfter(
    known.health,
    readingOf(
      faults.filter((each) => each !== undefined),
      access?.scope,
    ),
  );
  known.access = access;
  known.version = version;
  known.activeEndpoint = endpointOf(cluster, activeServer) ?? known.activeEndpoint;
  known.isHanging = fault?.reason === 'Timeout' || fault?.reason === 'DNSFailed';
  known.isProbed = true;
  known.rejections = faults.some((each) => each?.reason === 'CredentialRejected') ? known.rejections + 1 : 0;
  const intervalMs = pausedMs(known.rejections, settings);
  // A doubt is resolved before the next turn.
  known.probeAt = isInDoubt(known.health) ? startedAt + probeIntervalMs / 2 : nextTurnAt('probe', known.uid, now, intervalMs);
  if (result.access !== undefined) known.accessAt = nextTurnAt('access', known.uid, now, accessIntervalMs);
}

/** A credential that is rejected is shown less and less often: a new one is noticed anyway. */
function pausedMs(rejections: number, { probeIntervalMs, accessIntervalMs }: ProbeSettings): number {
  return Math.max(probeIntervalMs, Math.min(probeIntervalMs * 2 ** Math.max(rejections - 1, 0), accessIntervalMs));
}

/** Times in a status are whole seconds. */
const CLIPPED_MS = 1_000;
const RIGHTS_UNKNOWN: Fault = { reason: 'RightsUnknown', detail: '' };

/** The address as it is registered. */
function endpointOf({ spec }: Cluster, server: string | undefined): string | undefined {
  const endpoints = server === undefined ? [] : spec.orchestratorApiEndpoints.serverEndpoints;
  return endpoints.find(({ serverAddress }) => serverUrl(serverAddress) === server)?.serverAddress;
}

/** Writes the status, and records events, if it is time to. */
async function tell(deps: ClusterDeps, registered: RegisteredCluster, signal: AbortSignal): Promise<void> {
  const { hub, memory, clock, recorder } = deps;
  const { cluster } = registered;
  const known = memory.of(registered);
  const now = clock.now();
  if (known.health === undefined) return;
  const fresh = freshnessOf(registered, now);
  const conditions = clusterConditions(known.health, fresh, known.conditions, now);
  const { version, activeEndpoint } = known;
  const status = defined<ClusterStatus>({ type: version && distributionOf(version), version, activeEndpoint, conditions });
  const previous = cluster.status ?? {};
  known.conditions = conditions;
  const isNews = known.isNews || saysOther(status, previous);
  if (!isNews && !isHeartbeatDue(deps, known, previous)) return;
  const heartbeat = conditions.map((condition) => ({ ...condition, lastHeartbeatTime: instantText(now) }));
  await hub.updateStatus(Clusters, { ...cluster, status: { ...status, conditions: heartbeat } }, { signal });
  known.isNews = false;
  known.isRegular = !isNews;
  known.reservedAt = undefined;
  for (const note of notesOf(previous, status)) recorder.record(cluster, note);
}

/** A sign of life that is due takes its turn among those of all clusters. */
function isHeartbeatDue({ view, memory, clock }: ClusterDeps, known: Recollection, { conditions = [] }: ClusterStatus): boolean {
  const now = clock.now();
  const lastAt = instantOf(conditions[0]?.lastHeartbeatTime) ?? 0;
  const periodMs = heartbeatMs(view.clusters.size);
  // The turn spreads what was written together; whoever kept to it from then on would be early after each time that it was late.
  const dueAt = known.isRegular ? lastAt + periodMs + CLIPPED_MS : nextTurnAt('heartbeat', known.uid, lastAt, periodMs);
  if (dueAt > now) return false;
  known.reservedAt ??= memory.reserveWrite(now);
  return known.reservedAt <= now;
}
