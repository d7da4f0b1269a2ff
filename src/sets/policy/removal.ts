// Limit on the removal of ManagedTokens of a set: a mistake in labels or in a selector must not remove most tokens of a fleet.

import { digestOf } from '../../std/digest.ts';

export interface Removals {
  /** UID of the set. */
  readonly setUid: string;
  /** Names of the ManagedTokens to remove. */
  readonly names: readonly string[];
  /** Number of ManagedTokens that the set controls, including those to remove. */
  readonly total: number;
  /** Number of ManagedTokens that were removed within the last minute. */
  readonly removed: number;
  /** Value of the annotation `confirm-removal`; undefined without one. */
  readonly confirmation: string | undefined;
}

export type RemovalDecision =
  /** `isConfirmed` is true if only the annotation allows it. */
  | { readonly type: 'allowed'; readonly isConfirmed: boolean }
  /** `value` of the annotation `confirm-removal` allows the removal of these ManagedTokens. */
  | { readonly type: 'paused'; readonly count: number; readonly value: string };

/** Decides whether the ManagedTokens may be removed. */
export function decideRemoval({ setUid, names, total, removed, confirmation }: Removals): RemovalDecision {
  const count = names.length + removed;
  if (names.length === 0 || count <= MAX_REMOVED || count <= (total + removed) * MAX_SHARE) return { type: 'allowed', isConfirmed: false };
  const value = confirmationFor(setUid, names);
  return confirmation === value ? { type: 'allowed', isConfirmed: true } : { type: 'paused', count: names.length, value };
}

/** Period over which removals are counted, in milliseconds. */
export const REMOVAL_WINDOW_MS = 60_000;
const MAX_REMOVED = 10;
const MAX_SHARE = 1 / 3;
const VALUE_LENGTH = 12;

/** Returns the value that confirms the removal of exactly these ManagedTokens. */
function confirmationFor(setUid: string, names: readonly string[]): string {
  const hex = digestOf(JSON.stringify([setUid, names.toSorted()])).slice('sha256:'.length);
  return `${names.length}-${hex.slice(0, VALUE_LENGTH)}`;
}
