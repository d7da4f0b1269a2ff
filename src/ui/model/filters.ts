// Filters of tokens and clusters: words of a query, all of which must match.

import { compareTexts } from './attention.ts';
import type { Cluster, Token } from './objects.ts';
import { type ClusterState, clusterStateOf, explanationOf, type TokenState, tokenStateOf } from './states.ts';

/** Fields that a word can name, such as `cluster:prod`. */
const FIELDS = {
  namespace: ({ namespace }: Token) => namespace,
  cluster: ({ cluster }: Token) => cluster,
  account: ({ account }: Token) => account,
  secret: ({ secret }: Token) => secret,
  reason: (token: Token) => explanationOf(token)?.reason ?? '',
} as const;

/** Orders of tokens. */
export const ORDERS = ['name', 'expiry', 'renewal'] as const;
export type Order = (typeof ORDERS)[number];

interface Word {
  readonly field: keyof typeof FIELDS | undefined;
  readonly text: string;
}

function parseWords(query: string): readonly Word[] {
  return query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word) => {
      const colon = word.indexOf(':');
      const field = word.slice(0, Math.max(0, colon));
      if (Object.hasOwn(FIELDS, field)) return { field: field as keyof typeof FIELDS, text: word.slice(colon + 1) };
      return { field: undefined, text: word };
    });
}

/** A selection of tokens; if `state` is undefined, it includes all states. */
export interface Selection {
  readonly query: string;
  readonly state: TokenState | undefined;
  readonly order: Order;
  readonly now: number;
}

/**
 * Returns the tokens that match a selection, in its order. `previous` is an earlier result; it makes the sort much faster, because most
 * tokens keep their place.
 */
export function selectTokens(
  tokens: ReadonlyMap<string, Token>,
  { query, state, order, now }: Selection,
  previous: readonly Token[] = [],
): readonly Token[] {
  const words = parseWords(query);
  const found: Token[] = [];
  const add = (token: Token) => {
    if (words.every((word) => matchesToken(token, word)) && (state === undefined || tokenStateOf(token, now) === state)) found.push(token);
  };
  let known = 0;
  for (const { key } of previous) {
    const token = tokens.get(key);
    if (token === undefined) continue;
    known += 1;
    add(token);
  }
  if (known < tokens.size) {
    const keys = new Set(previous.map(({ key }) => key));
    for (const [key, token] of tokens) if (!keys.has(key)) add(token);
  }
  return found.sort(COMPARISONS[order]);
}

function matchesToken(token: Token, { field, text }: Word): boolean {
  if (field !== undefined) return FIELDS[field](token).toLowerCase().includes(text);
  return token.key.toLowerCase().includes(text) || Object.values(FIELDS).some((valueOf) => valueOf(token).toLowerCase().includes(text));
}

function byName(a: Token, b: Token): number {
  return compareTexts(a.namespace, b.namespace) || compareTexts(a.name, b.name);
}

const COMPARISONS: Readonly<Record<Order, (a: Token, b: Token) => number>> = {
  name: byName,
  expiry: (a, b) => (a.expiresAt ?? Infinity) - (b.expiresAt ?? Infinity) || byName(a, b),
  renewal: (a, b) => (a.renewsAt ?? Infinity) - (b.renewsAt ?? Infinity) || byName(a, b),
};

/** Returns the clusters that match a query and a state, sorted by name. If `state` is undefined, all states match. */
export function selectClusters(clusters: Iterable<Cluster>, query: string, state: ClusterState | undefined): readonly Cluster[] {
  const words = parseWords(query);
  return [...clusters]
    .filter((cluster) => words.every((word) => matchesCluster(cluster, word)) && (state === undefined || clusterStateOf(cluster) === state))
    .sort((a, b) => compareTexts(a.key, b.key));
}

function matchesCluster(cluster: Cluster, { field, text }: Word): boolean {
  const reasons = cluster.conditions.map(({ reason }) => reason);
  const values = { cluster: [cluster.key], reason: reasons, namespace: [], account: [], secret: [] };
  const searched = field === undefined ? [cluster.key, cluster.version, cluster.type, ...cluster.labels, ...reasons] : values[field];
  return searched.some((value) => value.toLowerCase().includes(text));
}
