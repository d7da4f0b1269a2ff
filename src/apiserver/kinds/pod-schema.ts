// The shape of Pods. All fields of a pod, its containers and its status are known, so that misspelt ones are noticed;
// deeper structures that nothing here reads are kept as they came.

import type { Schema } from '../schema/schema.ts';
import {
  always,
  bool,
  int32,
  int64,
  list,
  listByKey,
  map,
  named,
  objectStruct,
  pointer,
  quantity,
  raw,
  struct,
  text,
  time,
} from './go-struct.ts';
import { LOCAL_OBJECT_REFERENCE } from './object-reference.ts';

const atomic = (items: Schema): Schema => list(items, { 'x-kubernetes-list-type': 'atomic' });

/** A list merged by key whose entries are otherwise kept as they came. */
const keptByKey = (goType: string, key: string, patchStrategy = 'merge'): Schema => ({
  ...listByKey(struct(goType, { [key]: always(text(), '') }, { 'x-kubernetes-preserve-unknown-fields': true }), key),
  'x-kubernetes-patch-strategy': patchStrategy,
});

const kept = (): Schema => pointer(raw());

/** v1.ResourceList: amounts by the name of a resource. */
export const RESOURCE_LIST: Schema = { ...map(quantity()), go: { type: 'v1.ResourceList' } };

const RESOURCES = struct('v1.ResourceRequirements', {
  limits: RESOURCE_LIST,
  requests: RESOURCE_LIST,
  claims: keptByKey('v1.ResourceClaim', 'name'),
});

const PORTS: Schema = {
  ...listByKey(
    struct('v1.ContainerPort', {
      name: text(),
      hostPort: int32(),
      containerPort: always(int32(), 0),
      protocol: named('v1.Protocol', { default: 'TCP' }),
      hostIP: text(),
    }),
    'containerPort',
  ),
  'x-kubernetes-list-map-keys': ['containerPort', 'protocol'],
};

const CONTAINER = struct('v1.Container', {
  name: always(text(), ''),
  image: text(),
  command: atomic(text()),
  args: atomic(text()),
  workingDir: text(),
  ports: PORTS,
  envFrom: atomic(raw()),
  env: listByKey(struct('v1.EnvVar', { name: always(text(), ''), value: text(), valueFrom: kept() }), 'name'),
  resources: RESOURCES,
  resizePolicy: atomic(raw()),
  restartPolicy: pointer(named('v1.ContainerRestartPolicy')),
  restartPolicyRules: atomic(raw()),
  volumeMounts: keptByKey('v1.VolumeMount', 'mountPath'),
  volumeDevices: keptByKey('v1.VolumeDevice', 'devicePath'),
  livenessProbe: kept(),
  readinessProbe: kept(),
  startupProbe: kept(),
  lifecycle: kept(),
  terminationMessagePath: text(),
  terminationMessagePolicy: named('v1.TerminationMessagePolicy'),
  imagePullPolicy: named('v1.PullPolicy'),
  securityContext: kept(),
  stdin: bool(),
  stdinOnce: bool(),
  tty: bool(),
});

const TOLERATION = struct('v1.Toleration', {
  key: text(),
  operator: named('v1.TolerationOperator'),
  value: text(),
  effect: named('v1.TaintEffect'),
  tolerationSeconds: pointer(int64()),
});

const SPEC = struct('v1.PodSpec', {
  volumes: keptByKey('v1.Volume', 'name', 'merge,retainKeys'),
  initContainers: listByKey(CONTAINER, 'name'),
  containers: always(listByKey(CONTAINER, 'name'), null),
  ephemeralContainers: keptByKey('v1.EphemeralContainer', 'name'),
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
  hostAliases: keptByKey('v1.HostAlias', 'ip'),
  priorityClassName: text(),
  priority: pointer(int32()),
  dnsConfig: kept(),
  readinessGates: atomic(raw()),
  runtimeClassName: pointer(text()),
  enableServiceLinks: pointer(bool()),
  preemptionPolicy: pointer(named('v1.PreemptionPolicy')),
  overhead: RESOURCE_LIST,
  topologySpreadConstraints: keptByKey('v1.TopologySpreadConstraint', 'topologyKey'),
  setHostnameAsFQDN: pointer(bool()),
  os: kept(),
  hostUsers: pointer(bool()),
  schedulingGates: keptByKey('v1.PodSchedulingGate', 'name'),
  resourceClaims: keptByKey('v1.PodResourceClaim', 'name', 'merge,retainKeys'),
  resources: pointer(RESOURCES),
  hostnameOverride: pointer(text()),
  schedulingGroup: kept(),
});

const CONDITION = struct('v1.PodCondition', {
  type: always(named('v1.PodConditionType'), ''),
  observedGeneration: int64(),
  status: always(named('v1.ConditionStatus'), ''),
  lastProbeTime: time(),
  lastTransitionTime: time(),
  reason: text(),
  message: text(),
});

const CONTAINER_STATE = struct('v1.ContainerState', { waiting: kept(), running: kept(), terminated: kept() });

const CONTAINER_STATUS = struct('v1.ContainerStatus', {
  name: always(text(), ''),
  state: CONTAINER_STATE,
  lastState: CONTAINER_STATE,
  ready: always(bool(), false),
  restartCount: always(int32(), 0),
  image: always(text(), ''),
  imageID: always(text(), ''),
  containerID: text(),
  started: pointer(bool()),
  allocatedResources: RESOURCE_LIST,
  resources: pointer(RESOURCES),
  volumeMounts: keptByKey('v1.VolumeMountStatus', 'mountPath'),
  user: kept(),
  allocatedResourcesStatus: keptByKey('v1.ResourceStatus', 'name'),
  stopSignal: pointer(named('v1.Signal')),
});

const STATUS = struct('v1.PodStatus', {
  observedGeneration: int64(),
  phase: named('v1.PodPhase'),
  conditions: listByKey(CONDITION, 'type'),
  message: text(),
  reason: text(),
  nominatedNodeName: text(),
  hostIP: text(),
  hostIPs: atomic(struct('v1.HostIP', { ip: always(text(), '') })),
  podIP: text(),
  podIPs: listByKey(struct('v1.PodIP', { ip: always(text(), '') }), 'ip'),
  startTime: pointer(time()),
  initContainerStatuses: atomic(CONTAINER_STATUS),
  containerStatuses: atomic(CONTAINER_STATUS),
  qosClass: named('v1.PodQOSClass'),
  ephemeralContainerStatuses: atomic(CONTAINER_STATUS),
  resize: named('v1.PodResizeStatus'),
  resourceClaimStatuses: keptByKey('v1.PodResourceClaimStatus', 'name', 'merge,retainKeys'),
  extendedResourceClaimStatus: kept(),
  allocatedResources: RESOURCE_LIST,
  resources: pointer(RESOURCES),
  nodeAllocatableResourceClaimStatuses: atomic(raw()),
});

export const POD_SCHEMA: Schema = objectStruct('v1.Pod', { spec: SPEC, status: STATUS });
