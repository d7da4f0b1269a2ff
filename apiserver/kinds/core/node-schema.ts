// The shape of Nodes and the columns of their table.

import type { TableColumn } from '../../../src/kubernetes/kind.ts';
import {
  always,
  bool,
  int32,
  list,
  listByKey,
  named,
  objectStruct,
  pointer,
  raw,
  struct,
  text,
  time,
} from '../../../src/kubernetes/schema/go-struct.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';
import { AGE_COLUMN, column, NAME_COLUMN } from '../../../src/kubernetes/table.ts';
import { atomic, kept, RESOURCE_LIST, required } from './container-schema.ts';

const SPEC = struct(
  'v1.NodeSpec',
  {
    podCIDR: text(),
    podCIDRs: list(text(), { 'x-kubernetes-list-type': 'set', 'x-kubernetes-patch-strategy': 'merge' }),
    providerID: text(),
    unschedulable: bool(),
    taints: atomic(
      struct('v1.Taint', { key: required(), value: text(), effect: always(named('v1.TaintEffect'), ''), timeAdded: pointer(time()) }),
    ),
    configSource: kept(),
    externalID: text(),
  },
  { numbers: { podCIDRs: 7, externalID: 2 } },
);

const CONDITION = struct('v1.NodeCondition', {
  type: always(named('v1.NodeConditionType'), ''),
  status: always(named('v1.ConditionStatus'), ''),
  lastHeartbeatTime: time(),
  lastTransitionTime: time(),
  reason: text(),
  message: text(),
});

const NODE_INFO = struct('v1.NodeSystemInfo', {
  machineID: required(),
  systemUUID: required(),
  bootID: required(),
  kernelVersion: required(),
  osImage: required(),
  containerRuntimeVersion: required(),
  kubeletVersion: required(),
  kubeProxyVersion: required(),
  operatingSystem: required(),
  architecture: required(),
  swap: kept(),
});

const STATUS = struct('v1.NodeStatus', {
  capacity: RESOURCE_LIST,
  allocatable: RESOURCE_LIST,
  phase: named('v1.NodePhase'),
  conditions: listByKey(CONDITION, 'type'),
  addresses: listByKey(struct('v1.NodeAddress', { type: always(named('v1.NodeAddressType'), ''), address: required() }), 'type'),
  daemonEndpoints: struct('v1.NodeDaemonEndpoints', { kubeletEndpoint: struct('v1.DaemonEndpoint', { Port: always(int32(), 0) }) }),
  nodeInfo: NODE_INFO,
  images: atomic(raw()),
  volumesInUse: atomic(named('v1.UniqueVolumeName')),
  volumesAttached: atomic(raw()),
  config: kept(),
  runtimeHandlers: atomic(raw()),
  features: kept(),
  declaredFeatures: atomic(text()),
});

export const NODE_SCHEMA: Schema = objectStruct('v1.Node', { spec: SPEC, status: STATUS });

const ADDRESSES =
  "List of addresses reachable to the node. Queried from cloud provider, if available. More info: https://kubernetes.io/docs/reference/node/node-status/#addresses Note: This field is declared as mergeable, but the merge key is not sufficiently unique, which can cause data corruption when it is merged. Callers should instead use a full-replacement patch. See https://pr.k8s.io/79391 for an example. Consumers should assume that addresses can change during the lifetime of a Node. However, there are some exceptions where this may not be possible, such as Pods that inherit a Node's address in its own status or consumers of the downward API (status.hostIP).";

export const NODE_COLUMNS: readonly TableColumn[] = [
  NAME_COLUMN,
  column('Status', 'The status of the node'),
  column('Roles', 'The roles of the node'),
  AGE_COLUMN,
  column('Version', 'Kubelet Version reported by the node.'),
  column('Internal-IP', ADDRESSES, 'wide'),
  column('External-IP', ADDRESSES, 'wide'),
  column('OS-Image', 'OS Image reported by the node from /etc/os-release (e.g. Debian GNU/Linux 7 (wheezy)).', 'wide'),
  column('Kernel-Version', "Kernel Version reported by the node from 'uname -r' (e.g. 3.16.0-0.bpo.4-amd64).", 'wide'),
  column(
    'Container-Runtime',
    'ContainerRuntime Version reported by the node through runtime remote API (e.g. containerd://1.4.2).',
    'wide',
  ),
];
