// What Kubernetes fills in for a new Pod.

import type { KubeObject } from '../../../src/kubernetes/object.ts';

type Amounts = Readonly<Record<string, unknown>>;

export interface Container {
  readonly name?: string;
  readonly image?: string;
  readonly imagePullPolicy?: string;
  readonly terminationMessagePath?: string;
  readonly terminationMessagePolicy?: string;
  readonly ports?: readonly { readonly protocol?: string }[];
  readonly resources?: { readonly limits?: Amounts; readonly requests?: Amounts };
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

export interface PodSpec {
  readonly containers?: readonly Container[] | null;
  readonly initContainers?: readonly Container[];
  readonly restartPolicy?: string;
  readonly dnsPolicy?: string;
  readonly serviceAccountName?: string;
  readonly serviceAccount?: string;
  readonly nodeName?: string;
  readonly schedulerName?: string;
  readonly hostNetwork?: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly activeDeadlineSeconds?: number;
  readonly securityContext?: object;
  readonly enableServiceLinks?: boolean;
  readonly tolerations?: readonly Toleration[];
  readonly priority?: number;
  readonly preemptionPolicy?: string;
  readonly readinessGates?: readonly { readonly conditionType?: string }[];
}

interface PodStatus {
  readonly phase?: string;
  readonly reason?: string;
  readonly qosClass?: string;
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip?: string }[];
  readonly nominatedNodeName?: string;
  readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
  readonly containerStatuses?: readonly { readonly ready?: boolean; readonly restartCount?: number; readonly state?: object }[];
}

export interface Pod extends KubeObject {
  readonly spec?: PodSpec;
  readonly status?: PodStatus;
}

/** Defaults of the Pod's own fields, which count as written by the client. */
export function defaultedPod(pod: Pod): KubeObject {
  const spec = pod.spec ?? {};
  const account = spec.serviceAccountName || spec.serviceAccount || '';
  return {
    ...pod,
    spec: {
      ...spec,
      ...(spec.containers && { containers: spec.containers.map(defaultedContainer) }),
      ...(spec.initContainers && { initContainers: spec.initContainers.map(defaultedContainer) }),
      ...(account !== '' && { serviceAccountName: account, serviceAccount: account }),
      ...absent(spec, {
        restartPolicy: 'Always',
        terminationGracePeriodSeconds: 30,
        dnsPolicy: 'ClusterFirst',
        securityContext: {},
        schedulerName: 'default-scheduler',
        enableServiceLinks: true,
      }),
    },
  };
}

/** What is added to a Pod as it is admitted: nobody owns these fields. */
export function admittedPod(pod: Pod): KubeObject {
  const spec = pod.spec ?? {};
  return {
    ...pod,
    metadata: { ...pod.metadata, generation: 1 },
    spec: {
      ...withTolerations(spec),
      ...absent(spec, { priority: 0, preemptionPolicy: 'PreemptLowerPriority' }),
    },
    status: { phase: 'Pending', qosClass: qosClass(spec) },
  };
}

/** The spec with the tolerations that every Pod gets, whenever it is written. */
export function withTolerations(spec: PodSpec): PodSpec {
  return { ...spec, tolerations: [...(spec.tolerations ?? []), ...missingTolerations(spec)] };
}

function defaultedContainer(container: Container): Container {
  const { ports, resources } = container;
  return {
    ...container,
    ...(ports && { ports: ports.map((port) => ({ ...port, protocol: port.protocol || 'TCP' })) }),
    ...(resources?.limits && { resources: { ...resources, requests: { ...resources.limits, ...resources.requests } } }),
    ...absent(container, {
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
      imagePullPolicy: pullsAlways(container.image ?? '') ? 'Always' : 'IfNotPresent',
    }),
  };
}

/** Whether an image names no version, or the latest one. An image that cannot be parsed does neither. */
function pullsAlways(image: string): boolean {
  if (image.includes('@') || !/^[a-z0-9]/.test(image)) return false;
  const tag = image.slice(image.lastIndexOf('/') + 1).split(':')[1];
  return tag === undefined ? image === image.toLowerCase() : tag === 'latest';
}

/** Unless it says otherwise, a Pod stays for five minutes on a node that is in trouble. */
function missingTolerations({ tolerations = [] }: PodSpec): readonly Toleration[] {
  const isTolerated = (key: string) =>
    tolerations.some((each) => (each.key === key || !each.key) && (each.effect === 'NoExecute' || !each.effect));
  return ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
    .filter((key) => !isTolerated(key))
    .map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }));
}

function qosClass({ containers, initContainers = [] }: PodSpec): string {
  const all = [...(containers ?? []), ...initContainers].map(({ resources = {} }) => resources);
  const counted = ['cpu', 'memory'];
  const isSet = (amounts: Amounts | undefined) => counted.some((name) => amounts?.[name] !== undefined);
  if (!all.some(({ limits, requests }) => isSet(limits) || isSet(requests))) return 'BestEffort';
  const isGuaranteed = all.every(({ limits, requests }) =>
    counted.every((name) => limits?.[name] !== undefined && limits[name] === requests?.[name]),
  );
  return isGuaranteed ? 'Guaranteed' : 'Burstable';
}

/** The defaults for fields that are absent or empty. */
function absent(fields: object, defaults: Readonly<Record<string, unknown>>): object {
  const given = new Map(Object.entries(fields));
  return Object.fromEntries(Object.entries(defaults).filter(([name]) => given.get(name) === undefined || given.get(name) === ''));
}
