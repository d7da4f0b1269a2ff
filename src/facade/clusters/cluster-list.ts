// The cluster list: names, table columns, and the allow-list of public fields of a Cluster.

import { SeeClusters } from '../../access/rbac-index.ts';
import type { Cluster } from '../../api/cluster.gen.ts';
import { RegistryGroup, Version } from '../../api/names.ts';
import { ClusterReason } from '../../api/reasons.ts';
import { Clusters } from '../../api/resources.ts';
import { clusterConditions } from '../../clusters/policy/conditions.ts';
import { customTable, type PrinterColumn } from '../../kubernetes/custom-table.ts';
import { type Fields, fieldsOf, isFields } from '../../kubernetes/untrusted.ts';
import { sentence } from '../../std/sentence.ts';
import type { Followed, Listing, PublicObject } from '../listwatch/filtered-list.ts';
import { createListWatch, type ListWatch, type ListWatchOptions } from '../listwatch/list-watch.ts';
import { RbacAccess, type RbacAccessOptions } from '../listwatch/rbac-access.ts';
import { CLUSTER_SCHEMA, UNKNOWN_REASON } from './cluster-schema.ts';

/** Columns of the CRD, without those of fields that only the hub shows. */
export const CLUSTER_COLUMNS: readonly PrinterColumn[] = [
  ...conditionColumns().slice(0, 1),
  {
    name: 'Reason',
    type: 'string',
    description: 'Reason of the Ready condition.',
    jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
  },
  { name: 'Version', type: 'string', description: "Version reported by the cluster's API server.", jsonPath: '.status.version' },
  { name: 'Type', type: 'string', description: 'Distribution of the cluster.', jsonPath: '.status.type' },
  ...conditionColumns().slice(1),
  {
    name: 'Heartbeat',
    type: 'date',
    description: 'Time since Purser last wrote the status, which it does every few minutes while nothing changes.',
    jsonPath: '.status.conditions[?(@.type=="Ready")].lastHeartbeatTime',
    priority: 1,
  },
  { name: 'Age', type: 'date', description: 'Time since the Cluster was created.', jsonPath: '.metadata.creationTimestamp' },
];

/** Returns the column of each condition; kubectl shows all but the first only with `-o wide`. */
function conditionColumns(): readonly PrinterColumn[] {
  return [...clusterConditions].map(([type, { meaning }], index) => ({
    name: type.replace(/(?<=[a-z])(?=[A-Z])/, ' '),
    type: 'string',
    description: `Status of the ${type} condition: ${meaning}.`,
    jsonPath: `.status.conditions[?(@.type=="${type}")].status`,
    ...(index > 0 && { priority: 1 }),
  }));
}

/** Public description of the cluster list. */
export const CLUSTER_LISTING: Listing = {
  plural: Clusters.plural,
  kind: {
    group: RegistryGroup,
    version: Version,
    kind: Clusters.kind,
    listKind: 'ClusterList',
    builtIn: false,
    schema: { type: 'object' },
    table: customTable(CLUSTER_COLUMNS),
    namespaced: false,
    selectableFields: {},
    fieldLabelErrors: 'named',
  },
  schema: CLUSTER_SCHEMA,
};

export interface ClusterListOptions extends RbacAccessOptions, Pick<ListWatchOptions<Cluster>, 'historyCapacity' | 'watchLimits'> {
  readonly clusters: Followed<Cluster>;
  /** Prefixes of annotations that are public; none by default. */
  readonly annotationPrefixes?: readonly string[];
}

/** Creates the endpoints of the cluster list. */
export function createClusterList({ clusters, annotationPrefixes, ...options }: ClusterListOptions): ListWatch {
  const access = new RbacAccess(options, SeeClusters);
  const toPublic = (cluster: Cluster) => publicCluster(cluster, annotationPrefixes);
  return createListWatch({ ...options, list: { ...CLUSTER_LISTING, access, toPublic, weightOf: clusterWeight }, objects: clusters });
}

/** Returns the public fields of a Cluster, with annotations under one of the prefixes. */
export function publicCluster(cluster: Cluster, annotationPrefixes: readonly string[] = []): PublicObject {
  const { metadata, spec, status } = cluster;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) =>
    annotationPrefixes.some((prefix) => key.startsWith(prefix)),
  );
  const { orchestratorApiEndpoints: endpoints } = fieldsOf(spec);
  return {
    apiVersion: `${RegistryGroup}/${Version}`,
    kind: Clusters.kind,
    metadata: {
      ...pickFields(metadata, METADATA),
      ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations) }),
    },
    ...(isFields(endpoints) && { spec: { orchestratorApiEndpoints: publicEndpoints(endpoints) } }),
    ...(isFields(status) && { status: { ...pickFields(status, STATUS), ...conditionsOf(status) } }),
  };
}

const METADATA = ['name', 'uid', 'resourceVersion', 'generation', 'creationTimestamp', 'deletionTimestamp', 'labels'];
const ENDPOINTS = ['caBundle'];
const SERVER_ENDPOINT = ['clientCIDR', 'serverAddress'];
const STATUS = ['type', 'version'];
const CONDITION_STATUSES = new Set<unknown>(['True', 'False', 'Unknown']);
const CONDITION_TIMES = ['lastHeartbeatTime', 'lastTransitionTime'];
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;

function publicEndpoints(endpoints: Fields): Fields {
  const { serverEndpoints } = endpoints;
  return {
    ...pickFields(endpoints, ENDPOINTS),
    ...(Array.isArray(serverEndpoints) && {
      serverEndpoints: serverEndpoints.filter(isFields).map((endpoint) => pickFields(endpoint, SERVER_ENDPOINT)),
    }),
  };
}

function conditionsOf({ conditions }: Fields): Fields {
  if (!Array.isArray(conditions)) return {};
  return { conditions: conditions.filter(isFields).filter(isKnownCondition).map(publicCondition) };
}

/** Returns true if Purser writes conditions of this type. Other conditions are not published. */
function isKnownCondition({ type, status }: Fields): boolean {
  return typeof type === 'string' && clusterConditions.has(type) && CONDITION_STATUSES.has(status);
}

/** Returns a condition with the public text of its reason. The stored message contains names of Secrets, namespaces and addresses. */
function publicCondition(condition: Fields): Fields {
  const { type, status } = condition;
  const times = Object.entries(pickFields(condition, CONDITION_TIMES)).filter(([, time]) => typeof time === 'string' && TIME.test(time));
  return { type, status, ...publicReason(condition['reason']), ...Object.fromEntries(times) };
}

function publicReason(reason: unknown): Fields {
  if (typeof reason === 'string' && Object.hasOwn(ClusterReason, reason)) {
    return { reason, message: sentence(ClusterReason[reason as ClusterReason]) };
  }
  return { reason: UNKNOWN_REASON, message: 'Purser did not write this condition.' };
}

function pickFields(fields: object, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name, value]) => names.includes(name) && value !== undefined));
}

/** Size of a Cluster with few labels and without a CA, in bytes. */
const BASE_WEIGHT = 2_000;

/** Returns the approximate size of a public Cluster in memory, in bytes. */
export function clusterWeight({ metadata, spec }: Cluster): number {
  const labels = Object.entries(metadata.labels ?? {}).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  return BASE_WEIGHT + labels + (spec.orchestratorApiEndpoints?.caBundle?.length ?? 0);
}
