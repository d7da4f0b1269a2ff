// Objects that need attention, the most urgent first: clusters that are not ready or have a warning, with the number of tokens that fail
// because of them, then all other tokens that need attention.

import { chainLinkOf } from './chain.ts';
import type { Cluster, Token } from './objects.ts';
import {
  type ClusterState,
  clusterStateOf,
  explanationOf,
  findProblemCondition,
  isUsable,
  type TokenState,
  tokenStateOf,
} from './states.ts';

export interface ClusterAttention {
  readonly kind: 'cluster';
  readonly key: string;
  readonly state: ClusterState;
  readonly reason: string;
  readonly message: string;
  readonly since: number | undefined;
  /** Number of tokens that fail because of the cluster. */
  readonly failingTokens: number;
  /** Earliest expiry of the tokens that are still valid but cannot be renewed because of the cluster; undefined if there is none. */
  readonly firstExpiry: number | undefined;
}

export interface TokenAttention {
  readonly kind: 'token';
  readonly key: string;
  readonly state: TokenState;
  readonly cluster: string;
  readonly reason: string;
  readonly message: string;
  readonly since: number | undefined;
  readonly expiresAt: number | undefined;
  /** True if the Secret holds a valid token. */
  readonly isUsable: boolean;
}

export type Attention = ClusterAttention | TokenAttention;

/** States of tokens that need attention. */
const URGENT_STATES: ReadonlySet<TokenState> = new Set<TokenState>(['expired', 'failing', 'expiring']);

/** Returns the objects that need attention. Tokens that fail because of a listed cluster are not listed, only counted for the cluster. */
export function findAttention(clusters: Iterable<Cluster>, tokens: Iterable<Token>, now: number): readonly Attention[] {
  const failing = new Map(
    [...clusters].flatMap((cluster) => (clusterStateOf(cluster) === 'ready' ? [] : [[cluster.key, cluster] as const])),
  );
  const caused = new Map<string, TokenAttention[]>();
  const others: TokenAttention[] = [];
  for (const token of tokens) {
    const attention = toTokenAttention(token, now);
    if (attention === undefined) continue;
    const isCaused = failing.has(token.cluster) && chainLinkOf(attention.reason) === 'cluster';
    if (!isCaused) others.push(attention);
    else append(caused, token.cluster, attention);
  }
  const affected = [...failing.values()].map((cluster) => toClusterAttention(cluster, caused.get(cluster.key) ?? []));
  return [...affected.sort(byEffect), ...others.sort(byUrgency)];
}

function append(lists: Map<string, TokenAttention[]>, key: string, attention: TokenAttention): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [attention]);
  else list.push(attention);
}

function toTokenAttention(token: Token, now: number): TokenAttention | undefined {
  const state = tokenStateOf(token, now);
  if (!URGENT_STATES.has(state)) return undefined;
  const { key, cluster, expiresAt } = token;
  return { kind: 'token', key, state, cluster, ...toCause(token, state, now), expiresAt, isUsable: isUsable(token, now) };
}

type Cause = Pick<TokenAttention, 'reason' | 'message' | 'since'>;

/** Returns the cause and remedy for a token in an urgent state. */
export function toCause(token: Token, state: TokenState, now: number): Cause {
  const condition = explanationOf(token);
  const { expiresAt } = token;
  if (state === 'expiring') return toLateCause(token);
  if (condition === undefined || (condition.type === 'Ready' && condition.status === 'True')) return toUnreportedCause(token, state);
  const isOver = state === 'expired' && expiresAt !== undefined && expiresAt <= now;
  return { reason: condition.reason, message: condition.message, since: isOver ? expiresAt : condition.since };
}

/** Returns the cause and remedy for a token in an urgent state that no condition explains. */
function toUnreportedCause(token: Token, state: TokenState): Cause {
  const { isSuspended, expiresAt, createdAt } = token;
  if (state !== 'expired') return { reason: 'Pending', message: `No token has been issued yet. ${CHECK_PURSER}`, since: createdAt };
  if (isSuspended) return toLateCause(token);
  return { reason: 'Expired', message: `The token expired before it was renewed. ${CHECK_PURSER}`, since: expiresAt };
}

const CHECK_PURSER = 'Check that the pods of Purser on the hub are running.';

/** Returns the cause and remedy for a token that Purser does not renew in time. */
function toLateCause({ isSuspended, namespace, name, renewsAt, ready }: Token): Cause {
  if (!isSuspended) return { reason: 'RenewalOverdue', message: `The renewal is overdue. ${CHECK_PURSER}`, since: renewsAt };
  return {
    reason: 'Suspended',
    message: `Rotation is suspended. Resume rotation with purser resume mt/${name} -n ${namespace}.`,
    since: ready?.since,
  };
}

function toClusterAttention(cluster: Cluster, affected: readonly TokenAttention[]): ClusterAttention {
  const problem = findProblemCondition(cluster);
  const expiries = affected.flatMap((token) => (token.isUsable && token.expiresAt !== undefined ? [token.expiresAt] : []));
  return {
    kind: 'cluster',
    key: cluster.key,
    state: clusterStateOf(cluster),
    reason: problem?.reason ?? 'NotProbed',
    message: problem?.message ?? `Purser has not probed the cluster yet. ${CHECK_PURSER}`,
    since: problem?.since,
    failingTokens: affected.length,
    firstExpiry: expiries.length === 0 ? undefined : expiries.reduce((a, b) => Math.min(a, b)),
  };
}

const CLUSTER_RANK: Readonly<Record<ClusterState, number>> = { failing: 0, unknown: 1, warning: 2, ready: 3 };

function byEffect(a: ClusterAttention, b: ClusterAttention): number {
  return b.failingTokens - a.failingTokens || CLUSTER_RANK[a.state] - CLUSTER_RANK[b.state] || compareTexts(a.key, b.key);
}

const TOKEN_RANK: Readonly<Partial<Record<TokenState, number>>> = { expired: 0, failing: 1, expiring: 2 };

/** Orders unusable tokens first, by state and the time of the problem; then usable tokens, by state and expiry. */
function byUrgency(a: TokenAttention, b: TokenAttention): number {
  if (a.isUsable !== b.isUsable) return a.isUsable ? 1 : -1;
  const [left, right] = a.isUsable ? [a.expiresAt, b.expiresAt] : [a.since, b.since];
  return (TOKEN_RANK[a.state] ?? 3) - (TOKEN_RANK[b.state] ?? 3) || (left ?? 0) - (right ?? 0) || compareTexts(a.key, b.key);
}

/** Compares strings by code unit; for names, this is the order of the API. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
