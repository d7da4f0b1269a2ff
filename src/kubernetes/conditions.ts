// Conditions of a status: one for each type, with the time of its last transition.

import { formatTimestamp } from '../std/timestamp.ts';

/** Common fields of conditions; kinds add fields such as observedGeneration or lastHeartbeatTime. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** Returns the condition of this type; undefined if the object has none. */
export function findCondition<C extends Condition>(
  { status }: { readonly status?: { readonly conditions?: readonly C[] } },
  type: string,
): C | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

/** A condition to set. Fields that it omits keep their values. */
export type NextCondition<C extends Condition> = Omit<C, 'lastTransitionTime'> & Required<Pick<C, 'reason' | 'message'>>;

/**
 * Returns the list with one condition set. The transition time changes only with the status.
 * Returns the same list if nothing changes, so that callers can compare references before a write.
 */
export function withCondition<C extends Condition>(conditions: readonly C[], next: NextCondition<C>, now: number): readonly C[] {
  const index = conditions.findIndex(({ type }) => type === next.type);
  const old = conditions[index];
  const lastTransitionTime = old?.status === next.status && old.lastTransitionTime ? old.lastTransitionTime : formatTimestamp(now);
  const set = Object.assign({}, old, next, { lastTransitionTime });
  if (old === undefined) return [...conditions, set];
  return isSame(old, set) ? conditions : conditions.with(index, set);
}

/** Returns whether `set` equals `old`. `set` has every field of `old`, and no field is an object. */
function isSame<C extends Condition>(old: C, set: C): boolean {
  for (const field in set) if (set[field] !== old[field]) return false;
  return true;
}
