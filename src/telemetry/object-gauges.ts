// Gauges of every ManagedToken, ManagedTokenSet and Cluster, from the informers. All replicas export the same values, except that a replica
// that runs only the façade exports none for ManagedTokens and ManagedTokenSets. Alert rules combine the replicas with `max by`.

import type { Cluster, ClusterCondition } from '../api/cluster.gen.ts';
import type { ManagedToken } from '../api/managed-token.gen.ts';
import type { ManagedTokenSet } from '../api/managed-token-set.gen.ts';
import { ClusterConditionType, SetConditionType, TokenConditionType } from '../api/names.ts';
import { ProfileReason, SetReason } from '../api/reasons.ts';
import type { ApiObject, Stored } from '../api/resources.ts';
import { parseTimestamp } from '../std/timestamp.ts';
import { type Family, formatSample, type Labels, UNREGISTERED_CLUSTER } from './exposition.ts';

/** A store of immutable objects. */
export interface ObjectLister<T extends ApiObject> {
  list(): readonly Stored<T>[];
}

/** Returns gauges of expiry, renewal and readiness of each token. The label `target_cluster` names only registered Clusters. */
export function createTokenGauges(tokens: ObjectLister<ManagedToken>, isRegistered: (cluster: string) => boolean): readonly Family[] {
  const clusterOf = ({ spec }: Stored<ManagedToken>) => (isRegistered(spec.clusterName) ? spec.clusterName : UNREGISTERED_CLUSTER);
  return createGauges(tokens, TOKEN_GAUGES, clusterOf);
}

/** Returns gauges of conditions and heartbeat of each Cluster. */
export function createClusterGauges(clusters: ObjectLister<Cluster>): readonly Family[] {
  return createGauges(clusters, CLUSTER_GAUGES, ({ metadata }) => metadata.name);
}

/** Returns gauges of progress, clusters and ClusterProfiles of each ManagedTokenSet. */
export function createSetGauges(sets: ObjectLister<ManagedTokenSet>): readonly Family[] {
  return createGauges(sets, SET_GAUGES, () => '');
}

interface Gauge<T extends ApiObject> {
  readonly name: string;
  readonly help: string;
  /** Returns the samples of an object; `cluster` is the value of the label `target_cluster`. */
  readonly toSamples: (object: Stored<T>, cluster: string) => readonly (readonly [Labels, number])[];
}

const TOKEN_GAUGES: readonly Gauge<ManagedToken>[] = [
  {
    name: 'purser_token_expiration_timestamp_seconds',
    help: "Expiry of a ManagedToken's token.",
    toSamples: (token, cluster) => toTimeSample(toTokenLabels(token, cluster), token.status?.expirationTimestamp),
  },
  {
    name: 'purser_token_renewal_timestamp_seconds',
    help: "Time of the next renewal of a ManagedToken's token.",
    toSamples: (token, cluster) => toTimeSample(toTokenLabels(token, cluster), token.status?.nextRotationTime),
  },
  {
    name: 'purser_token_ready',
    help: '1 if the Ready condition of a ManagedToken is True, otherwise 0.',
    toSamples: (token, cluster) => [[toTokenLabels(token, cluster), isReady(token) ? 1 : 0]],
  },
];

const CLUSTER_GAUGES: readonly Gauge<Cluster>[] = [
  {
    name: 'purser_cluster_condition',
    help: 'Conditions of a Cluster: 1 for the current status of each condition, 0 for the other statuses.',
    // A missing condition is exported as Unknown, for alerts. A Cluster without spec.authInfo.controller has no series.
    toSamples: ({ spec, status }, cluster) =>
      CLUSTER_TYPES.flatMap((type) => {
        if (spec.authInfo?.controller === undefined) return [];
        const current = status?.conditions?.find((condition) => condition.type === type)?.status ?? 'Unknown';
        return STATUSES.map((candidate) => [{ target_cluster: cluster, type, status: candidate }, candidate === current ? 1 : 0] as const);
      }),
  },
  {
    name: 'purser_cluster_heartbeat_timestamp_seconds',
    help: 'Time at which the conditions of a Cluster were last written.',
    toSamples: ({ status }, cluster) => toTimeSample({ target_cluster: cluster }, status?.conditions?.find(isOurs)?.lastHeartbeatTime),
  },
];

const SET_GAUGES: readonly Gauge<ManagedTokenSet>[] = [
  {
    name: 'purser_managedtokensets',
    help: '1 for each ManagedTokenSet, by reason of its Progressing condition (Unknown before the first reconcile).',
    toSamples: (set) => [[{ ...toSetLabels(set), reason: reasonOf(set, SetConditionType.progressing, PROGRESS_REASONS) }, 1]],
  },
  {
    name: 'purser_managedtokenset_clusters',
    help: 'Number of clusters of a ManagedTokenSet by state: selected, ready, updated or failing. A cluster can be in several states.',
    toSamples: (set) => {
      const { clusters = 0, ready = 0, updated = 0, failing = 0 } = set.status ?? {};
      return Object.entries({ selected: clusters, ready, updated, failing }).map(([state, count]) => [
        { ...toSetLabels(set), state },
        count,
      ]);
    },
  },
  {
    name: 'purser_managedtokenset_profiles',
    help: '1 for each ManagedTokenSet with spec.clusterProfiles, by reason of its ClusterProfilesPublished condition (Unknown before the first reconcile).',
    toSamples: (set) => {
      const reason = reasonOf(set, SetConditionType.clusterProfilesPublished, PROFILE_REASONS);
      return set.spec.clusterProfiles ? [[{ ...toSetLabels(set), reason }, 1]] : [];
    },
  },
];

const PROGRESS_REASONS: ReadonlySet<string> = new Set([...Object.keys(SetReason), 'InvalidSpec']);
const PROFILE_REASONS: ReadonlySet<string> = new Set(Object.keys(ProfileReason));

/** Returns the reason of a condition; `Unknown` if the reason is missing or not in `known`. */
function reasonOf({ status }: ManagedTokenSet, type: string, known: ReadonlySet<string>): string {
  const reason = status?.conditions?.find((condition) => condition.type === type)?.reason;
  return reason !== undefined && known.has(reason) ? reason : 'Unknown';
}

function toSetLabels({ metadata }: Stored<ManagedTokenSet>): Labels {
  return { namespace: metadata.namespace, name: metadata.name };
}

const STATUSES = ['True', 'False', 'Unknown'] as const;
const CLUSTER_TYPES: readonly string[] = Object.values(ClusterConditionType);

/** Creates gauges. Each scrape formats all lines again: a cache of the lines would take 0.9 kB for each ManagedToken. */
function createGauges<T extends ApiObject>(
  objects: ObjectLister<T>,
  declared: readonly Gauge<T>[],
  clusterOf: (object: Stored<T>) => string,
): readonly Family[] {
  return declared.map(({ name, help, toSamples }) => ({
    name,
    help,
    type: 'gauge',
    *samples() {
      for (const object of objects.list())
        for (const [labels, value] of toSamples(object, clusterOf(object))) yield formatSample(name, labels, value);
    },
  }));
}

function toTokenLabels({ metadata }: Stored<ManagedToken>, cluster: string): Labels {
  return { namespace: metadata.namespace, name: metadata.name, target_cluster: cluster };
}

function isReady({ status }: ManagedToken): boolean {
  return status?.conditions?.some(({ type, status: holds }) => type === TokenConditionType.ready && holds === 'True') === true;
}

function isOurs({ type }: ClusterCondition): boolean {
  return CLUSTER_TYPES.includes(type);
}

function toTimeSample(labels: Labels, text: string | undefined): readonly (readonly [Labels, number])[] {
  const at = parseTimestamp(text);
  return at === undefined ? [] : [[labels, at / 1_000]];
}
