// Status of a fleet: counts of Clusters, ManagedTokens and ManagedTokenSets, and their problems.

import type { Cluster } from '../../api/cluster.gen.ts';
import type { ManagedToken } from '../../api/managed-token.gen.ts';
import type { ManagedTokenSet } from '../../api/managed-token-set.gen.ts';
import { ClusterConditionType, TokenConditionType } from '../../api/names.ts';
import { ReadyReason } from '../../api/reasons.ts';
import type { Stored } from '../../api/resources.ts';
import { type Condition, findCondition } from '../../kubernetes/conditions.ts';
import { omitUndefined } from '../../std/omit-undefined.ts';
import { toSentence } from '../../std/sentence.ts';
import { parseTimestamp } from '../../std/timestamp.ts';
import { isClusterFailure } from '../../tokens/policy/messages.ts';
import { CHECK_PURSER } from '../command.ts';
import { type Problem, type ProblemSummary, toProblem } from './problem.ts';
import { type SetProblem, toSetsStatus } from './sets.ts';

export interface ClusterProblem extends Problem {
  readonly name: string;
  /** Number of ManagedTokens that fail because of the cluster. */
  readonly failingTokens: number;
  /** Earliest expiry of the tokens that are still valid but cannot be renewed because of the cluster; absent if there is none. */
  readonly firstExpiry?: number;
}

export interface TokenProblem extends Problem {
  readonly namespace: string;
  readonly name: string;
  readonly cluster: string;
  /** True if the Secret holds a valid token for the spec. */
  readonly usable: boolean;
  readonly expiresAt?: number;
  /** True if the cause is a failing cluster in the same report. */
  readonly isCausedByCluster: boolean;
}

export interface FleetStatus {
  /** Undefined if the user is not authorized to list Clusters. */
  readonly clusters: ProblemSummary<ClusterProblem> | undefined;
  readonly managedTokens: ProblemSummary<TokenProblem> & {
    readonly suspended: number;
    /** Time of the earliest scheduled rotation; absent if none is scheduled. */
    readonly nextRotation?: number;
  };
  /** Undefined if the user is not authorized to list ManagedTokenSets. */
  readonly managedTokenSets: ProblemSummary<SetProblem> | undefined;
  /** Time of Purser's last probe of any cluster if it is so old that Purser is probably not running; otherwise absent. */
  readonly silentSince?: number;
}

/** Objects of the fleet; undefined for a kind that the user is not authorized to list. */
export interface Fleet {
  readonly tokens: readonly Stored<ManagedToken>[];
  readonly clusters: readonly Stored<Cluster>[] | undefined;
  readonly sets: readonly Stored<ManagedTokenSet>[] | undefined;
}

/**
 * Returns the state of a fleet. The most urgent problems of Clusters and of ManagedTokens come first; those of sets are sorted by namespace
 * and name.
 */
export function toFleetStatus({ tokens, clusters, sets }: Fleet, now: number): FleetStatus {
  const failing = new Map((clusters ?? []).flatMap((cluster) => toFailingEntry(cluster)));
  const problems = tokens.flatMap((token) => toTokenProblem(token, failing, now) ?? []).sort(compareUrgency);
  const rotations = tokens.flatMap(({ status }) => parseTimestamp(status?.nextRotationTime) ?? []);
  return omitUndefined({
    clusters: clusters && {
      total: clusters.length,
      ready: clusters.filter((cluster) => findCondition(cluster, ClusterConditionType.ready)?.status === 'True').length,
      problems: toClusterProblems(failing, problems),
    },
    managedTokens: omitUndefined({
      total: tokens.length,
      ready: tokens.filter((token) => findCondition(token, TokenConditionType.ready)?.status === 'True').length,
      suspended: tokens.filter(({ spec }) => spec.rotation.suspend).length,
      problems,
      nextRotation: findMinimum(rotations),
    }),
    managedTokenSets: sets && toSetsStatus(sets),
    silentSince: findSilenceStart(clusters ?? [], now),
  });
}

/**
 * Time since the latest reported probe after which Purser is considered stopped, in milliseconds. Whatever the size of the fleet, Purser
 * reports a probe of some cluster about every five minutes or more often.
 */
const SILENT_MS = 720_000;
/** Time for Purser to issue a token, in milliseconds. A ManagedToken that has been Pending for less time is not reported as a problem. */
const MAX_PENDING_MS = 60_000;

function toFailingEntry(cluster: Stored<Cluster>): readonly (readonly [string, Problem])[] {
  const { ready, credentialFresh } = ClusterConditionType;
  const condition = [ready, credentialFresh]
    .map((type) => findCondition(cluster, type))
    .find((each) => each !== undefined && each.status !== 'True' && each.reason !== 'CredentialRenewalPending');
  const problem = condition ? toProblem(condition) : undefined;
  if (problem !== undefined) return [[cluster.metadata.name, problem]];
  return findCondition(cluster, ready) === undefined ? [[cluster.metadata.name, NOT_PROBED]] : [];
}

const NOT_PROBED: Problem = { reason: 'NotProbed', message: toSentence(`Purser has not probed the cluster yet. ${CHECK_PURSER}`) };

function toClusterProblems(failing: ReadonlyMap<string, Problem>, tokens: readonly TokenProblem[]): readonly ClusterProblem[] {
  const caused = Map.groupBy(
    tokens.filter((token) => token.isCausedByCluster),
    ({ cluster }) => cluster,
  );
  return [...failing]
    .map(([name, problem]) => {
      const affected = caused.get(name) ?? [];
      const expiries = affected.flatMap(({ usable, expiresAt }) => (usable && expiresAt !== undefined ? [expiresAt] : []));
      return omitUndefined({ ...problem, name, failingTokens: affected.length, firstExpiry: findMinimum(expiries) });
    })
    .sort((a, b) => b.failingTokens - a.failingTokens || (a.since ?? 0) - (b.since ?? 0) || compare(a.name, b.name));
}

function toTokenProblem(token: Stored<ManagedToken>, failing: ReadonlyMap<string, Problem>, now: number): TokenProblem | undefined {
  const found = findProblem(token, now);
  if (found === undefined) return undefined;
  const { namespace, name } = token.metadata;
  const cluster = token.spec.clusterName;
  const expiresAt = parseTimestamp(token.status?.expirationTimestamp);
  const usable = findCondition(token, TokenConditionType.ready)?.status === 'True' && (expiresAt ?? 0) > now;
  return omitUndefined({
    ...found,
    namespace,
    name,
    cluster,
    usable,
    expiresAt,
    isCausedByCluster: failing.has(cluster) && isClusterFailure(found.reason),
  });
}

function findProblem(token: Stored<ManagedToken>, now: number): Problem | undefined {
  const ready = findCondition(token, TokenConditionType.ready);
  const rotation = findCondition(token, TokenConditionType.rotationFailing);
  const expiresAt = parseTimestamp(token.status?.expirationTimestamp);
  if (rotation?.status === 'True') return toProblem(rotation);
  if (ready?.status === 'True') return expiresAt !== undefined && expiresAt <= now ? toUnreportedExpiry(expiresAt) : undefined;
  if (ready?.reason === 'Suspended' || isRecentlyPending(token, ready, now)) return undefined;
  return ready === undefined ? { reason: 'Pending', message: toSentence(`${ReadyReason.Pending}. ${CHECK_PURSER}`) } : toProblem(ready);
}

/** Returns whether a ManagedToken without a Ready condition, or with the reason Pending, has waited for less than MAX_PENDING_MS. */
function isRecentlyPending({ metadata }: Stored<ManagedToken>, ready: Condition | undefined, now: number): boolean {
  const since = parseTimestamp(ready?.lastTransitionTime ?? metadata.creationTimestamp) ?? 0;
  return (ready === undefined || ready.reason === 'Pending') && now - since < MAX_PENDING_MS;
}

function toUnreportedExpiry(since: number): Problem {
  return { reason: 'Expired', message: toSentence(`${ReadyReason.Expired}. ${CHECK_PURSER}`), since };
}

/** Orders unusable tokens first, by the time of the problem; then usable tokens, by expiry. */
function compareUrgency(a: TokenProblem, b: TokenProblem): number {
  if (a.usable !== b.usable) return a.usable ? 1 : -1;
  const [left, right] = a.usable ? [a.expiresAt, b.expiresAt] : [a.since, b.since];
  return (left ?? 0) - (right ?? 0) || compare(a.namespace, b.namespace) || compare(a.name, b.name);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function findSilenceStart(clusters: readonly Cluster[], now: number): number | undefined {
  const probes = clusters.flatMap(({ status }) => parseTimestamp(status?.lastProbeTime) ?? []);
  const last = probes.length === 0 ? undefined : probes.reduce((a, b) => Math.max(a, b));
  return last !== undefined && now - last > SILENT_MS ? last : undefined;
}

function findMinimum(times: readonly number[]): number | undefined {
  return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b));
}
