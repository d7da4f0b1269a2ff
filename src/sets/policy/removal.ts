// Limit on the removal of ManagedTokens of a set: a mistake in labels or in a selector must not remove most tokens of a fleet.

import { computeDigest } from '../../std/digest.ts';

export interface Removals {
  /** UIDs of the ManagedTokens to remove, without those whose removal was confirmed earlier. */
  readonly uids: readonly string[];
  /** Number of ManagedTokens that the set controls, including those to remove. */
  readonly total: number;
  /**
   * Number of ManagedTokens that were removed within the last minute without a confirmation; undefined if an earlier process may have
   * removed some.
   */
  readonly removed: number | undefined;
  /** Value of the `confirm-removal` annotation; undefined if there is none. */
  readonly confirmation: string | undefined;
}

export type RemovalDecision =
  /** `isConfirmed` is true if only the annotation allows the removal. */
  | { readonly type: 'allowed'; readonly isConfirmed: boolean }
  /** The decision waits until the number of earlier removals is known. */
  | { readonly type: 'deferred' }
  /** The removal exceeds the limit; `value` is the value of the `confirm-removal` annotation that allows it. */
  | { readonly type: 'paused'; readonly count: number; readonly value: string };

/** Decides whether the ManagedTokens may be removed. */
export function decideRemoval({ uids, total, removed, confirmation }: Removals): RemovalDecision {
  if (uids.length === 0) return { type: 'allowed', isConfirmed: false };
  const count = uids.length + (removed ?? 0);
  const isWithinLimit = count <= MAX_REMOVED || count <= (total + (removed ?? 0)) * MAX_SHARE;
  if (isWithinLimit) return removed === undefined ? { type: 'deferred' } : { type: 'allowed', isConfirmed: false };
  const value = toConfirmation(uids);
  return confirmation === value ? { type: 'allowed', isConfirmed: true } : { type: 'paused', count: uids.length, value };
}

/** Period over which removals are counted, in milliseconds. */
export const REMOVAL_WINDOW_MS = 60_000;
const MAX_REMOVED = 10;
const MAX_SHARE = 1 / 3;
const HASH_LENGTH = 12;

/**
 * Returns the value that confirms the removal of exactly these ManagedTokens. ManagedTokens that are re-created with the same names need
 * another value.
 */
function toConfirmation(uids: readonly string[]): string {
  const hex = computeDigest(JSON.stringify(uids.toSorted())).slice('sha256:'.length);
  return `${uids.length}-${hex.slice(0, HASH_LENGTH)}`;
}
