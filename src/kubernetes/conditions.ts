// The conditions of a status: one for each type, each with the time at which its status last changed.

import { formatTimestamp } from '../std/timestamp.ts';

/** Common fields of conditions; kinds add fields such as observedGeneration or lastHeartbeatTime. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** A condition to be set. Other fields that it does not mention stay as they are. */
export type NextCondition<C extends Condition> = Omit<C, 'lastTransitionTime'> & Required<Pick<C, 'reason' | 'message'>>;

/**
 * The list with one condition set. The transition time moves only when the status does.
 * Returns the same list when nothing changes, so that callers can tell by reference whether to write.
 */
export function withCondition<C extends Condition>(conditions: readonly C[], next: NextCondition<C>, now: number): readonly C[] {
  const index = conditions.findIndex(({ type }) => type === next.type);
  const old = conditions[index];
  const lastTransitionTime = old?.status === next.status && old.lastTransitionTime ? old.lastTransitionTime : formatTimestamp(now);
  const set = Object.assign({}, old, next, { lastTransitionTime });
  if (old === undefined) return [...conditions, set];
  return isSame(old, set) ? conditions : conditions.with(index, set);
}

/** Both have their fields in the same order, since one was made from the other. */
function isSame(old: unknown, set: unknown): boolean {
  return JSON.stringify(old) === JSON.stringify(set);
}
