// The lists at /auth/v1/managedtokens and /auth/v1/namespaces/{namespace}/managedtokens: public fields of a ManagedToken, their OpenAPI
// schema, and table columns.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { ManagedTokenColumns, ManagedTokenSchema } from '../../api/managed-token-schema.gen.ts';
import { ManagedTokens } from '../../api/resources.ts';
import { recordedBytes } from '../../kube/namespace-bytes.ts';
import { fieldsOf, textOf } from '../../kubernetes/untrusted.ts';
import { createFilteredList } from '../listwatch/filtered-list.ts';
import { pickBySchema, restrictSchema } from '../listwatch/public-schema.ts';

/**
 * Paths of the public fields. Callers have permission to read the ManagedToken on the hub, so its spec and its condition messages are not
 * secret. The list omits status fields that callers do not need, such as digests and anchors.
 */
export const PUBLIC_FIELDS = [
  'spec.clusterName',
  'spec.serviceAccount.namespace',
  'spec.serviceAccount.name',
  'spec.audiences',
  'spec.expirationSeconds',
  'spec.boundObjectRef.apiVersion',
  'spec.boundObjectRef.kind',
  'spec.boundObjectRef.name',
  'spec.boundObjectRef.uid',
  'spec.requesterServiceAccountName',
  'spec.rotation.renewBefore',
  'spec.rotation.suspend',
  'spec.secret.name',
  'spec.secret.labels',
  'spec.secret.annotations',
  'spec.secret.outputs',
  'spec.secret.server',
  'spec.secret.keys.key',
  'spec.secret.keys.from',
  'spec.secret.argocd.project',
  'spec.secret.argocd.namespaces',
  'spec.secret.argocd.clusterResources',
  'spec.secret.argocd.shard',
  'spec.secret.argocd.labelsFromCluster',
  'spec.revocation',
  'status.observedGeneration',
  'status.conditions.type',
  'status.conditions.status',
  'status.conditions.observedGeneration',
  'status.conditions.lastTransitionTime',
  'status.conditions.reason',
  'status.conditions.message',
  'status.secretName',
  'status.serviceAccountUID',
  'status.issuedAt',
  'status.expirationTimestamp',
  'status.nextRotationTime',
  'status.credentialID',
  'status.rotations',
] as const;

const { apiVersion: _, kind: __, metadata: ___, ...described } = ManagedTokenSchema.properties;
const { properties: schemas = {} } = restrictSchema({ type: 'object', properties: described }, PUBLIC_FIELDS);

/** Approximate memory that a listed ManagedToken takes in addition to the length of its JSON, in bytes. */
const BASE_WEIGHT = 1_000;

export const MANAGED_TOKEN_LIST = createFilteredList<ManagedToken>({
  resource: ManagedTokens,
  verbs: ['get', 'list'],
  publicFields: ({ spec, status }) => fieldsOf(pickBySchema({ spec, status }, { type: 'object', properties: schemas })),
  schema: {
    description: 'Public fields of a ManagedToken; the custom resource has more fields.',
    properties: schemas,
    optional: ['status'],
  },
  columns: ManagedTokenColumns,
  selectableFields: { 'spec.clusterName': ({ spec }) => textOf(fieldsOf(spec)['clusterName']) },
  weightOf: (token) => BASE_WEIGHT + recordedBytes(token),
  exampleName: 'ci-deployer',
});
