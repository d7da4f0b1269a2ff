// States of tokens and clusters, derived from their conditions and times.

import { type Cluster, type Condition, findCondition, type Token } from './objects.ts';

/** States of a token, the most urgent first. */
export const TOKEN_STATES = ['expired', 'failing', 'expiring', 'pending', 'suspended', 'ready'] as const;
export type TokenState = (typeof TOKEN_STATES)[number];

/** States of a cluster, in the order in which the page shows them. */
export const CLUSTER_STATES = ['failing', 'warning', 'unknown', 'ready'] as const;
export type ClusterState = (typeof CLUSTER_STATES)[number];

/** Labels of the states of tokens. */
export const TOKEN_WORDS: Readonly<Record<TokenState, string>> = {
  expired: 'Expired',
  failing: 'Failing',
  expiring: 'Expires soon',
  pending: 'Pending',
  suspended: 'Suspended',
  ready: 'Ready',
};

/** Labels of the states of clusters. */
export const CLUSTER_WORDS: Readonly<Record<ClusterState, string>> = {
  failing: 'Not ready',
  warning: 'Warning',
  unknown: 'Unknown',
  ready: 'Ready',
};

/** Time after a scheduled renewal at which the renewal is overdue, in milliseconds. */
const OVERDUE_MS = 60_000;
/** Remaining lifetime at which a token that is not renewed needs attention, in milliseconds. */
const SOON_MS = 86_400_000;
/** Time for Purser to issue a first token, in milliseconds; until then, a ManagedToken without a token is pending. */
const FIRST_TOKEN_MS = 60_000;

/** Returns the state of a token at `now`. */
export function tokenStateOf(token: Token, now: number): TokenState {
  const { ready, rotationFailing, isSuspended } = token;
  if (isExpired(token, now)) return 'expired';
  if (rotationFailing?.status === 'True') return 'failing';
  if (ready?.status === 'True') return validStateOf(token, now);
  if (isSuspended && (ready === undefined || ready.reason === 'Suspended')) return 'suspended';
  return isNew(token, now) ? 'pending' : 'failing';
}

function validStateOf(token: Token, now: number): TokenState {
  const { expiresAt, isSuspended } = token;
  if (expiresAt !== undefined && expiresAt - now < SOON_MS && !willBeRenewed(token, now)) return 'expiring';
  return isSuspended ? 'suspended' : 'ready';
}

/** Returns whether the token in the Secret is valid. */
export function isUsable({ ready, expiresAt }: Token, now: number): boolean {
  return ready?.status === 'True' && (expiresAt === undefined || expiresAt > now);
}

/** Returns the condition that explains the state of a token: RotationFailing if it is True, otherwise Ready; undefined if there is none. */
export function explanationOf({ ready, rotationFailing }: Token): Condition | undefined {
  return rotationFailing?.status === 'True' ? rotationFailing : ready;
}

function isExpired({ ready, expiresAt }: Token, now: number): boolean {
  return (
    ready?.reason === 'Expired' || (expiresAt !== undefined && expiresAt <= now && ready !== undefined && ready.reason !== 'Suspended')
  );
}

/** Returns whether Purser is expected to renew the token: not if rotation is suspended or the renewal is overdue. */
function willBeRenewed({ isSuspended, renewsAt }: Token, now: number): boolean {
  return !isSuspended && (renewsAt === undefined || renewsAt + OVERDUE_MS > now);
}

function isNew({ ready, createdAt }: Token, now: number): boolean {
  if (ready !== undefined && ready.reason !== 'Pending') return false;
  const since = ready?.since ?? createdAt;
  return since === undefined || now - since < FIRST_TOKEN_MS;
}

/** Reason of a condition that needs no attention, because the condition becomes True without action. */
const RESOLVING_REASON = 'CredentialRenewalPending';

/** Returns the state of a cluster by its Ready condition; `warning` if Ready is True, but another condition has a problem. */
export function clusterStateOf(cluster: Cluster): ClusterState {
  const readyCondition = findCondition(cluster, 'Ready');
  if (readyCondition === undefined || readyCondition.status === 'Unknown') return 'unknown';
  if (readyCondition.status === 'False') return 'failing';
  return findProblemCondition(cluster) === undefined ? 'ready' : 'warning';
}

/** Returns the condition that explains why a cluster is not ready or has a warning; undefined if there is none. */
export function findProblemCondition(cluster: Cluster): Condition | undefined {
  const ready = findCondition(cluster, 'Ready');
  const isCause = ({ type, status, reason }: Condition) => type !== 'Ready' && status !== 'True' && reason !== RESOLVING_REASON;
  if (ready !== undefined && ready.status !== 'True')
    return cluster.conditions.find((each) => isCause(each) && each.reason === ready.reason) ?? ready;
  return cluster.conditions.find(isCause);
}

/** Returns the number of objects in each state. */
export function countBy<S extends string>(states: readonly S[], each: Iterable<S>): Readonly<Record<S, number>> {
  const counts = Object.fromEntries(states.map((state) => [state, 0])) as Record<S, number>;
  for (const state of each) counts[state] += 1;
  return counts;
}
