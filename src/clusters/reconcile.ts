// One look at a Cluster: probe it if its turn has come, and write its status if that says something new or is due.

import type { Cluster } from '../api/cluster.gen.ts';
import type { Result } from '../runtime/controller.ts';
import type { Clock } from '../std/clock.ts';
import { nextTurnAt } from '../std/hash.ts';
import { IssueError } from '../targets/issue-error.ts';
import { serverUrl } from '../targets/policy/server-url.ts';
import { isSameRegistration, type RegisteredCluster, registrationOf } from '../targets/registered-cluster.ts';
import type { ClusterDeps, ProbeSettings } from './deps.ts';
import { faultOf } from './faults.ts';
import type { Recollection } from './memory.ts';
import { type Health, healthAfter, isInDoubt } from './policy/health.ts';
import { namespacesToAsk } from './policy/issuing-rights.ts';
import { type Fault, readingOf } from './policy/reading.ts';
import { type ProbeResult, probe } from './probe.ts';
import { tell } from './tell.ts';

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
      const startedAt = clock.monotonic();
      const result = await look(deps, registered, signal);
      deps.metrics?.recordProbe(clock.monotonic() - startedAt);
      // What is true of the former registration is no longer worth knowing.
      if (isReplaced(deps, key, registered)) return { requeueAt: clock.now() };
      absorb(deps, known, registered.cluster, { ...result, startedAt });
    }
    await tell(deps, registered, signal);
    return { requeueAt: byWallClock(clock, Math.min(known.probeAt, known.reservedAt ?? Infinity)) };
  };
}

/** An instant of the monotonic clock by the other one; not earlier, though that one leaves out fractions of a millisecond. */
function byWallClock(clock: Clock, at: number): number {
  return clock.now() + Math.ceil(at - clock.monotonic()) + 1;
}

interface Look extends ProbeResult {
  readonly activeServer?: string | undefined;
}

/** Those of whom nothing is known go first, closely after each other; the others have a turn each, so that a restart is no rush. */
function isDue({ clock, settings, memory }: ClusterDeps, known: Recollection): boolean {
  const now = clock.monotonic();
  if (known.probeAt === -Infinity) {
    const isKnown = known.health !== undefined;
    known.probeAt = isKnown ? nextTurnAt('probe', known.uid, now, settings.probeIntervalMs) : memory.reserveFirstProbe(now);
  }
  return known.probeAt <= now;
}

async function look({ clients, memory, clock, view }: ClusterDeps, registered: RegisteredCluster, signal: AbortSignal): Promise<Look> {
  const known = memory.of(registered);
  const isDeep = known.access === undefined || known.access.fault !== undefined || known.accessAt <= clock.monotonic();
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
  const now = clock.monotonic();
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

const RIGHTS_UNKNOWN: Fault = { reason: 'RightsUnknown', detail: '' };

/** The address as it is registered. */
function endpointOf({ spec }: Cluster, server: string | undefined): string | undefined {
  const endpoints = server === undefined ? [] : spec.orchestratorApiEndpoints.serverEndpoints;
  return endpoints.find(({ serverAddress }) => serverUrl(serverAddress) === server)?.serverAddress;
}
