// Counts of ManagedTokenSets, and their problems.

import type { ManagedTokenSet } from '../../api/managed-token-set.gen.ts';
import { SetConditionType } from '../../api/names.ts';
import type { Stored } from '../../api/resources.ts';
import { findCondition } from '../../kubernetes/conditions.ts';
import { compareUtf8 } from '../../std/go-text.ts';
import { type Problem, type ProblemSummary, toProblem } from './problem.ts';

export interface SetProblem extends Problem {
  readonly namespace: string;
  readonly name: string;
  /** Number of clusters of the set. */
  readonly clusters: number;
  /** Number of clusters whose token is ready. */
  readonly ready: number;
}

/** Returns the numbers of all and of ready ManagedTokenSets, and the problems of ManagedTokenSets, sorted by namespace and name. */
export function toSetsStatus(sets: readonly Stored<ManagedTokenSet>[]): ProblemSummary<SetProblem> {
  return {
    total: sets.length,
    ready: sets.filter((set) => findCondition(set, SetConditionType.ready)?.status === 'True').length,
    problems: sets.flatMap(findSetProblem).sort((a, b) => compareUtf8(a.namespace, b.namespace) || compareUtf8(a.name, b.name)),
  };
}

/**
 * Returns the problem of a set, or an empty list if there is none. A stopped rollout or removal takes precedence, because it explains other
 * problems.
 */
function findSetProblem(set: Stored<ManagedTokenSet>): readonly SetProblem[] {
  const { namespace, name } = set.metadata;
  const { clusters = 0, ready = 0, failing = 0 } = set.status ?? {};
  const { progressing, ready: readiness, clusterProfilesPublished } = SetConditionType;
  // If no cluster is failing, a set that is not ready is still in progress.
  const condition = [progressing, readiness, clusterProfilesPublished]
    .map((type) => findCondition(set, type))
    .find((each) => each?.status === 'False' && !EXPECTED_REASONS.has(each.reason) && !(each.reason === 'NotAllReady' && failing === 0));
  return condition === undefined ? [] : [{ ...toProblem(condition), namespace, name, clusters, ready }];
}

/** Reasons with which a condition can be False in a set without problems. */
const EXPECTED_REASONS: ReadonlySet<string> = new Set(['Complete', 'Publishing']);
