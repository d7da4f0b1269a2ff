// When the status of a cluster is written: at once when it changes, otherwise now and then, as a sign of life.

import type { ClusterStatus } from '../../api/cluster.gen.ts';

/** How many signs of life are written in a second, however many clusters there are. */
const WRITES_PER_SECOND = 3.4;
const LEAST_HEARTBEAT_MS = 300_000;

/** How far apart two signs of life of different clusters are at least. */
export const HEARTBEAT_GAP_MS = 1_000 / WRITES_PER_SECOND;

/** How often a cluster gives a sign of life. */
export function heartbeatMs(clusters: number): number {
  return Math.max(LEAST_HEARTBEAT_MS, Math.ceil(clusters * HEARTBEAT_GAP_MS));
}

/** Whether a status was last written as a sign of life, as far as can be told: nothing turned then. */
export function wasSignOfLife({ conditions = [] }: ClusterStatus): boolean {
  return conditions.every(({ lastTransitionTime, lastHeartbeatTime }) => lastTransitionTime !== lastHeartbeatTime);
}

/** Whether a status says something else than another one. Its times, its sentences and its order say nothing. */
export function saysOther(status: ClusterStatus, other: ClusterStatus): boolean {
  return sayings(status) !== sayings(other);
}

function sayings({ type, version, activeEndpoint, conditions = [] }: ClusterStatus): string {
  const said = conditions.map((condition) => [condition.type, condition.status, condition.reason, condition.lastTransitionTime]);
  return JSON.stringify([type, version, activeEndpoint, said.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1))]);
}
