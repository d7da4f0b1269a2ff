// Checks of ManagedTokenSets: no token without permission (I21), and no removal of many ManagedTokens without a confirmation (I22).

import { type Of, ofType, type Recorded } from '../history.ts';
import { findCalm } from './renewals.ts';
import type { Check, Violation } from './violation.ts';

/** Time until Purser removes the Secret of a withdrawn permission, plus the interval between two samples, in milliseconds. */
const HELD_MS = 42_000;
/** Time until Purser removes the ManagedToken, in milliseconds: a minute after a restart, 15 s of checks, and 45 s for late samples. */
const KEPT_MS = 120_000;
/** Time until Purser has recovered from a fault, in milliseconds. */
const RECOVERY_MS = 60_000;
/** Period over which Purser counts removals, less the interval between two samples, in milliseconds. */
const WINDOW_MS = 58_000;
const MAX_REMOVED = 10;
const MAX_SHARE = 1 / 3;

type FleetSample = Of<'fleet'>;

/** Finds tokens and ManagedTokens that outlive the permission of the requester; each once. */
export const fleetPermissions: Check = (history) => {
  const calmSince = findCalm(history);
  const [allowances, samples] = [byFleet(ofType(history, 'allowance')), byFleet(ofType(history, 'fleet'))];
  return [...samples].flatMap(([fleet, states]) => {
    const reported = new Set<string>();
    let pausedAt = 0;
    return states.flatMap(({ at, clusters, held, isPaused }): readonly Violation[] => {
      if (isPaused) pausedAt = at;
      const report = (cluster: string, limitMs: number, since: number, message: string): readonly Violation[] => {
        const withdrawnAt = findWithdrawal(allowances.get(fleet) ?? [], cluster, at);
        const lateMs = at - Math.max(withdrawnAt, calmSince(at) + RECOVERY_MS, since) - limitMs;
        const key = `${message} ${cluster} ${withdrawnAt}`;
        if (lateMs <= 0 || reported.has(key)) return [];
        reported.add(key);
        return [{ invariant: 'I21', at, token: `${fleet}/${cluster}`, message }];
      };
      return [
        ...held.flatMap((cluster) => report(cluster, HELD_MS, 0, 'the Secret outlived the permission of the requester')),
        ...clusters.flatMap((cluster) => report(cluster, KEPT_MS, pausedAt, 'the ManagedToken outlived the permission of the requester')),
      ];
    });
  });
};

/** Returns the time since which the requester may not issue for a cluster; Infinity while it may. */
function findWithdrawal(allowances: readonly Of<'allowance'>[], cluster: string, at: number): number {
  const known = allowances.filter((each) => each.at <= at);
  const allowedIndex = known.findLastIndex(({ clusters }) => clusters.includes(cluster));
  return known[allowedIndex + 1]?.at ?? Infinity;
}

/** Finds removals of more than ten and more than a third of the ManagedTokens of a set within a minute, without a confirmation. */
export const fleetRemovals: Check = (history) => {
  const confirmations = byFleet(ofType(history, 'confirmation'));
  return [...byFleet(ofType(history, 'fleet'))].flatMap(([fleet, samples]): readonly Violation[] => {
    const removals = findRemovals(samples, confirmations.get(fleet) ?? []);
    const excess = removals.find(({ at }) => {
      const recent = removals.filter((each) => each.at > at - WINDOW_MS && each.at <= at).length;
      const total = Math.max(...samples.filter((each) => each.at > at - WINDOW_MS && each.at <= at).map(({ clusters }) => clusters.length));
      return recent > MAX_REMOVED && recent > Math.max(total, recent) * MAX_SHARE;
    });
    return excess === undefined
      ? []
      : [{ invariant: 'I22', at: excess.at, token: fleet, message: 'many ManagedTokens were removed at once' }];
  });
};

/** Returns the removals that the administrator did not confirm. A confirmation applies to one removal of each of its clusters. */
function findRemovals(samples: readonly FleetSample[], confirmations: readonly Of<'confirmation'>[]): readonly { readonly at: number }[] {
  const open = confirmations.flatMap(({ at, clusters }) => clusters.map((cluster) => ({ at, cluster })));
  return samples.flatMap(({ at, clusters }, index) => {
    const removed = (samples[index - 1]?.clusters ?? []).filter((cluster) => !clusters.includes(cluster));
    return removed.flatMap((cluster) => {
      const confirmed = open.findIndex((each) => each.cluster === cluster && each.at <= at);
      if (confirmed < 0) return [{ at }];
      open.splice(confirmed, 1);
      return [];
    });
  });
}

function byFleet<T extends Recorded & { readonly fleet: string }>(entries: readonly T[]): ReadonlyMap<string, readonly T[]> {
  return Map.groupBy(entries, ({ fleet }) => fleet);
}
