// What callers of the cluster list may read of a Cluster: what is named here, and nothing else.

import type { Cluster } from '../../api/cluster.gen.ts';
import { ClusterConditionType, RegistryGroup, Version } from '../../api/names.ts';
import { ClusterReason } from '../../api/reasons.ts';
import { type Fields, fieldsOf, isFields } from '../../kubernetes/untrusted.ts';
import { sentence } from '../../std/sentence.ts';

/** A Cluster without everything that is not public. Annotations are public only under one of the prefixes. */
export function publicCluster(cluster: Cluster, annotationPrefixes: readonly string[] = []): PublicCluster {
  const { metadata, spec, status } = cluster;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) =>
    annotationPrefixes.some((prefix) => key.startsWith(prefix)),
  );
  const { orchestratorApiEndpoints: endpoints } = fieldsOf(spec);
  return {
    apiVersion: `${RegistryGroup}/${Version}`,
    kind: 'Cluster',
    metadata: {
      ...picked(metadata, METADATA),
      ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations) }),
    },
    ...(isFields(endpoints) && { spec: { orchestratorApiEndpoints: publicEndpoints(endpoints) } }),
    ...(isFields(status) && { status: { ...picked(status, STATUS), ...conditionsOf(status) } }),
  };
}

/** A Cluster as it is shown. */
export interface PublicCluster {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Cluster['metadata'];
  readonly [field: string]: unknown;
}

const METADATA = ['name', 'uid', 'resourceVersion', 'generation', 'creationTimestamp', 'deletionTimestamp', 'labels'];
const ENDPOINTS = ['caBundle'];
const SERVER_ENDPOINT = ['clientCIDR', 'serverAddress'];
const STATUS = ['type', 'version'];
const CONDITION_TYPES = new Set<unknown>(Object.values(ClusterConditionType));
const CONDITION_STATUSES = new Set<unknown>(['True', 'False', 'Unknown']);
const CONDITION_TIMES = ['lastHeartbeatTime', 'lastTransitionTime'];
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;

function publicEndpoints(endpoints: Fields): Fields {
  const { serverEndpoints } = endpoints;
  return {
    ...picked(endpoints, ENDPOINTS),
    ...(Array.isArray(serverEndpoints) && { serverEndpoints: each(serverEndpoints, SERVER_ENDPOINT) }),
  };
}

function conditionsOf({ conditions }: Fields): Fields {
  if (!Array.isArray(conditions)) return {};
  return { conditions: conditions.filter(isFields).filter(isKnownCondition).map(publicCondition) };
}

/** Whether Purser writes conditions of this type; any other is not published. */
function isKnownCondition({ type, status }: Fields): boolean {
  return CONDITION_TYPES.has(type) && CONDITION_STATUSES.has(status);
}

/** A condition whose texts come from the closed set of reasons. The stored message names Secrets, namespaces and addresses. */
function publicCondition(condition: Fields): Fields {
  const { type, status } = condition;
  const times = Object.entries(picked(condition, CONDITION_TIMES)).filter(([, time]) => typeof time === 'string' && TIME.test(time));
  return { type, status, ...publicReason(condition['reason']), ...Object.fromEntries(times) };
}

function publicReason(reason: unknown): Fields {
  if (typeof reason === 'string' && Object.hasOwn(ClusterReason, reason)) {
    return { reason, message: sentence(ClusterReason[reason as ClusterReason]) };
  }
  return { reason: 'Unknown', message: 'Purser did not write this condition.' };
}

function each(items: readonly unknown[], names: readonly string[]): readonly Fields[] {
  return items.filter(isFields).map((item) => picked(item, names));
}

function picked(fields: object, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name, value]) => names.includes(name) && value !== undefined));
}
