// OpenAPI schema of the public form of a Cluster, derived from the custom resource definition.

import { ClusterSchema } from '../../api/cluster-schema.gen.ts';
import { ClusterConditionType, RegistryGroup, Version } from '../../api/names.ts';
import { ClusterReason } from '../../api/reasons.ts';
import { Clusters } from '../../api/resources.ts';
import { OBJECT_META } from '../../kubernetes/schema/go-struct.ts';
import { describe, type OpenApiSchema, object, oneOfTexts, RESOURCE_VERSION, responseForm } from '../openapi-schemas.ts';

const { spec, status } = ClusterSchema.properties;
const { orchestratorApiEndpoints: endpoints } = spec.properties;
const { serverEndpoints } = endpoints.properties;
const { conditions } = status.properties;

const METADATA = {
  name: 'Name of the Cluster.',
  uid: 'UID of the Cluster.',
  resourceVersion: 'Resource version of the Cluster.',
  generation: 'Number of changes of the spec.',
  creationTimestamp: 'Time at which the Cluster was created.',
  deletionTimestamp: 'Time at which deletion was requested.',
  labels: 'Labels of the Cluster.',
  annotations: 'Annotations under public prefixes.',
};
const OPTIONAL_METADATA = ['deletionTimestamp', 'labels', 'annotations'];
/** Reason of a condition that Purser did not write. */
export const UNKNOWN_REASON = 'Unknown';

const metadata = describe(responseForm(OBJECT_META).properties ?? {}, METADATA);

/** Schema of the public form of a Cluster. */
export const CLUSTER_SCHEMA: OpenApiSchema = object(
  'Public fields of a registered cluster; the custom resource has more.',
  {
    apiVersion: oneOfTexts(`${RegistryGroup}/${Version}`, [`${RegistryGroup}/${Version}`]),
    kind: oneOfTexts(Clusters.kind, [Clusters.kind]),
    metadata: object(
      'Public metadata.',
      { ...metadata, resourceVersion: { ...metadata['resourceVersion'], pattern: RESOURCE_VERSION } },
      OPTIONAL_METADATA,
    ),
    spec: object('Addresses of the cluster.', {
      orchestratorApiEndpoints: {
        ...endpoints,
        properties: { ...endpoints.properties, serverEndpoints: { ...serverEndpoints, items: closed(serverEndpoints.items) } },
        additionalProperties: false,
      },
    }),
    status: object(
      'Observed state of the cluster.',
      { type: status.properties.type, version: status.properties.version, conditions: { ...conditions, items: conditionSchema() } },
      ['type', 'version', 'conditions'],
    ),
  },
  ['status'],
);

/** Returns the schema of a condition. Its type, reason and message are always those that Purser uses. */
function conditionSchema(): OpenApiSchema {
  const { properties } = conditions.items;
  return closed({
    ...conditions.items,
    required: [...conditions.items.required, 'reason', 'message'],
    properties: {
      ...properties,
      type: { ...properties.type, enum: Object.values(ClusterConditionType) },
      reason: { ...properties.reason, enum: [...Object.keys(ClusterReason), UNKNOWN_REASON] },
      message: { ...properties.message, description: 'Sentence of the reason.' },
    },
  });
}

function closed(schema: OpenApiSchema): OpenApiSchema {
  return { ...schema, additionalProperties: false };
}
