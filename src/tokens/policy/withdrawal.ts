// When a permission is gone, and when so many are gone at once that removal has to wait.

/** What follows from the reviews so far. */
export type Withdrawal = { readonly type: 'keep' } | { readonly type: 'lookAgain'; readonly at: number } | { readonly type: 'remove' };

/** A binding that a deployment tool replaces is gone for a moment; two reviews this far apart do not see the same gap. */
const APART_MS = 15_000;

/**
 * What to do after reviews that said no at these instants, with none in between that said yes.
 * Reviews that failed say nothing and are not among them.
 */
export function withdrawalAfter(refusedAt: readonly number[], now: number): Withdrawal {
  const known = refusedAt.filter((at) => at <= now);
  if (known.length === 0) return refusedAt.length === 0 ? { type: 'keep' } : { type: 'lookAgain', at: now + APART_MS };
  const first = Math.min(...known);
  const last = Math.max(...known);
  return last - first >= APART_MS ? { type: 'remove' } : { type: 'lookAgain', at: Math.max(first + APART_MS, now + 1_000) };
}

/** Numbers of tokens by namespace. */
export type TokenCounts = ReadonlyMap<string, number>;

/**
 * Returns until when a namespace's own limit delays the removal of a Secret; undefined if it does not. `lost` is the number of
 * the namespace's tokens that lost permission within a minute or wait for removal. No delay outlasts ten minutes after the
 * second refusal, whatever else happens in the namespace: a tenant cannot keep a token by owning many.
 */
export function delayedUntil(lost: number, firstRefusedAt: number, now: number): number | undefined {
  const until = firstRefusedAt + APART_MS + DELAY_MS;
  return lost > MAX_PER_NAMESPACE && until > now && until <= now + APART_MS + DELAY_MS ? until : undefined;
}

/**
 * Returns whether so many tokens lost permission that none may be removed: more than 20 and more than a tenth of all that are
 * issued, in at least five namespaces. At most 20 count per namespace.
 */
export function isMassWithdrawal(lost: TokenCounts, issued: TokenCounts): boolean {
  const counted = countedTokens(lost);
  return lost.size >= MIN_NAMESPACES && counted > MAX_REMOVED && counted > countedTokens(issued) * MAX_SHARE;
}

function countedTokens(counts: TokenCounts): number {
  return [...counts.values()].reduce((sum, count) => sum + Math.min(count, MAX_PER_NAMESPACE), 0);
}

/** Period over which removals count, in milliseconds. */
export const WINDOW_MS = 60_000;
const DELAY_MS = 600_000;
const MAX_PER_NAMESPACE = 20;
const MAX_REMOVED = 20;
const MIN_NAMESPACES = 5;
const MAX_SHARE = 0.1;
