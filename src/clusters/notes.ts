// What people are told by events: that a condition of a Cluster turned.

import type { ClusterStatus } from '../api/cluster.gen.ts';
import { ClusterConditionType as Type } from '../api/names.ts';
import type { Note } from '../kube/recorder.ts';

/** What is to be told when one status follows another. */
export function notesOf(previous: ClusterStatus, next: ClusterStatus): readonly Note[] {
  return TOLD.flatMap((wanted) => {
    const [before, after] = [previous, next].map(({ conditions = [] }) => conditions.find(({ type }) => type === wanted));
    const isTurn = after !== undefined && before?.status !== after.status;
    // That a credential is good is no news as long as it was never said to be bad.
    if (!isTurn || (wanted === Type.credentialFresh && before?.status !== 'False' && after.status !== 'False')) return [];
    return [{ type: after.status === 'True' ? 'Normal' : 'Warning', reason: after.reason ?? '', message: after.message ?? '' } as const];
  });
}

/** The others follow from these, or these from them. */
const TOLD = [Type.ready, Type.credentialFresh];
