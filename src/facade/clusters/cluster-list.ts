// GET /auth/v1/clusters and /auth/v1/clusters/{name}: public fields of a Cluster, their OpenAPI schema, and table columns.

import { clusterSetOf, NO_CLUSTER_SET, toClusterSetName } from '../../access/cluster-set.ts';
import type { Cluster } from '../../api/cluster.gen.ts';
import { ClusterColumns, ClusterSchema } from '../../api/cluster-schema.gen.ts';
import { ClusterConditionType } from '../../api/names.ts';
import { ClusterReason } from '../../api/reasons.ts';
import { Clusters } from '../../api/resources.ts';
import { clusterConditions } from '../../clusters/policy/conditions.ts';
import type { PrinterColumn } from '../../kubernetes/custom-table.ts';
import { type Fields, isFields } from '../../kubernetes/object.ts';
import { fieldsOf } from '../../kubernetes/untrusted.ts';
import { toSentence } from '../../std/sentence.ts';
import { createFilteredList, type PublicSchema, pickFields } from '../listwatch/filtered-list.ts';
import { describeObject, type OpenApiSchema } from '../openapi-schemas.ts';

/** Columns that the list omits, because their fields are not public. */
const HUB_COLUMNS: ReadonlySet<string> = new Set(['Endpoint', 'Last Probe']);

export const CLUSTER_COLUMNS: readonly PrinterColumn[] = ClusterColumns.filter(({ name }) => !HUB_COLUMNS.has(name));

function clusterSetNameOf(cluster: Cluster): string | undefined {
  const clusterSet = clusterSetOf(cluster);
  return clusterSet === NO_CLUSTER_SET ? undefined : toClusterSetName(clusterSet);
}

/** Public reason of a condition whose stored reason is unknown to this version of Purser. */
const UNKNOWN_REASON = 'Unknown';

/** Returns the public fields of a Cluster. */
function pickPublicFields({ spec, status }: Cluster): Fields {
  const { orchestratorApiEndpoints: endpoints } = fieldsOf(spec);
  return {
    ...(isFields(endpoints) && { spec: { orchestratorApiEndpoints: pickEndpoints(endpoints) } }),
    ...(isFields(status) && { status: { ...pickFields(status, STATUS), ...pickAudiences(status), ...toPublicConditions(status) } }),
  };
}

const ENDPOINTS = ['caBundle'];
const SERVER_ENDPOINT = ['clientCIDR', 'serverAddress'];
const STATUS = ['type', 'version'];
const CONDITION_STATUSES = new Set<unknown>(['True', 'False', 'Unknown']);
const CONDITION_TIMES = ['lastHeartbeatTime', 'lastTransitionTime'];
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;

function pickEndpoints(endpoints: Fields): Fields {
  const { serverEndpoints } = endpoints;
  return {
    ...pickFields(endpoints, ENDPOINTS),
    ...(Array.isArray(serverEndpoints) && {
      serverEndpoints: serverEndpoints.filter(isFields).map((endpoint) => pickFields(endpoint, SERVER_ENDPOINT)),
    }),
  };
}

function pickAudiences({ apiAudiences }: Fields): Fields {
  return Array.isArray(apiAudiences) && apiAudiences.every((audience) => typeof audience === 'string') ? { apiAudiences } : {};
}

function toPublicConditions({ conditions }: Fields): Fields {
  if (!Array.isArray(conditions)) return {};
  return { conditions: conditions.filter(isFields).filter(isKnownCondition).map(toPublicCondition) };
}

/** Returns true if Purser writes conditions of this type, and the status is valid. Other conditions are not published. */
function isKnownCondition({ type, status }: Fields): boolean {
  return typeof type === 'string' && clusterConditions.has(type) && CONDITION_STATUSES.has(status);
}

/** Returns a condition with the public text of its reason. The stored message may contain names of Secrets, namespaces and addresses. */
function toPublicCondition(condition: Fields): Fields {
  const { type, status } = condition;
  const times = Object.entries(pickFields(condition, CONDITION_TIMES)).filter(([, time]) => typeof time === 'string' && TIME.test(time));
  return { type, status, ...toPublicReason(condition['reason']), ...Object.fromEntries(times) };
}

function toPublicReason(reason: unknown): Fields {
  if (typeof reason === 'string' && Object.hasOwn(ClusterReason, reason)) {
    return { reason, message: toSentence(ClusterReason[reason as ClusterReason]) };
  }
  return {
    reason: UNKNOWN_REASON,
    message: 'This version of Purser does not recognize the stored reason. Check the condition of the Cluster on the hub.',
  };
}

/** Size of a public Cluster without labels, audiences and CA, in bytes. */
const BASE_WEIGHT = 2_000;

/** Returns the approximate size of a public Cluster in memory, in bytes. */
function weightOf({ metadata, spec, status }: Cluster): number {
  const audiences = status?.apiAudiences?.reduce((sum, { length }) => sum + length, 0) ?? 0;
  const labels = Object.entries(metadata.labels ?? {}).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  return BASE_WEIGHT + audiences + labels + (spec.orchestratorApiEndpoints?.caBundle?.length ?? 0);
}

const { spec, status } = ClusterSchema.properties;
const { orchestratorApiEndpoints: endpoints } = spec.properties;
const { serverEndpoints } = endpoints.properties;
const { conditions } = status.properties;

/** Schemas of the public fields, derived from the custom resource definition. */
const SCHEMA: PublicSchema = {
  description: 'Public fields of a registered cluster; the custom resource has more fields.',
  properties: {
    spec: describeObject('Addresses and certificate authorities of the cluster.', {
      orchestratorApiEndpoints: {
        ...endpoints,
        properties: { ...endpoints.properties, serverEndpoints: { ...serverEndpoints, items: closeSchema(serverEndpoints.items) } },
        additionalProperties: false,
      },
    }),
    status: describeObject(
      'Observed state of the cluster.',
      {
        type: status.properties.type,
        version: status.properties.version,
        apiAudiences: status.properties.apiAudiences,
        conditions: { ...conditions, items: createConditionSchema() },
      },
      ['type', 'version', 'apiAudiences', 'conditions'],
    ),
  },
  optional: ['status'],
};

/** Returns the schema of a public condition, which has only types, reasons and messages that this version of Purser defines. */
function createConditionSchema(): OpenApiSchema {
  const { properties } = conditions.items;
  return closeSchema({
    ...conditions.items,
    required: [...conditions.items.required, 'reason', 'message'],
    properties: {
      ...properties,
      type: { ...properties.type, enum: Object.values(ClusterConditionType) },
      reason: { ...properties.reason, enum: [...Object.keys(ClusterReason), UNKNOWN_REASON] },
      message: {
        ...properties.message,
        description:
          'Explanation of the reason. The condition of the Cluster on the hub can have a longer message, with the cause and the remedy.',
      },
    },
  });
}

/** Returns a copy of a schema that allows only the listed properties. */
function closeSchema(schema: OpenApiSchema): OpenApiSchema {
  return { ...schema, additionalProperties: false };
}

export const CLUSTER_LIST = createFilteredList({
  resource: Clusters,
  verbs: ['get', 'list'],
  clusterSetNameOf,
  publicFields: pickPublicFields,
  schema: SCHEMA,
  columns: CLUSTER_COLUMNS,
  hasAnnotations: true,
  weightOf,
  exampleName: 'prod-eu',
});
