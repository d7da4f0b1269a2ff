// Events about transitions of a Cluster's conditions.

import type { ClusterStatus } from '../api/cluster.gen.ts';
import type { Note } from '../kube/recorder.ts';
import { CLUSTER_CONDITIONS, CONDITION_TYPES } from './policy/conditions.ts';

/** Returns the events to record when one status follows another. */
export function eventsOf(previous: ClusterStatus, next: ClusterStatus): readonly Note[] {
  return CONDITION_TYPES.flatMap((wanted) => {
    const { events } = CLUSTER_CONDITIONS[wanted];
    const [before, after] = [previous, next].map(({ conditions = [] }) => conditions.find(({ type }) => type === wanted));
    if (after === undefined || events === 'none') return [];
    // Another cause of the same failure needs another remedy.
    const isSame = before?.status === after.status && (after.status === 'True' || before.reason === after.reason);
    if (isSame) return [];
    if (events === 'failures' && before?.status !== 'False' && after.status !== 'False') return [];
    return [{ type: after.status === 'True' ? 'Normal' : 'Warning', reason: after.reason ?? '', message: after.message ?? '' } as const];
  });
}
