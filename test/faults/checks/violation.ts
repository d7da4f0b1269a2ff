// Violations of invariants, and the excuses that scenarios recorded.

import type { Invariant, Recorded } from '../history.ts';
import { ofType } from '../history.ts';

export interface Violation {
  readonly invariant: Invariant;
  readonly at: number;
  readonly token?: string;
  readonly message: string;
}

/** Finds violations in a complete history. */
export type Check = (history: readonly Recorded[]) => readonly Violation[];

/** Returns a predicate for tokens whose violation of an invariant is excused at a given time. */
export function findExcuses(history: readonly Recorded[], invariant: Invariant): (token: string, at: number) => boolean {
  const all = ofType(history, 'excuse').filter(({ invariants }) => invariants.includes(invariant));
  return (token, at) => all.some((excuse) => (excuse.token === token || excuse.token === '*') && excuse.at <= at && at <= excuse.untilAt);
}

/** Groups entries by token name. */
export function groupByToken<T extends { readonly token: string }>(entries: readonly T[]): ReadonlyMap<string, readonly T[]> {
  return Map.groupBy(entries, ({ token }) => token);
}
