// The shape of Pods. All fields of a pod, its containers and its status are known, so that misspelt ones are noticed;
// deeper structures that nothing here reads are kept as they came.

import {
  always,
  bool,
  embedding,
  int32,
  int64,
  LABEL_SELECTOR,
  listByKey,
  map,
  named,
  objectStruct,
  pointer,
  raw,
  struct,
  text,
  time,
} from '../../../src/kubernetes/schema/go-struct.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';
import { atomic, CONTAINER, CONTAINER_STATUS, EPHEMERAL_CONTAINER, kept, RESOURCE_LIST, RESOURCES, required } from './container-schema.ts';
import { LOCAL_OBJECT_REFERENCE } from './object-reference.ts';

const VOLUME_SOURCES = [
  'hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs iscsi glusterfs persistentVolumeClaim rbd flexVolume cinder',
  'cephfs flocker downwardAPI fc azureFile configMap vsphereVolume quobyte azureDisk photonPersistentDisk projected portworxVolume scaleIO',
  'storageos csi ephemeral image',
].flatMap((line) => line.split(' '));

const VOLUME_SOURCE = struct('v1.VolumeSource', Object.fromEntries(VOLUME_SOURCES.map((source) => [source, kept()])), {
  numbers: { projected: 26 },
});

const VOLUME = embedding(struct('v1.Volume', { name: required(), ...VOLUME_SOURCE.properties }), VOLUME_SOURCE);

const TOLERATION = struct('v1.Toleration', {
  key: text(),
  operator: named('v1.TolerationOperator'),
  value: text(),
  effect: named('v1.TaintEffect'),
  tolerationSeconds: pointer(int64()),
});

const TOPOLOGY_SPREAD_CONSTRAINTS: Schema = {
  ...listByKey(
    struct('v1.TopologySpreadConstraint', {
      maxSkew: always(int32(), 0),
      topologyKey: required(),
      whenUnsatisfiable: always(named('v1.UnsatisfiableConstraintAction'), ''),
      labelSelector: pointer(LABEL_SELECTOR),
      minDomains: pointer(int32()),
      nodeAffinityPolicy: pointer(named('v1.NodeInclusionPolicy')),
      nodeTaintsPolicy: pointer(named('v1.NodeInclusionPolicy')),
      matchLabelKeys: atomic(text()),
    }),
    'topologyKey',
  ),
  'x-kubernetes-list-map-keys': ['topologyKey', 'whenUnsatisfiable'],
};

/** A list merged by name whose entries keep only the keys that a strategic merge patch names. */
const retained = (items: Schema): Schema => ({ ...listByKey(items, 'name'), 'x-kubernetes-patch-strategy': 'merge,retainKeys' });

const SPEC = struct(
  'v1.PodSpec',
  {
    volumes: retained(VOLUME),
    initContainers: listByKey(CONTAINER, 'name'),
    containers: always(listByKey(CONTAINER, 'name'), null),
    ephemeralContainers: listByKey(EPHEMERAL_CONTAINER, 'name'),
    restartPolicy: named('v1.RestartPolicy'),
    terminationGracePeriodSeconds: pointer(int64()),
    activeDeadlineSeconds: pointer(int64()),
    dnsPolicy: named('v1.DNSPolicy'),
    nodeSelector: map(text(), { 'x-kubernetes-map-type': 'atomic' }),
    serviceAccountName: text(),
    serviceAccount: text(),
    automountServiceAccountToken: pointer(bool()),
    nodeName: text(),
    hostNetwork: bool(),
    hostPID: bool(),
    hostIPC: bool(),
    shareProcessNamespace: pointer(bool()),
    securityContext: kept(),
    imagePullSecrets: listByKey(LOCAL_OBJECT_REFERENCE, 'name'),
    hostname: text(),
    subdomain: text(),
    affinity: kept(),
    schedulerName: text(),
    tolerations: atomic(TOLERATION),
    hostAliases: listByKey(struct('v1.HostAlias', { ip: required(), hostnames: atomic(text()) }), 'ip'),
    priorityClassName: text(),
    priority: pointer(int32()),
    dnsConfig: kept(),
    readinessGates: atomic(raw()),
    runtimeClassName: pointer(text()),
    enableServiceLinks: pointer(bool()),
    preemptionPolicy: pointer(named('v1.PreemptionPolicy')),
    overhead: RESOURCE_LIST,
    topologySpreadConstraints: TOPOLOGY_SPREAD_CONSTRAINTS,
    setHostnameAsFQDN: pointer(bool()),
    os: kept(),
    hostUsers: pointer(bool()),
    schedulingGates: listByKey(struct('v1.PodSchedulingGate', { name: required() }), 'name'),
    resourceClaims: retained(
      struct(
        'v1.PodResourceClaim',
        { name: required(), resourceClaimName: pointer(text()), resourceClaimTemplateName: pointer(text()) },
        { numbers: { resourceClaimName: 3, resourceClaimTemplateName: 4 } },
      ),
    ),
    resources: pointer(RESOURCES),
    hostnameOverride: pointer(text()),
    schedulingGroup: kept(),
  },
  {
    numbers: {
      initContainers: 20,
      ephemeralContainers: 34,
      automountServiceAccountToken: 21,
      shareProcessNamespace: 27,
      schedulingGroup: 43,
    },
  },
);

const CONDITION = struct(
  'v1.PodCondition',
  {
    type: always(named('v1.PodConditionType'), ''),
    observedGeneration: int64(),
    status: always(named('v1.ConditionStatus'), ''),
    lastProbeTime: time(),
    lastTransitionTime: time(),
    reason: text(),
    message: text(),
  },
  { numbers: { observedGeneration: 7 } },
);

const STATUS = struct(
  'v1.PodStatus',
  {
    observedGeneration: int64(),
    phase: named('v1.PodPhase'),
    conditions: listByKey(CONDITION, 'type'),
    message: text(),
    reason: text(),
    nominatedNodeName: text(),
    hostIP: text(),
    hostIPs: atomic(struct('v1.HostIP', { ip: required() })),
    podIP: text(),
    podIPs: listByKey(struct('v1.PodIP', { ip: required() }), 'ip'),
    startTime: pointer(time()),
    initContainerStatuses: atomic(CONTAINER_STATUS),
    containerStatuses: atomic(CONTAINER_STATUS),
    qosClass: named('v1.PodQOSClass'),
    ephemeralContainerStatuses: atomic(CONTAINER_STATUS),
    resize: named('v1.PodResizeStatus'),
    resourceClaimStatuses: retained(struct('v1.PodResourceClaimStatus', { name: required(), resourceClaimName: pointer(text()) })),
    extendedResourceClaimStatus: kept(),
    allocatedResources: RESOURCE_LIST,
    resources: pointer(RESOURCES),
    nodeAllocatableResourceClaimStatuses: atomic(raw()),
  },
  { numbers: { observedGeneration: 17, nominatedNodeName: 11, hostIPs: 16, podIPs: 12, initContainerStatuses: 10 } },
);

export const POD_SCHEMA: Schema = objectStruct('v1.Pod', { spec: SPEC, status: STATUS });
