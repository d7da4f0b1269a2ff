// Writes of a Cluster's status: immediately when its content changes, otherwise as a heartbeat.

import type { ClusterStatus } from '../../api/cluster.gen.ts';

/** Maximum rate of heartbeats of the whole fleet, per second. */
const HEARTBEATS_PER_SECOND = 3.4;
const MIN_PERIOD_MS = 300_000;

/** Minimum time between heartbeats of two clusters, in milliseconds. */
export const HEARTBEAT_GAP_MS = 1_000 / HEARTBEATS_PER_SECOND;

/** Returns the period of each cluster's heartbeat in a fleet of this size. */
export function heartbeatMs(clusters: number): number {
  return Math.max(MIN_PERIOD_MS, Math.ceil(clusters * HEARTBEAT_GAP_MS));
}

/** Returns whether a status was last written as a heartbeat: no transition happened at that time. */
export function wasHeartbeat({ conditions = [] }: ClusterStatus): boolean {
  return conditions.every(({ lastTransitionTime, lastHeartbeatTime }) => lastTransitionTime !== lastHeartbeatTime);
}

/** Returns whether two statuses differ in more than heartbeats, messages and order. */
export function isDifferentStatus(status: ClusterStatus, other: ClusterStatus): boolean {
  return encodeContent(status) !== encodeContent(other);
}

function encodeContent({ type, version, activeEndpoint, conditions = [] }: ClusterStatus): string {
  const fields = conditions.map((condition) => [condition.type, condition.status, condition.reason, condition.lastTransitionTime]);
  return JSON.stringify([type, version, activeEndpoint, fields.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1))]);
}
