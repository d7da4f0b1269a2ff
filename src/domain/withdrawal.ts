// When a permission is gone, and when so many are gone at once that it must be a mistake.

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

/** How many tokens lose their permission. */
export interface Withdrawals {
  /** When Secrets were removed. */
  readonly removedAt: readonly number[];
  /** How many more are to go now. */
  readonly waiting: number;
  /** How many ManagedTokens there are. */
  readonly total: number;
}

/** Whether so many would go within a minute that none may: more than 20, and more than a tenth of all. */
export function isMassWithdrawal({ removedAt, waiting, total }: Withdrawals, now: number): boolean {
  const removed = removedAt.filter((at) => Math.abs(now - at) < WINDOW_MS).length;
  return removed + waiting > MAX_REMOVED && removed + waiting > total * MAX_SHARE;
}

const WINDOW_MS = 60_000;
const MAX_REMOVED = 20;
const MAX_SHARE = 0.1;
