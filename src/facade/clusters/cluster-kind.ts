// Clusters as a kind of the façade: how they are shown, and by what they are selected.

import { RegistryGroup, Version } from '../../api/names.ts';
import { customTable, type PrinterColumn } from '../../kubernetes/custom-table.ts';
import type { SelectableKind, ShownKind } from '../../kubernetes/kind.ts';

/** The columns of the CRD, without the one that is shown on the hub alone. */
export const CLUSTER_COLUMNS: readonly PrinterColumn[] = [
  {
    name: 'Ready',
    type: 'string',
    description: 'Status of the Ready condition: tokens can be issued for the cluster.',
    jsonPath: '.status.conditions[?(@.type=="Ready")].status',
  },
  { name: 'Version', type: 'string', description: "Version reported by the cluster's API server.", jsonPath: '.status.version' },
  { name: 'Type', type: 'string', description: 'Distribution of the cluster.', jsonPath: '.status.type' },
  {
    name: 'Reachable',
    type: 'string',
    description: "Status of the Reachable condition: the cluster's API server responds.",
    jsonPath: '.status.conditions[?(@.type=="Reachable")].status',
    priority: 1,
  },
  {
    name: 'Authorized',
    type: 'string',
    description: "Status of the Authorized condition: the cluster accepts Purser's credential, which has the required permissions.",
    jsonPath: '.status.conditions[?(@.type=="Authorized")].status',
    priority: 1,
  },
  {
    name: 'Credential Fresh',
    type: 'string',
    description: "Status of the CredentialFresh condition: Purser's credential does not expire soon.",
    jsonPath: '.status.conditions[?(@.type=="CredentialFresh")].status',
    priority: 1,
  },
  {
    name: 'Reason',
    type: 'string',
    description: 'Reason of the Ready condition.',
    jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
    priority: 1,
  },
  {
    name: 'Last Seen',
    type: 'date',
    description: 'Time since the last recorded probe.',
    jsonPath: '.status.conditions[?(@.type=="Ready")].lastHeartbeatTime',
    priority: 1,
  },
  { name: 'Age', type: 'date', description: 'Time since the Cluster was created.', jsonPath: '.metadata.creationTimestamp' },
];

export const CLUSTER_KIND: ShownKind & SelectableKind = {
  group: RegistryGroup,
  version: Version,
  kind: 'Cluster',
  listKind: 'ClusterList',
  builtIn: false,
  schema: { type: 'object' },
  table: customTable(CLUSTER_COLUMNS),
  namespaced: false,
  selectableFields: {},
  fieldLabelErrors: 'named',
};
