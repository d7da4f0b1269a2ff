// Memory of the controller about ManagedTokenSets, by UID. It need not survive a restart: Purser then reads the objects again.

import type { ManagedTokenSetStatus } from '../api/managed-token-set.gen.ts';
import { OwnWrite } from '../kube/own-write.ts';
import { computeExponentialMs } from '../std/backoff.ts';
import { computeDigest } from '../std/digest.ts';
import type { StoredToken } from '../tokens/policy/spec.ts';
import { REMOVAL_WINDOW_MS } from './policy/removal.ts';
import { encodeTemplateMetadata, type StoredSet } from './policy/template.ts';
import { TrackedProfiles } from './tracked-profiles.ts';

/** Tracked sets by UID. */
export class TrackedSets {
  readonly #tracked = new Map<string, TrackedSet>();
  /** Keys of the sets that need the name of a ManagedToken that they do not control, by the key of the ManagedToken. */
  readonly #waiting = new Map<string, Set<string>>();

  /** Returns the state of a set; undefined if the set is not tracked. */
  find(uid: string | undefined): TrackedSet | undefined {
    return uid === undefined ? undefined : this.#tracked.get(uid);
  }

  /** Returns the state of a set, and tracks the set until `forget`. The caller must know that the set exists. */
  keep(uid: string): TrackedSet {
    const tracked = this.#tracked.get(uid) ?? new TrackedSet();
    this.#tracked.set(uid, tracked);
    return tracked;
  }

  forget(uid: string): void {
    this.#tracked.delete(uid);
  }

  /** Records that a set needs the name of a ManagedToken that it does not control. */
  awaitName(tokenKey: string, setKey: string): void {
    const waiting = this.#waiting.get(tokenKey) ?? new Set();
    this.#waiting.set(tokenKey, waiting.add(setKey));
  }

  /** Returns the keys of the sets that need the name of a ManagedToken, and forgets them. */
  takeWaiting(tokenKey: string): Iterable<string> {
    const waiting = this.#waiting.get(tokenKey) ?? [];
    this.#waiting.delete(tokenKey);
    return waiting;
  }
}

/** Checks before the removal of a ManagedToken. Times are on the monotonic clock. */
export interface RemovalChecks {
  /** Times of the first and the last of consecutive checks that confirmed the removal; empty if there is none. */
  readonly confirmedAt: readonly number[];
  readonly nextAt: number;
  /** Number of consecutive checks that contradicted the informers; undefined for none. */
  readonly contradictions?: number;
}

/** A write of a ManagedToken that the server rejected; `retryAt` is on the monotonic clock. */
interface FailedWrite {
  readonly message: string;
  readonly failures: number;
  readonly retryAt: number;
}

const BACKOFF = { initialMs: 5_000, maxMs: 300_000 };
/** Maximum delay of the next removal check, in milliseconds, once a ManagedToken no longer has to be removed. */
const MAX_KEPT_DELAY_MS = 15_000;

/** State of one set between runs. */
export class TrackedSet {
  /** Last write of the set's status that the informer has not delivered. */
  readonly set = new OwnWrite<StoredSet>();
  /** ClusterProfiles of the set. */
  readonly profiles = new TrackedProfiles();
  /** Status that was sent last; undefined before the first status write of the term. */
  status: ManagedTokenSetStatus | undefined;
  /** Time of the last status write, on the monotonic clock. */
  statusAt = Number.NEGATIVE_INFINITY;
  /** Start of the last run, on the wall clock. */
  ranAt = Number.NEGATIVE_INFINITY;
  /** True if a change in the namespace has triggered the set since its last run. */
  isTriggeredByTenant = false;
  /** Checks before removals, by the UIDs of ManagedTokens. */
  readonly checks = new Map<string, RemovalChecks>();
  /** UIDs of ManagedTokens whose deletion was requested, until the informer no longer has them. */
  readonly removed = new Set<string>();
  /** UIDs of ManagedTokens whose removal was confirmed by the annotation. */
  readonly approved = new Set<string>();
  /** Rejected writes by the names of clusters. */
  readonly #failedWrites = new Map<string, FailedWrite>();
  /** Own writes of ManagedTokens that the informer has not delivered, by the name of the ManagedToken. */
  readonly #writes = new Map<string, OwnWrite<StoredToken>>();
  /** States of ManagedTokens that differ from their rendering right after a write, by the names of clusters. */
  readonly #overridden = new Map<string, string>();
  /** Times of removals that the confirm-removal annotation did not confirm, on the monotonic clock. */
  #removedAt: readonly number[] = [];
  /** Time from which all removals within the last minute are known, on the monotonic clock; undefined before the first decision. */
  removalsKnownAt: number | undefined;

  /** Returns the latest known ManagedToken with a name; undefined if there is none. `informed` is the informer's copy. */
  latest(name: string, informed: StoredToken | undefined, now: number): StoredToken | undefined {
    const write = this.#writes.get(name);
    return write === undefined ? informed : write.resolve(informed, now);
  }

  /** Records that a ManagedToken was written in place of `replaced`. */
  recordWrite(token: StoredToken, replaced: StoredToken | undefined, now: number): void {
    const write = this.#writes.get(token.metadata.name) ?? new OwnWrite<StoredToken>();
    this.#writes.set(token.metadata.name, write);
    write.record(token, replaced, now);
  }

  /** Records a ManagedToken as the watch delivers it; `token` is undefined after the deletion. */
  observe(name: string, token: StoredToken | undefined): void {
    if (token === undefined || this.#writes.get(name)?.acknowledge(token)) this.#writes.delete(name);
  }

  /** Records that a write was rejected. */
  failWrite(clusterName: string, message: string, now: number): void {
    const failures = (this.#failedWrites.get(clusterName)?.failures ?? 0) + 1;
    this.#failedWrites.set(clusterName, { message, failures, retryAt: now + computeExponentialMs(failures - 1, BACKOFF) });
  }

  succeedWrite(clusterName: string): void {
    this.#failedWrites.delete(clusterName);
  }

  /** Returns the message of a rejected write until its next attempt is due; undefined if a write may be attempted. */
  writeFailure(clusterName: string, now: number): string | undefined {
    const failed = this.#failedWrites.get(clusterName);
    return failed !== undefined && now < failed.retryAt ? failed.message : undefined;
  }

  /** Records whether a ManagedToken differs from the rendering with this digest right after a write. */
  recordOverride(clusterName: string, { metadata }: StoredToken, digest: string, isOverridden: boolean): void {
    if (isOverridden) this.#overridden.set(clusterName, encodeState(metadata, digest));
    else this.#overridden.delete(clusterName);
  }

  /**
   * Returns whether a webhook changed the last write of a ManagedToken, and neither the ManagedToken nor its rendering has changed since:
   * the same write would have no effect.
   */
  isOverridden(clusterName: string, token: StoredToken | undefined, digest: string): boolean {
    return token !== undefined && this.#overridden.get(clusterName) === encodeState(token.metadata, digest);
  }

  /** Records a removal, and counts it unless it was confirmed by the annotation. */
  recordRemoval(uid: string, now: number): void {
    this.removed.add(uid);
    if (!this.approved.has(uid)) this.#removedAt = [...this.#removedAt.filter((at) => now - at < REMOVAL_WINDOW_MS), now];
  }

  /** Returns the number of removals by this process within the last minute, without those that the annotation confirmed. */
  countRecentRemovals(now: number): number {
    return this.#removedAt.filter((at) => now - at < REMOVAL_WINDOW_MS).length;
  }

  /** Returns the earliest time after `now` at which a rejected write is retried; Infinity for none. */
  nextWriteAt(now: number): number {
    const times = [...this.#failedWrites.values()].map(({ retryAt }) => retryAt).filter((at) => at > now);
    return times.reduce((earliest, at) => Math.min(earliest, at), Infinity);
  }

  /**
   * Forgets failed and overridden writes of clusters not in `clusters`, checks and approvals of UIDs not in `surplus`, and removals of UIDs
   * not in `informed`. Keeps the time of the next check of an existing ManagedToken, for at most 15 s: a label of a Cluster that changes
   * again and again must not cause a check at each change.
   */
  prune({ clusters, surplus, informed }: ObservedNames, now: number): void {
    for (const map of [this.#failedWrites, this.#overridden]) {
      for (const name of map.keys()) if (!clusters.has(name)) map.delete(name);
    }
    for (const [uid, checks] of this.checks) {
      if (surplus.has(uid)) continue;
      const nextAt = Math.min(checks.nextAt, now + MAX_KEPT_DELAY_MS);
      if (nextAt > now && informed.has(uid)) this.checks.set(uid, { ...checks, confirmedAt: [], nextAt });
      else this.checks.delete(uid);
    }
    for (const uid of this.approved) if (!surplus.has(uid)) this.approved.delete(uid);
    for (const uid of this.removed) if (!informed.has(uid)) this.removed.delete(uid);
  }
}

/** Clusters and ManagedTokens of a set at the time of a run. */
interface ObservedNames {
  /** Names of the selected Clusters. */
  readonly clusters: ReadonlySet<string>;
  /** UIDs of the ManagedTokens to remove. */
  readonly surplus: ReadonlySet<string>;
  /** UIDs of the ManagedTokens that the set controls, according to the informer. */
  readonly informed: ReadonlySet<string>;
}

/** Returns a text that changes with the parts of a ManagedToken that come from the template. */
function encodeState(metadata: StoredToken['metadata'], digest: string): string {
  return `${metadata.generation} ${computeDigest(encodeTemplateMetadata(metadata))} ${digest}`;
}
