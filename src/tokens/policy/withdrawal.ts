// Rules of withdrawal: the reviews that confirm a lost permission, and the limits on simultaneous removals.

/** Next action after reviews that denied permission. */
export type WithdrawalAction =
  | { readonly type: 'keep' }
  /** `isReported` is false for the first seconds, because deployment tools delete and re-create bindings. */
  | { readonly type: 'recheck'; readonly at: number; readonly isReported: boolean }
  | { readonly type: 'remove' };

/**
 * Minimum time between the first and the last refusal before a removal, in milliseconds; longer than deployment tools need to replace a
 * binding.
 */
const APART_MS = 15_000;
/** Delay before a lost permission is reported, in milliseconds. */
const UNREPORTED_MS = 5_000;

/** Returns the next action; `refusedAt` has the times of the first and the last of consecutive reviews that denied permission. */
export function decideWithdrawal(refusedAt: readonly number[], now: number): WithdrawalAction {
  const known = refusedAt.filter((at) => at <= now);
  if (known.length === 0) return refusedAt.length === 0 ? { type: 'keep' } : { type: 'recheck', at: now + APART_MS, isReported: false };
  const first = Math.min(...known);
  const last = Math.max(...known);
  if (last - first >= APART_MS) return { type: 'remove' };
  const isReported = last - first >= UNREPORTED_MS;
  return { type: 'recheck', at: Math.max(first + (isReported ? APART_MS : UNREPORTED_MS), now + 1_000), isReported };
}

/** Numbers of tokens, by namespace. */
export type TokenCounts = ReadonlyMap<string, number>;

/**
 * Returns the time until which a namespace's own limit delays the removal of a Secret; undefined without a delay. `lost` is the number of
 * the namespace's tokens that wait for removal or were removed within the last minute. Each delay ends ten minutes and 15 s after the first
 * refusal at the latest, regardless of other events in the namespace: a tenant cannot keep a token by owning many.
 */
export function delayedUntil(lost: number, firstRefusedAt: number, now: number): number | undefined {
  const until = firstRefusedAt + APART_MS + DELAY_MS;
  return lost > MAX_PER_NAMESPACE && until > now && until <= now + APART_MS + DELAY_MS ? until : undefined;
}

/**
 * Returns whether so many tokens lost permission that none may be removed: more than 20 tokens, and more than a tenth of all issued tokens,
 * in at least five namespaces. At most 20 tokens of each namespace are counted.
 */
export function isMassWithdrawal(lost: TokenCounts, issued: TokenCounts): boolean {
  const counted = countTokens(lost);
  return lost.size >= MIN_NAMESPACES && counted > MAX_REMOVED && counted > countTokens(issued) * MAX_SHARE;
}

function countTokens(counts: TokenCounts): number {
  return [...counts.values()].reduce((sum, count) => sum + Math.min(count, MAX_PER_NAMESPACE), 0);
}

/** Period over which removals are counted, in milliseconds. */
export const WITHDRAWAL_WINDOW_MS = 60_000;
const DELAY_MS = 600_000;
const MAX_PER_NAMESPACE = 20;
const MAX_REMOVED = 20;
const MIN_NAMESPACES = 5;
const MAX_SHARE = 0.1;
