// Problems of objects, and their counts.

import type { Condition } from '../../kubernetes/conditions.ts';
import { omitUndefined } from '../../std/omit-undefined.ts';
import { parseTimestamp } from '../../std/timestamp.ts';

/** A problem of one object. Times are in milliseconds since the epoch. */
export interface Problem {
  readonly reason: string;
  /** Cause and remedy. */
  readonly message: string;
  /** Time at which the problem began; absent if unknown. */
  readonly since?: number;
}

export interface ProblemSummary<P extends Problem> {
  readonly total: number;
  readonly ready: number;
  readonly problems: readonly P[];
}

/** Returns the problem that a condition reports. */
export function toProblem({ reason = '', message = '', lastTransitionTime }: Condition): Problem {
  return omitUndefined({ reason, message, since: parseTimestamp(lastTransitionTime) });
}
