// State that the controller keeps for each credential between reconciles. Each term of leadership starts with an empty state.

import type { Secret, Stored } from '../api/resources.ts';
import type { RenewalFailure } from '../targets/policy/renewal.ts';

export interface TrackedCredential {
  /** UID of the registered Secret to which all other fields apply. */
  readonly uid: string;
  /** True if renewal was automatic at the last reconcile; undefined before the first reconcile. */
  isAutomatic: boolean | undefined;
  /** The latest known Secret with a renewed token in use; undefined if there is none. */
  latest: Stored<Secret> | undefined;
  /** A Secret with a former renewed token that the hub may have lost, kept for its record of anchors; undefined if there is none. */
  former: Stored<Secret> | undefined;
  /** Digest of the registered token at the last renewal; empty before the first renewal, and after the renewed token was retired. */
  renewedDigest: string;
  /** Digest of a token that does not belong to a service account; empty if there is none. */
  foreignDigest: string;
  /** UIDs of deleted anchors that the record may still list. */
  readonly deletedAnchors: Set<string>;
  /** Digest of the token in use at the last failed step other than an anchor deletion or a revocation; empty if there was none. */
  failedDigest: string;
  /** Time of the last failed step other than an anchor deletion or a revocation, on the monotonic clock. */
  failedAt: number;
  /** Number of consecutive failed steps other than anchor deletions and revocations. */
  failures: number;
  /** Failure of the last step other than an anchor deletion or a revocation; undefined after a success. */
  failure: RenewalFailure | undefined;
  /** Earliest time of the next renewal or return to the registered token, on the monotonic clock. */
  renewNotBefore: number;
  /** Number of consecutive failed anchor deletions and revocations. */
  deleteFailures: number;
  /** Failure of the last anchor deletion or revocation; undefined after a success. */
  deleteFailure: RenewalFailure | undefined;
  /** Earliest time of the next anchor deletion or revocation, on the monotonic clock. */
  deleteNotBefore: number;
  /** Number of attempts to restore the Secret since the last renewal. */
  restores: number;
  /** Earliest time to restore the Secret, on the monotonic clock. */
  restoreNotBefore: number;
}

/** Tracks credentials by the key of the registered Secret. */
export class TrackedCredentials {
  readonly #credentials = new Map<string, TrackedCredential>();

  /** Returns the state of a credential, which the first call creates. For a re-created Secret, the state is new, except for `former`. */
  track(key: string, uid: string): TrackedCredential {
    const known = this.#credentials.get(key);
    if (known?.uid === uid) return known;
    const tracked = { ...createTrackedCredential(uid), former: known?.latest ?? known?.former };
    this.#credentials.set(key, tracked);
    return tracked;
  }

  forget(key: string): void {
    this.#credentials.delete(key);
  }

  /**
   * Returns the failure to report for a credential after at least two failures in a row; undefined after fewer, because single failures are
   * usually transient. Failures of anchor deletions and revocations are reported only if there is no other failure to report.
   */
  failureOf(key: string): RenewalFailure | undefined {
    const { failures = 0, failure, deleteFailures = 0, deleteFailure } = this.#credentials.get(key) ?? {};
    if (failures >= MIN_FAILURES) return failure;
    return deleteFailures >= MIN_FAILURES ? deleteFailure : undefined;
  }
}

const MIN_FAILURES = 2;

function createTrackedCredential(uid: string): TrackedCredential {
  return {
    uid,
    isAutomatic: undefined,
    latest: undefined,
    former: undefined,
    renewedDigest: '',
    foreignDigest: '',
    deletedAnchors: new Set(),
    failedDigest: '',
    failedAt: -Infinity,
    failures: 0,
    failure: undefined,
    renewNotBefore: -Infinity,
    deleteFailures: 0,
    deleteFailure: undefined,
    deleteNotBefore: -Infinity,
    restores: 0,
    restoreNotBefore: -Infinity,
  };
}
