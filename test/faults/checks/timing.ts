// Checks of times and sizes: isolation (I5), limits (I8), withdrawal (I11); also the delay of renewals.

import { type Of, ofType, type Recorded } from '../history.ts';
import { type Check, findExcuses, groupByToken, type Violation } from './violation.ts';

/** Time until Purser removes the Secret of a withdrawn permission, plus the interval between two samples, in milliseconds. */
const WITHDRAWN_MS = 42_000;
/** Tolerated delay of a renewal during a fault of another cluster, in milliseconds. */
const ELSEWHERE_LATE_MS = 5_000;
const MAX_MEGABYTES = 300;
const MAX_HANDLES = 150;
/** Tolerated ratio of late to early memory. */
const MAX_GROWTH = 1.3;
/** Minimum run time of a process for the growth check, in milliseconds. */
const SOAK_MS = 600_000;

/** Renewal with its delay. */
export interface Renewal {
  readonly dueAt: number;
  readonly doneAt: number;
  readonly token: string;
  readonly cluster: string;
  readonly lateMs: number;
}

/** Returns every renewal that was due, including those that have not happened. */
export function findRenewals(history: readonly Recorded[]): readonly Renewal[] {
  return [...groupByToken(ofType(history, 'sample')).values()].flatMap((samples) => {
    const seen = samples.filter(({ secret }) => secret?.digest !== undefined);
    return seen.flatMap((now, index) => findRenewal(now, seen[index + 1]));
  });
}

function findRenewal(now: Of<'sample'>, next: Of<'sample'> | undefined): readonly Renewal[] {
  const { digest, renewAt = 0 } = now.secret ?? {};
  if (next !== undefined && (next.secret?.digest === digest || next.uid !== now.uid)) return [];
  const lateMs = (next?.secret?.issuedAt ?? now.at) - renewAt;
  if (lateMs < -1_000) return [];
  return [{ dueAt: renewAt, doneAt: (next ?? now).at, token: now.token, cluster: now.cluster, lateMs: Math.max(0, lateMs) }];
}

/** Finds renewals that a fault of another target delayed. */
export const isolation: Check = (history) => {
  const excused = findExcuses(history, 'I5');
  const faults = ofType(history, 'begin').filter(({ on }) => on === 'one' || on === 'two');
  const ends = ofType(history, 'end');
  const late = findRenewals(history).filter(({ lateMs }) => lateMs > ELSEWHERE_LATE_MS);
  return faults.flatMap((begin) => {
    const endAt = ends.find((end) => end.fault === begin.fault && end.at >= begin.at)?.at ?? Infinity;
    return late
      .filter(({ dueAt, doneAt }) => dueAt > begin.at && doneAt < endAt)
      .filter(({ cluster, token, doneAt }) => !cluster.startsWith(begin.on) && !excused(token, doneAt))
      .map(({ doneAt: at, token, lateMs }): Violation => {
        return { invariant: 'I5', at, token, message: `renewed ${lateMs / 1_000} s late because of a fault of another cluster` };
      });
  });
};

/** Finds Secrets that remain too long after withdrawal of their permission. */
export const withdrawal: Check = (history) => {
  const samples = groupByToken(ofType(history, 'sample'));
  const grants = groupByToken(ofType(history, 'grant'));
  return [...grants].flatMap(([token, tokenGrants]) =>
    tokenGrants.flatMap((grant, index): readonly Violation[] => {
      const untilAt = tokenGrants[index + 1]?.at ?? Infinity;
      const remaining = samples
        .get(token)
        ?.find(
          ({ at, ready, secret }) => ready !== 'unknown' && secret?.digest !== undefined && at > grant.at + WITHDRAWN_MS && at < untilAt,
        );
      if (grant.allowed || remaining === undefined) return [];
      return [{ invariant: 'I11', at: remaining.at, token, message: 'the Secret outlived its permission' }];
    }),
  );
};

/** Finds memory and file descriptors beyond their limits, and memory that grows. */
export const resourceLimits: Check = (history) => {
  const usage = ofType(history, 'usage');
  const excused = findExcuses(history, 'I8');
  const above = usage
    .filter(({ at }) => !excused('*', at))
    .filter(({ rssMegabytes, handles }) => rssMegabytes > MAX_MEGABYTES || handles > MAX_HANDLES);
  const found = above.map(
    ({ at, rssMegabytes, handles }): Violation => ({ invariant: 'I8', at, message: `${rssMegabytes} MB, ${handles} file descriptors` }),
  );
  return [...found, ...[...Map.groupBy(usage, ({ pid }) => pid).values()].flatMap(findGrowth)];
};

function findGrowth(usage: readonly Of<'usage'>[]): readonly Violation[] {
  const [first, last] = [usage[0], usage.at(-1)];
  if (first === undefined || last === undefined || last.at - first.at < SOAK_MS) return [];
  const quarter = Math.floor(usage.length / 4);
  // Minimum of each quarter: faults raise memory temporarily, leaks permanently.
  const minimum = (some: readonly Of<'usage'>[]) => Math.min(...some.map(({ rssMegabytes }) => rssMegabytes));
  const [early, late] = [minimum(usage.slice(quarter, 2 * quarter)), minimum(usage.slice(-quarter))];
  return late > early * MAX_GROWTH
    ? [{ invariant: 'I8', at: last.at, message: `memory grew from ${early.toFixed(0)} to ${late.toFixed(0)} MB` }]
    : [];
}
