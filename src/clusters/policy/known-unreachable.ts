// Clusters that the controller reports as unreachable, so that callers of the façade do not wait for a timeout.

import type { Cluster } from '../../api/cluster.gen.ts';
import { ClusterConditionType as Type } from '../../api/names.ts';
import { parseTimestamp } from '../../std/timestamp.ts';

/** Default interval of probes, in milliseconds. */
export const PROBE_INTERVAL_MS = 10_000;

/**
 * Returns the time for which the condition Reachable=False still applies, in milliseconds; 0 without such a condition. It applies for
 * two probe intervals: the controller may have stopped, and the cluster may be reachable again.
 */
export function unreachableMs({ status }: Cluster, probeIntervalMs: number, now: number): number {
  const condition = status?.conditions?.find(({ type }) => type === Type.reachable);
  if (condition?.status !== 'False') return 0;
  const leftMs = (parseTimestamp(condition.lastHeartbeatTime) ?? 0) + MAX_AGE_PROBES * probeIntervalMs - now;
  // A heartbeat in the future was written with another clock and is ignored.
  return leftMs > 0 && leftMs <= (MAX_AGE_PROBES + 1) * probeIntervalMs ? leftMs : 0;
}

/** Maximum age of the condition, in probe intervals. */
const MAX_AGE_PROBES = 2;
