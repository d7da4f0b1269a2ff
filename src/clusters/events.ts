// Events about transitions of a Cluster's conditions.

import type { ClusterCondition, ClusterStatus } from '../api/cluster.gen.ts';
import type { Note } from '../kube/recorder.ts';
import { clusterConditions } from './policy/conditions.ts';

/** Returns the events to record when one status follows another. */
export function eventsOf(previous: ClusterStatus, next: ClusterStatus): readonly Note[] {
  return [...clusterConditions].flatMap(([wanted, { events }]) => {
    const [before, after] = [previous, next].map(({ conditions = [] }) => conditions.find(({ type }) => type === wanted));
    if (after === undefined || events === 'none' || isSame(before, after)) return [];
    if (events === 'failures' && before?.status !== 'False' && after.status !== 'False') return [];
    return [{ type: after.status === 'True' ? 'Normal' : 'Warning', reason: after.reason ?? '', message: after.message ?? '' } as const];
  });
}

/** Returns whether two conditions call for the same action: another cause of a failure needs another remedy. */
function isSame(before: ClusterCondition | undefined, after: ClusterCondition): boolean {
  return before?.status === after.status && (after.status === 'True' || before.reason === after.reason);
}
