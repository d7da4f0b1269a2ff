// The health of a cluster over several probes. A single probe that contradicts a condition does not change it; two probes in a row do, in
// both directions. Callers of the façade do not wait for a cluster that is reported as unreachable.

import type { Cluster, ClusterCondition } from '../../api/cluster.gen.ts';
import { ClusterConditionType as Type } from '../../api/names.ts';
import { ClusterReason } from '../../api/reasons.ts';
import { findCondition, withCondition } from '../../kubernetes/conditions.ts';
import { parseTimestamp } from '../../std/timestamp.ts';
import { clusterConditions, type Finding, type Findings, isSameFinding, listProbedTypes } from './conditions.ts';

/** A condition whose changes are damped: the status and reason of `shown` change only after two probes in a row contradict them. */
export interface DampedCondition {
  readonly shown: Finding;
  /** Finding of the last probe if its status or reason differs from that of `shown`; undefined otherwise. */
  readonly doubt?: Finding;
}

/** The conditions that probes evaluate, by type. */
export type Health = ReadonlyMap<string, DampedCondition>;

/** Returns the health after one more probe. The first probe of a condition takes effect immediately. */
export function updateHealth(previous: Health | undefined, findings: Findings): Health {
  return new Map([...findings].map(([type, next]) => [type, damp(previous?.get(type), next)]));
}

/** Returns whether the last probe contradicts a reported condition. */
export function isInDoubt(health: Health): boolean {
  return [...health.values()].some(({ doubt }) => doubt !== undefined);
}

/** Returns whether Ready is True and the last probe did not confirm it. The next probe decides. */
export function isReadyInDoubt(health: Health): boolean {
  const ready = health.get(Type.ready);
  return ready?.shown.status === 'True' && ready.doubt !== undefined;
}

/**
 * Returns whether a failed probe is retried immediately: there is no finding for Ready yet, as for a new cluster, or Ready is True and the
 * last probe confirmed it. For other clusters, the next scheduled probe is soon enough.
 */
export function isProbeRetried(health: Health | undefined): boolean {
  const ready = health?.get(Type.ready);
  return ready === undefined || (ready.shown.status === 'True' && ready.doubt === undefined);
}

/**
 * Returns the health according to the conditions of a status, for use after a restart. Omits conditions that are missing or whose reason is
 * unknown, because another release may have written the status; undefined if no condition is left.
 */
export function parseHealth(conditions: readonly ClusterCondition[]): Health | undefined {
  const parsed = listProbedTypes().flatMap((type) => {
    const shown = parseFinding(conditions.find((condition) => condition.type === type));
    return shown === undefined ? [] : [[type, { shown }] as const];
  });
  return parsed.length > 0 ? new Map(parsed) : undefined;
}

/**
 * Returns the conditions of a status with these findings. A condition whose status has not changed keeps its transition time from
 * `previous`. Drops conditions of other types.
 */
export function toConditions(findings: Findings, previous: readonly ClusterCondition[], now: number): readonly ClusterCondition[] {
  return [...clusterConditions.keys()].flatMap((type) => {
    const next = findings.get(type);
    const old = previous.filter((condition) => condition.type === type).slice(0, 1);
    return next === undefined ? [] : withCondition(old, { type, ...next }, now);
  });
}

function damp(previous: DampedCondition | undefined, next: Finding): DampedCondition {
  if (previous === undefined) return { shown: next };
  if (isSameFinding(previous.shown, next)) return isUnchanged(previous, next) ? previous : { shown: next };
  const { shown, doubt } = previous;
  const isTransition = isTrue(shown) !== isTrue(next);
  // The reason of a failure may vary from probe to probe; two failures in a row end the status True, even if their reasons differ.
  const isSecond = doubt !== undefined && (isTransition ? isTrue(doubt) === isTrue(next) : isSameFinding(doubt, next));
  return isSecond ? { shown: next } : { shown, doubt: next };
}

/** Returns whether the previous object can be reused; a fleet would otherwise allocate one every few milliseconds. */
function isUnchanged({ shown, doubt }: DampedCondition, next: Finding): boolean {
  return doubt === undefined && shown.message === next.message;
}

function isTrue({ status }: Finding): boolean {
  return status === 'True';
}

function parseFinding({ reason = '', message = '', status }: Partial<ClusterCondition> = {}): Finding | undefined {
  return status !== undefined && isReason(reason) ? { status, reason, message } : undefined;
}

function isReason(text: string): text is ClusterReason {
  return Object.hasOwn(ClusterReason, text);
}

/** Default interval of probes, in milliseconds. */
export const PROBE_INTERVAL_MS = 10_000;

/**
 * Returns the time for which the condition Reachable=False still applies, in milliseconds; 0 if it does not apply. The condition applies
 * for two probe intervals after its last heartbeat: the controller may have stopped, and the cluster may be reachable again.
 */
export function computeUnreachableMs(cluster: Cluster, probeIntervalMs: number, now: number): number {
  const condition = findCondition(cluster, Type.reachable);
  if (condition?.status !== 'False') return 0;
  const leftMs = (parseTimestamp(condition.lastHeartbeatTime) ?? 0) + MAX_AGE_PROBES * probeIntervalMs - now;
  // A heartbeat more than one interval in the future was written with another clock, and is ignored.
  return leftMs > 0 && leftMs <= (MAX_AGE_PROBES + 1) * probeIntervalMs ? leftMs : 0;
}

/** Maximum age of the last heartbeat with which Reachable=False still applies, in probe intervals. */
const MAX_AGE_PROBES = 2;
