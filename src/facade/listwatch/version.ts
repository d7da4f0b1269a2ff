// The resourceVersion of a filtered list. It contains the revision and a fingerprint of the names that the caller may see, so that a caller
// can resume at any replica unless revisions are local. A sequence number between these parts orders the views of one revision, so that the
// versions that a caller receives never decrease.

import type { User } from '../../access/user.ts';
import { FINGERPRINT_DIGITS, type Visibility } from '../../access/visibility.ts';
import { BoundedCache } from '../../std/bounded-cache.ts';

/** Version of a list for one caller. */
export interface FacadeVersion {
  /** Revision of the collection: the hub's resourceVersion, or a local revision. */
  readonly revision: number;
  /** Number of changes to the caller's view at this revision. */
  readonly sequence: number;
  /** Fingerprint of the names that the caller may see. */
  readonly fingerprint: number;
}

const SEQUENCE_DIGITS = 2;
const MAX_SEQUENCE = 10 ** SEQUENCE_DIGITS - 1;
const MAX_CALLERS = 10_000;

/** Returns the text of a version: the decimal digits of its three parts, the last two parts in fixed width. */
export function formatFacadeVersion({ revision, sequence, fingerprint }: FacadeVersion): string {
  return `${revision}${String(sequence).padStart(SEQUENCE_DIGITS, '0')}${String(fingerprint).padStart(FINGERPRINT_DIGITS, '0')}`;
}

/** Returns the text of the first version of a view at a revision. */
export function formatFacadeVersionAt(revision: number, { fingerprint }: Pick<Visibility, 'fingerprint'>): string {
  return formatFacadeVersion({ revision, sequence: 0, fingerprint });
}

/** Parses a version that `formatFacadeVersion` returned. The revision is 0 if the number has too few digits to contain one. */
export function parseFacadeVersion(number: bigint): FacadeVersion {
  const view = number / FINGERPRINTS;
  return {
    revision: Number(view / SEQUENCES),
    sequence: Number(view % SEQUENCES),
    fingerprint: Number(number % FINGERPRINTS),
  };
}

const FINGERPRINTS = 10n ** BigInt(FINGERPRINT_DIGITS);
const SEQUENCES = 10n ** BigInt(SEQUENCE_DIGITS);

/** The latest versions of callers. */
export class CallerVersions {
  /** Latest version by username: the other attributes of a caller may change with each token. */
  readonly #latest = new BoundedCache<FacadeVersion>(MAX_CALLERS);

  /**
   * Returns the version of a caller's view at a revision, and stores it as the caller's latest version. The version is not earlier than
   * the version that the caller sent, unless this replica has not reached the revision of the sent version.
   */
  next({ username }: User, visibility: Visibility, revision: number, sent?: FacadeVersion): FacadeVersion {
    const latest = this.#latest.get(username);
    const shown = visibility.isNothing ? Math.max(chooseEmptyRevision(latest, visibility, revision), sent?.revision ?? 0) : revision;
    const next = toNextVersion(latest, sent, { revision: shown, fingerprint: visibility.fingerprint });
    this.#latest.set(username, next);
    return next;
  }
}

/**
 * Returns the revision of an empty view. The revision does not change while the view is empty: a change would disclose changes to hidden
 * objects.
 */
function chooseEmptyRevision(latest: FacadeVersion | undefined, { fingerprint }: Visibility, revision: number): number {
  if (latest === undefined) return 1;
  return latest.fingerprint === fingerprint ? latest.revision : revision;
}

/**
 * Returns the version of a view. The version is not earlier than the caller's latest version at this replica, or than the version that the
 * caller sent, if these have the same revision.
 */
function toNextVersion(
  latest: FacadeVersion | undefined,
  sent: FacadeVersion | undefined,
  { revision, fingerprint }: Omit<FacadeVersion, 'sequence'>,
): FacadeVersion {
  const changesSince = (earlier: FacadeVersion) => (earlier.fingerprint === fingerprint ? 0 : 1);
  // Since the latest version, the caller may have received events of the log up to this revision. They have the sequence number 0.
  const known = latest && (latest.revision === revision ? latest.sequence : 0) + changesSince(latest);
  const received = sent?.revision === revision ? sent.sequence + changesSince(sent) : 0;
  return { revision, sequence: Math.min(Math.max(known ?? 0, received), MAX_SEQUENCE), fingerprint };
}
