// What a check finds.

import type { Invariant, Recorded } from '../history.ts';
import { ofType } from '../history.ts';

export interface Violation {
  readonly invariant: Invariant;
  readonly at: number;
  readonly token?: string;
  readonly message: string;
}

/** Looks through a whole history for what must not happen. */
export type Check = (history: readonly Recorded[]) => readonly Violation[];

/** Whether the history itself explains what happened to a token at a moment. */
export function excuses(history: readonly Recorded[], invariant: Invariant): (token: string, at: number) => boolean {
  const all = ofType(history, 'excuse').filter(({ invariants }) => invariants.includes(invariant));
  return (token, at) => all.some((excuse) => (excuse.token === token || excuse.token === '*') && excuse.at <= at && at <= excuse.untilAt);
}

/** The entries of each token, by its name. */
export function byToken<T extends { readonly token: string }>(entries: readonly T[]): ReadonlyMap<string, readonly T[]> {
  return Map.groupBy(entries, ({ token }) => token);
}
