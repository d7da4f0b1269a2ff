// The content of a Cluster's status, and the period of its heartbeats: the status is written when its content changes, and as a heartbeat.

import type { ClusterCondition, ClusterStatus } from '../../api/cluster.gen.ts';

/** Maximum heartbeat rate of the whole fleet, per second. */
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

/** Returns whether two statuses differ in more than heartbeats, probe times, latency, messages and order. */
export function isDifferentStatus(status: ClusterStatus, other: ClusterStatus): boolean {
  const { conditions = [], apiAudiences = [] } = status;
  const { conditions: others = [], apiAudiences: otherAudiences = [] } = other;
  return (
    FIELDS.some((field) => status[field] !== other[field]) ||
    apiAudiences.length !== otherAudiences.length ||
    apiAudiences.some((audience, index) => audience !== otherAudiences[index]) ||
    conditions.length !== others.length ||
    conditions.some((condition) => !others.some((each) => isSameCondition(condition, each)))
  );
}

const FIELDS = ['type', 'version', 'activeEndpoint', 'credentialExpirationTime', 'credentialRenewalTime'] as const;

function isSameCondition(a: ClusterCondition, b: ClusterCondition): boolean {
  return a.type === b.type && a.status === b.status && a.reason === b.reason && a.lastTransitionTime === b.lastTransitionTime;
}

/**
 * Returns the version that a cluster reports, without characters that cannot occur in versions; undefined if none remain. The text is
 * untrusted.
 */
export function parseVersion(gitVersion: unknown): string | undefined {
  if (typeof gitVersion !== 'string') return undefined;
  const text = gitVersion
    .slice(0, MAX_READ)
    .replace(ANSI, '')
    .replace(/[^\w.+~-]/g, '')
    .slice(0, MAX_LENGTH);
  return text === '' ? undefined : text;
}

/** Returns the distribution that a version belongs to; `Kubernetes` without a known suffix. */
export function distributionOf(version: string): string {
  return DISTRIBUTIONS.find(([, suffix]) => suffix.test(version))?.[0] ?? 'Kubernetes';
}

const MAX_READ = 1_024;
const MAX_LENGTH = 64;
/** Terminal escape sequences. */
// oxlint-disable-next-line no-control-regex
const ANSI = /\x1b\[[0-9;?]*[ -/]*[@-~]/g;

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
  // A commit hash.
  ['OpenShift', /\+[0-9a-f]{7,}$/],
];
