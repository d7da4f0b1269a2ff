// Telling what is known of a cluster: its status when that says something new, and a sign of life now and then.

import type { ClusterStatus } from '../api/cluster.gen.ts';
import { Clusters } from '../api/resources.ts';
import { defined } from '../std/defined.ts';
import { nextTurnAt } from '../std/hash.ts';
import { instantOf, instantText } from '../std/instant.ts';
import type { RegisteredCluster } from '../targets/registered-cluster.ts';
import type { ClusterDeps } from './deps.ts';
import { freshnessOf } from './freshness.ts';
import type { Recollection } from './memory.ts';
import { notesOf } from './notes.ts';
import { clusterConditions, isReadyInDoubt } from './policy/health.ts';
import { distributionOf } from './policy/version.ts';
import { heartbeatMs, saysOther } from './policy/writes.ts';

/** Times in a status are whole seconds. */
const CLIPPED_MS = 1_000;

/** Writes the status, and records events, if it is time to. */
export async function tell(deps: ClusterDeps, registered: RegisteredCluster, signal: AbortSignal): Promise<void> {
  const { hub, clients, memory, clock, recorder } = deps;
  const { cluster } = registered;
  const known = memory.of(registered);
  const now = clock.now();
  // What another term found out is told by that one alone.
  if (!known.isProbed || known.health === undefined) return;
  const fresh = freshnessOf(registered, clients, now);
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
function isHeartbeatDue(deps: ClusterDeps, known: Recollection, previous: ClusterStatus): boolean {
  const { memory, clock } = deps;
  const now = clock.monotonic();
  if (heartbeatDueAt(deps, known, previous) > clock.now()) {
    // It may have been due while there were fewer clusters. A turn that is kept and passes would have us look all the time.
    known.reservedAt = undefined;
    return false;
  }
  const turnAt = known.reservedAt ?? memory.reserveWrite(now);
  known.reservedAt = turnAt > now ? turnAt : undefined;
  // That a cluster is ready is not said anew while the last probe says otherwise: there will be another turn.
  return turnAt <= now && !isReadyInDoubt(known.health);
}

function heartbeatDueAt({ view, clock }: ClusterDeps, { uid, isRegular }: Recollection, { conditions = [] }: ClusterStatus): number {
  const periodMs = heartbeatMs(view.clusters.size);
  const toldAt = instantOf(conditions[0]?.lastHeartbeatTime) ?? 0;
  // One that is ahead by more than clocks differ is from before ours was set back, or somebody else's.
  const lastAt = toldAt - clock.now() > periodMs ? 0 : toldAt;
  // The turn spreads what was written together; whoever kept to it from then on would be early after each time that it was late.
  return isRegular ? lastAt + periodMs + CLIPPED_MS : nextTurnAt('heartbeat', uid, lastAt, periodMs);
}
