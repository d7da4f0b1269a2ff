// State that the controller keeps for each cluster between reconciles. Times of future actions are on the monotonic clock, so that setting
// the system clock neither delays probes nor makes all of them due at once.

import type { ClusterCondition, ClusterStatus } from '../api/cluster.gen.ts';
import { isSameExceptRenewal, isSameRegistration, type RegisteredCluster, type Registration, registrationOf } from '../targets/registry.ts';
import { type Health, parseHealth } from './policy/health.ts';
import type { IssueScope } from './probe.ts';

export interface TrackedCluster {
  readonly uid: string;
  /** Registration at the last reconcile; a change may reset the other fields, see `TrackedClusters.track`. */
  registration: Registration;
  /** Health of the cluster; undefined before the first probe of this registration, unless it was restored from the status. */
  health: Health | undefined;
  /** Result of the last check of identity and permissions; undefined before the first check. */
  access: IssueScope | undefined;
  /** True if the last probe timed out, or the host name could not be resolved. */
  isHanging: boolean;
  /** Time of the last probe of this registration in this term, on the system clock; undefined before the first probe. */
  probedAt: number | undefined;
  /** Number of consecutive probes in which the cluster rejected Purser's credential. */
  rejections: number;
  /** Time of the next probe; -Infinity before it is scheduled. */
  probeAt: number;
  /** Time from which a probe also checks version, identity and permissions; after a failed check, each probe repeats it. */
  accessAt: number;
  version: string | undefined;
  /**
   * Audiences of a federated cluster's API server; empty if the server states none or forbids the review. Undefined for other clusters, and
   * before the first such result for this registration.
   */
  apiAudiences: readonly string[] | undefined;
  /** Duration of the last /readyz request, in milliseconds; undefined unless it succeeded or failed with the reason NotReady. */
  latencyMs: number | undefined;
  activeEndpoint: string | undefined;
  /** Conditions that were evaluated last; before the first probe of a term, those in the status. Changes by other writers are ignored. */
  conditions: readonly ClusterCondition[];
  /** True if Purser writes the status after the next probe even if its content has not changed. */
  mustWrite: boolean;
  /** Reserved time of the next heartbeat; undefined if no time is reserved. */
  heartbeatAt: number | undefined;
  /** True if the last write was a heartbeat, so the next one is due a whole period later. */
  isRegular: boolean;
}

/** Maximum heartbeat rate of the whole fleet, per second. */
const HEARTBEATS_PER_SECOND = 3.4;
const MIN_PERIOD_MS = 300_000;

/** Minimum time between heartbeats of two clusters, in milliseconds. */
export const HEARTBEAT_GAP_MS = 1_000 / HEARTBEATS_PER_SECOND;

/** Returns the heartbeat period of each cluster in a fleet of this size, in milliseconds. */
export function computeHeartbeatMs(clusters: number): number {
  return Math.max(MIN_PERIOD_MS, Math.ceil(clusters * HEARTBEAT_GAP_MS));
}

/** Returns whether the last write of a status was probably a heartbeat: no condition has a transition at that time. */
export function wasHeartbeat({ conditions = [] }: ClusterStatus): boolean {
  return conditions.every(({ lastTransitionTime, lastHeartbeatTime }) => lastTransitionTime !== lastHeartbeatTime);
}

/** Minimum time between first probes, in milliseconds: too many simultaneous connections would all be slow. */
const FIRST_PROBE_GAP_MS = 8;

/** Tracks clusters by name. */
export class TrackedClusters {
  readonly #clusters = new Map<string, TrackedCluster>();
  #nextHeartbeatAt = -Infinity;
  #nextFirstProbeAt = -Infinity;

  /**
   * Returns the state of a cluster. A changed registration resets most of the state. A renewed token, which the credential controller has
   * verified, resets the state only if the cluster rejected the former token.
   */
  track(registered: RegisteredCluster): TrackedCluster {
    const { name, uid } = registered.cluster.metadata;
    const registration = registrationOf(registered);
    const known = this.#clusters.get(name);
    if (known !== undefined && isUnaffected(known, registration)) {
      known.registration = registration;
      return known;
    }
    const tracked = known?.uid === uid ? reset(known, registration) : restore(uid, registration, registered.cluster.status);
    this.#clusters.set(name, tracked);
    return tracked;
  }

  /** Returns the state of a cluster; undefined if it is not tracked. */
  get(name: string): TrackedCluster | undefined {
    return this.#clusters.get(name);
  }

  forget(name: string): void {
    this.#clusters.delete(name);
  }

  /** Reserves and returns the next time for the first probe of a cluster. */
  reserveFirstProbe(now: number): number {
    const at = Math.max(now, this.#nextFirstProbeAt);
    this.#nextFirstProbeAt = at + FIRST_PROBE_GAP_MS;
    return at;
  }

  /** Reserves and returns the next time for a heartbeat. */
  reserveHeartbeat(now: number): number {
    const at = Math.max(now, this.#nextHeartbeatAt);
    this.#nextHeartbeatAt = at + HEARTBEAT_GAP_MS;
    return at;
  }
}

function isUnaffected({ registration: former, rejections }: TrackedCluster, registration: Registration): boolean {
  return isSameRegistration(former, registration) || (rejections === 0 && isSameExceptRenewal(former, registration));
}

/** Returns the state according to the status that an earlier term wrote, so that a restart needs no immediate probes. */
function restore(uid: string, registration: Registration, status: ClusterStatus = {}): TrackedCluster {
  const { version, activeEndpoint, conditions = [] } = status;
  const health = parseHealth(conditions);
  const known = { version, activeEndpoint, conditions, health };
  return { ...createTrackedCluster(uid, registration), ...known, mustWrite: health === undefined, isRegular: wasHeartbeat(status) };
}

function reset({ uid, version, conditions }: TrackedCluster, registration: Registration): TrackedCluster {
  return { ...createTrackedCluster(uid, registration), version, conditions };
}

function createTrackedCluster(uid: string, registration: Registration): TrackedCluster {
  return {
    uid,
    registration,
    health: undefined,
    access: undefined,
    isHanging: false,
    probedAt: undefined,
    rejections: 0,
    probeAt: -Infinity,
    accessAt: -Infinity,
    version: undefined,
    apiAudiences: undefined,
    latencyMs: undefined,
    activeEndpoint: undefined,
    conditions: [],
    mustWrite: true,
    heartbeatAt: undefined,
    isRegular: false,
  };
}
