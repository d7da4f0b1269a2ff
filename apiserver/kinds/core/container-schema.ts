// The shape of the containers of a Pod.

import {
  always,
  bool,
  embedding,
  int32,
  list,
  listByKey,
  map,
  named,
  pointer,
  quantity,
  raw,
  struct,
  text,
} from '../../../src/kubernetes/schema/go-struct.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';

/** A list that server-side apply takes as a whole. */
export const atomic = (items: Schema): Schema => list(items, { 'x-kubernetes-list-type': 'atomic' });

/** Something that is kept as it came. */
export const kept = (): Schema => pointer(raw());

/** A text that is written even when it is empty. */
export const required = (): Schema => always(text(), '');

/** v1.ResourceList: amounts by the name of a resource. */
export const RESOURCE_LIST: Schema = { ...map(quantity()), go: { type: 'v1.ResourceList' } };

export const RESOURCES: Schema = struct('v1.ResourceRequirements', {
  limits: RESOURCE_LIST,
  requests: RESOURCE_LIST,
  claims: listByKey(struct('v1.ResourceClaim', { name: required(), request: text() }), 'name'),
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

const VOLUME_MOUNT = struct(
  'v1.VolumeMount',
  {
    name: required(),
    readOnly: bool(),
    recursiveReadOnly: pointer(named('v1.RecursiveReadOnlyMode')),
    mountPath: required(),
    subPath: text(),
    mountPropagation: pointer(named('v1.MountPropagationMode')),
    subPathExpr: text(),
  },
  { numbers: { recursiveReadOnly: 7 } },
);

const CONTAINER_FIELDS = {
  name: required(),
  image: text(),
  command: atomic(text()),
  args: atomic(text()),
  workingDir: text(),
  ports: PORTS,
  envFrom: atomic(raw()),
  env: listByKey(struct('v1.EnvVar', { name: required(), value: text(), valueFrom: kept() }), 'name'),
  resources: RESOURCES,
  resizePolicy: atomic(raw()),
  restartPolicy: pointer(named('v1.ContainerRestartPolicy')),
  restartPolicyRules: atomic(raw()),
  volumeMounts: listByKey(VOLUME_MOUNT, 'mountPath'),
  volumeDevices: listByKey(struct('v1.VolumeDevice', { name: required(), devicePath: required() }), 'devicePath'),
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
};

const CONTAINER_NUMBERS = {
  envFrom: 19,
  resizePolicy: 23,
  restartPolicy: 24,
  restartPolicyRules: 25,
  volumeDevices: 21,
  startupProbe: 22,
  terminationMessagePolicy: 20,
};

export const CONTAINER: Schema = struct('v1.Container', CONTAINER_FIELDS, { numbers: CONTAINER_NUMBERS });

export const EPHEMERAL_CONTAINER: Schema = embedding(
  struct('v1.EphemeralContainer', { ...CONTAINER_FIELDS, targetContainerName: text() }),
  struct('v1.EphemeralContainerCommon', CONTAINER_FIELDS, { numbers: CONTAINER_NUMBERS }),
);

const CONTAINER_STATE = struct('v1.ContainerState', { waiting: kept(), running: kept(), terminated: kept() });

const VOLUME_MOUNT_STATUS = struct('v1.VolumeMountStatus', {
  name: required(),
  mountPath: required(),
  readOnly: bool(),
  recursiveReadOnly: pointer(named('v1.RecursiveReadOnlyMode')),
  volumeStatus: kept(),
});

export const CONTAINER_STATUS: Schema = struct('v1.ContainerStatus', {
  name: required(),
  state: CONTAINER_STATE,
  lastState: CONTAINER_STATE,
  ready: always(bool(), false),
  restartCount: always(int32(), 0),
  image: required(),
  imageID: required(),
  containerID: text(),
  started: pointer(bool()),
  allocatedResources: RESOURCE_LIST,
  resources: pointer(RESOURCES),
  volumeMounts: listByKey(VOLUME_MOUNT_STATUS, 'mountPath'),
  user: kept(),
  allocatedResourcesStatus: listByKey(
    struct('v1.ResourceStatus', { name: always(named('v1.ResourceName'), ''), resources: atomic(raw()) }),
    'name',
  ),
  stopSignal: pointer(named('v1.Signal')),
});
