// Whether it is known already that a cluster cannot be reached, so that nobody has to wait to find out.

import type { Cluster } from '../../api/cluster.gen.ts';
import { ClusterConditionType as Type } from '../../api/names.ts';
import { instantOf } from '../../std/instant.ts';

/** How often clusters are looked at, unless configured otherwise. */
export const PROBE_INTERVAL_MS = 10_000;

/**
 * For how long the word of the controller still stands that a cluster cannot be reached; 0 without such a word. It is about
 * two probes: the controller may have gone, and whoever finds a cluster reachable again is worth more than an old word.
 */
export function unreachableMs({ status }: Cluster, probeIntervalMs: number, now: number): number {
  const condition = status?.conditions?.find(({ type }) => type === Type.reachable);
  if (condition?.status !== 'False') return 0;
  const leftMs = (instantOf(condition.lastHeartbeatTime) ?? 0) + WORD_PROBES * probeIntervalMs - now;
  // A word from the future was spoken by a clock that is not ours.
  return leftMs > 0 && leftMs <= (WORD_PROBES + 1) * probeIntervalMs ? leftMs : 0;
}

const WORD_PROBES = 2;
