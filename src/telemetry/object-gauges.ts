// Gauges of every ManagedToken and Cluster, as the informers know them. The same on every replica, but that one
// with the façade alone knows no ManagedTokens: rules take `max by`.

import type { Cluster, ClusterCondition } from '../api/cluster.gen.ts';
import type { ManagedToken } from '../api/managed-token.gen.ts';
import { ClusterConditionType, TokenConditionType } from '../api/names.ts';
import { instantOf } from '../std/instant.ts';
import { UNREGISTERED } from './cluster-counter.ts';
import { type Family, type Labels, sample } from './exposition.ts';

/** Objects that are known. None of them is ever changed in place. */
export interface Objects<T> {
  list(): readonly T[];
}

/** Expiry, renewal and readiness of each token. The label `cluster` names registered Clusters only. */
export function tokenGauges(tokens: Objects<ManagedToken>, isRegistered: (cluster: string) => boolean): readonly Family[] {
  const clusterOf = ({ spec }: ManagedToken) => (isRegistered(spec.clusterName) ? spec.clusterName : UNREGISTERED);
  return gauges(tokens, TOKEN_GAUGES, clusterOf);
}

/** The conditions of each cluster, and when it was last heard of. */
export function clusterGauges(clusters: Objects<Cluster>): readonly Family[] {
  return gauges(clusters, CLUSTER_GAUGES, ({ metadata }) => metadata.name ?? '');
}

interface Gauge<T> {
  readonly name: string;
  readonly help: string;
  /** The samples of an object; `cluster` is the value of the label of that name. */
  readonly samplesOf: (object: T, cluster: string) => readonly (readonly [Labels, number])[];
}

const TOKEN_GAUGES: readonly Gauge<ManagedToken>[] = [
  {
    name: 'purser_token_expiration_timestamp_seconds',
    help: 'When the token of a ManagedToken expires.',
    samplesOf: (token, cluster) => instant(tokenLabels(token, cluster), token.status?.expirationTimestamp),
  },
  {
    name: 'purser_token_renewal_timestamp_seconds',
    help: 'When the token of a ManagedToken is to be renewed.',
    samplesOf: (token, cluster) => instant(tokenLabels(token, cluster), token.status?.nextRotationTime),
  },
  {
    name: 'purser_token_ready',
    help: 'Whether a ManagedToken has a valid token: 1 or 0.',
    samplesOf: (token, cluster) => [[tokenLabels(token, cluster), isReady(token) ? 1 : 0]],
  },
];

const CLUSTER_GAUGES: readonly Gauge<Cluster>[] = [
  {
    name: 'purser_cluster_condition',
    help: 'The conditions of a Cluster: 1 for the status that each has, 0 for the others.',
    // A Cluster that nobody has looked at must not go unnoticed because it has no series; one that is only to be listed must.
    samplesOf: ({ spec, status }, cluster) =>
      CLUSTER_TYPES.flatMap((type) => {
        if (spec.authInfo?.controller === undefined) return [];
        const present = status?.conditions?.find((condition) => condition.type === type)?.status ?? 'Unknown';
        return STATUSES.map((each) => [{ cluster, type, status: each }, each === present ? 1 : 0] as const);
      }),
  },
  {
    name: 'purser_cluster_heartbeat_timestamp_seconds',
    help: 'When the conditions of a Cluster were last written: when they change, and every five minutes.',
    samplesOf: ({ status }, cluster) => instant({ cluster }, status?.conditions?.find(isOurs)?.lastHeartbeatTime),
  },
];

const STATUSES = ['True', 'False', 'Unknown'] as const;
const CLUSTER_TYPES: readonly string[] = Object.values(ClusterConditionType);

/** An object that stays as it is costs a look into a map: its lines are made once. */
function gauges<T extends object>(objects: Objects<T>, all: readonly Gauge<T>[], clusterOf: (object: T) => string): readonly Family[] {
  const made = new WeakMap<T, { readonly cluster: string; readonly lines: readonly string[] }>();
  const linesOf = (object: T): readonly string[] => {
    const known = made.get(object);
    const cluster = clusterOf(object);
    if (known?.cluster === cluster) return known.lines;
    const lines = all.map(({ name, samplesOf }) =>
      samplesOf(object, cluster)
        .map(([labels, value]) => sample(name, labels, value))
        .join(''),
    );
    made.set(object, { cluster, lines });
    return lines;
  };
  return all.map(({ name, help }, index) => ({
    name,
    help,
    type: 'gauge',
    *samples() {
      for (const object of objects.list()) yield linesOf(object)[index] ?? '';
    },
  }));
}

function tokenLabels({ metadata }: ManagedToken, cluster: string): Labels {
  return { namespace: metadata.namespace ?? '', name: metadata.name ?? '', cluster };
}

function isReady({ status }: ManagedToken): boolean {
  return status?.conditions?.some(({ type, status: holds }) => type === TokenConditionType.ready && holds === 'True') === true;
}

function isOurs({ type }: ClusterCondition): boolean {
  return CLUSTER_TYPES.includes(type);
}

function instant(labels: Labels, text: string | undefined): readonly (readonly [Labels, number])[] {
  const at = instantOf(text);
  return at === undefined ? [] : [[labels, at / 1_000]];
}
