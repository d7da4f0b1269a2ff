// What callers of the cluster list may read of a Cluster: what is named here, and nothing else.

import type { Cluster } from '../api/cluster.gen.ts';
import { RegistryGroup, Version } from '../api/names.ts';
import { type Fields, fieldsOf, isFields } from './untrusted.ts';

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
const CONDITION = ['type', 'status', 'reason', 'message', 'lastHeartbeatTime', 'lastTransitionTime'];

function publicEndpoints(endpoints: Fields): Fields {
  const { serverEndpoints } = endpoints;
  return {
    ...picked(endpoints, ENDPOINTS),
    ...(Array.isArray(serverEndpoints) && { serverEndpoints: each(serverEndpoints, SERVER_ENDPOINT) }),
  };
}

function conditionsOf({ conditions }: Fields): Fields {
  return Array.isArray(conditions) ? { conditions: each(conditions, CONDITION) } : {};
}

function each(items: readonly unknown[], names: readonly string[]): readonly Fields[] {
  return items.filter(isFields).map((item) => picked(item, names));
}

function picked(fields: object, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name, value]) => names.includes(name) && value !== undefined));
}
