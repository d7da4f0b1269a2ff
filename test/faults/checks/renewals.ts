// Checks of Purser's own credentials: replaced ones are refused (I19), those in use are accepted (I20). Also computes the figures of a run.

import { type Of, ofType, type Recorded } from '../history.ts';
import type { Check, Violation } from './violation.ts';

/** Overlap of the credentials in the renewal bench, in seconds; longer than the probe interval. */
export const OVERLAP_SECONDS = 20;
/** Maximum time from the replacement of a credential, or from the end of the last fault, until its cluster refuses it. */
export const REFUSED_MS = OVERLAP_SECONDS * 1_000 + 30_000;

type Theft = Of<'theft'>;

/** Finds replaced credentials that a cluster accepts for too long; each once. */
export const replacedCredentials: Check = (history) => {
  const calmSince = findCalm(history);
  const late = ofType(history, 'theft').filter(
    ({ at, verdict, replacedAt = Infinity }) => verdict === 'accepted' && at - Math.max(replacedAt, calmSince(at)) > REFUSED_MS,
  );
  return firstOfEach(late).map(({ at, cluster, digest, replacedAt = 0 }): Violation => {
    return {
      invariant: 'I19',
      at,
      message: `${cluster} accepts the credential ${digest} ${formatSeconds(at - replacedAt)} after its replacement`,
    };
  });
};

/** Finds credentials in use that their cluster rejects; each once. */
export const credentialsInUse: Check = (history) =>
  firstOfEach(ofType(history, 'theft').filter(({ verdict, replacedAt }) => verdict === 'rejected' && replacedAt === undefined)).map(
    ({ at, cluster, digest }) => ({ invariant: 'I20', at, message: `${cluster} rejects the credential in use, ${digest}` }),
  );

/** Minimum time between two memory samples that shows that the machine was suspended, in milliseconds. */
const SUSPENDED_MS = 15_000;

/** Returns a function that returns the end of the last fault or suspension of the machine before a time; the time itself during a fault. */
export function findCalm(history: readonly Recorded[]): (at: number) => number {
  const changes = ofType(history, 'disturbance');
  const usage = ofType(history, 'usage');
  const suspensions = usage
    .map(({ at }, index) => ({ fromAt: usage[index - 1]?.at ?? at, toAt: at }))
    .filter(({ fromAt, toAt }) => toAt - fromAt > SUSPENDED_MS);
  return (at) => {
    const last = changes.findLast((change) => change.at <= at);
    const suspended = suspensions.findLast(({ fromAt }) => fromAt < at);
    return last?.begins === true ? at : Math.max(last?.at ?? 0, Math.min(suspended?.toAt ?? 0, at));
  };
}

function firstOfEach(thefts: readonly Theft[]): readonly Theft[] {
  return [...Map.groupBy(thefts, ({ digest }) => digest).values()].flatMap(([first]) => first ?? []);
}

function formatSeconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}

/** Figures of a run of the renewal bench. */
export interface RenewalFigures {
  readonly renewals: number;
  /** Number of Clusters whose credentials were renewed, on all hubs. */
  readonly holders: number;
  readonly faults: number;
  /** Number of times that the thief presented a credential. */
  readonly presented: number;
  /** Number of replaced credentials that their cluster refused. */
  readonly refused: number;
  /** Number of those that were refused within the overlap and 30 s, including during faults. */
  readonly refusedInTime: number;
  /** Longest time from a replacement to the refusal, in milliseconds; longer than the limit only with faults. */
  readonly worstRefusalMs: number;
  /** Shortest remaining validity of a credential at its replacement, in milliseconds. */
  readonly leastRemainingMs: number;
}

/** Returns the figures of the renewal bench, or undefined if it was not run. */
export function computeRenewalFigures(history: readonly Recorded[]): RenewalFigures | undefined {
  const renewals = ofType(history, 'renewal');
  if (renewals.length === 0) return undefined;
  const thefts = ofType(history, 'theft');
  const calmSince = findCalm(history);
  const refusals = firstOfEach(thefts.filter(({ verdict, replacedAt }) => verdict === 'rejected' && replacedAt !== undefined)).map(
    ({ at, replacedAt = at }) => at - replacedAt,
  );
  const byHolder = [...Map.groupBy(renewals, ({ holder }) => holder).values()];
  const remaining = byHolder.flatMap((each) => each.slice(1).map(({ at }, index) => (each[index]?.expiresAt ?? Infinity) - at));
  return {
    renewals: renewals.length,
    holders: byHolder.length,
    faults: ofType(history, 'step').filter(({ at }) => calmSince(at) === at).length,
    presented: thefts.filter(({ verdict }) => verdict !== 'unreachable').length,
    refused: refusals.length,
    refusedInTime: refusals.filter((ms) => ms <= REFUSED_MS).length,
    worstRefusalMs: Math.max(0, ...refusals),
    leastRemainingMs: Math.min(...remaining, Infinity),
  };
}
