// Clusters as a kind of the façade: how they are shown, and by what they are selected.

import { RegistryGroup, Version } from '../../api/names.ts';
import { customTable, type PrinterColumn } from '../../kubernetes/custom-table.ts';
import type { SelectableKind, ShownKind } from '../../kubernetes/kind.ts';

/** The columns of the CRD, without the one that is shown on the hub alone. */
export const CLUSTER_COLUMNS: readonly PrinterColumn[] = [
  {
    name: 'Ready',
    type: 'string',
    description: 'Whether tokens can be issued for the cluster now.',
    jsonPath: '.status.conditions[?(@.type=="Ready")].status',
  },
  { name: 'Version', type: 'string', description: "The version that the cluster's API server reports.", jsonPath: '.status.version' },
  { name: 'Type', type: 'string', description: 'The distribution of the cluster.', jsonPath: '.status.type' },
  {
    name: 'Reachable',
    type: 'string',
    description: "Whether the cluster's API server answers.",
    jsonPath: '.status.conditions[?(@.type=="Reachable")].status',
    priority: 1,
  },
  {
    name: 'Authorized',
    type: 'string',
    description: "Whether Purser's credential has the rights that it needs.",
    jsonPath: '.status.conditions[?(@.type=="Authorized")].status',
    priority: 1,
  },
  {
    name: 'Credential Fresh',
    type: 'string',
    description: "Whether Purser's credential is far from its end.",
    jsonPath: '.status.conditions[?(@.type=="CredentialFresh")].status',
    priority: 1,
  },
  {
    name: 'Reason',
    type: 'string',
    description: 'Why the cluster is, or is not, ready.',
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
  { name: 'Age', type: 'date', description: 'Time since the cluster was registered.', jsonPath: '.metadata.creationTimestamp' },
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
