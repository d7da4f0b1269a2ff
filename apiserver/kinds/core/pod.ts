// Pods, which nobody runs here: objects that tokens can be bound to.

import { duplicateValue, type FieldError, invalidValue, requiredValue, unsupportedValue } from '../../../src/kubernetes/field-error.ts';
import { dns1123LabelProblems } from '../../../src/kubernetes/names.ts';
import type { KubeObject } from '../../../src/kubernetes/object.ts';
import { sameValue } from '../../same-value.ts';
import { builtInKind } from '../built-in-kind.ts';
import type { Kind } from '../kind.ts';
import { subdomainName } from '../name-rules.ts';
import { validateCoreMetadata, validateCoreMetadataUpdate } from './core-metadata.ts';
import { admittedPod, type Container, defaultedPod, type Pod, type PodSpec, withTolerations } from './pod-defaults.ts';
import { POD_SCHEMA } from './pod-schema.ts';
import { POD_TABLE } from './pod-table.ts';
import { podChangeErrors } from './pod-update.ts';

function validate(object: KubeObject): readonly FieldError[] {
  const { spec = {} }: Pod = object;
  return [...validateCoreMetadata(object, { namespaced: true, nameProblems: subdomainName }), ...specErrors(spec)];
}

function specErrors(spec: PodSpec): readonly FieldError[] {
  const { containers, initContainers = [], restartPolicy = '', dnsPolicy = '', serviceAccountName = '', nodeName = '' } = spec;
  const badName = (field: string, name: string) =>
    name === '' ? [] : subdomainName(name, false).map((problem) => invalidValue(`spec.${field}`, name, problem));
  return [
    ...(containers?.length ? containerErrors(containers, 'spec.containers') : [requiredValue('spec.containers')]),
    ...containerErrors(initContainers, 'spec.initContainers'),
    ...oneOf('spec.restartPolicy', restartPolicy, ['Always', 'OnFailure', 'Never']),
    ...oneOf('spec.dnsPolicy', dnsPolicy, ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']),
    ...badName('serviceAccountName', serviceAccountName),
    ...badName('nodeName', nodeName),
  ];
}

function containerErrors(containers: readonly Container[], field: string): readonly FieldError[] {
  return containers.flatMap(({ name = '', image = '' }, index) => {
    const place = `${field}[${index}]`;
    const isRepeated = containers.slice(0, index).some((earlier) => earlier.name === name);
    return [
      ...(name === ''
        ? [requiredValue(`${place}.name`)]
        : dns1123LabelProblems(name).map((problem) => invalidValue(`${place}.name`, name, problem))),
      ...(isRepeated ? [duplicateValue(`${place}.name`, name)] : []),
      ...(image === '' ? [requiredValue(`${place}.image`)] : []),
      ...(image === image.trim() ? [] : [invalidValue(`${place}.image`, image, 'must not have leading or trailing whitespace')]),
    ];
  });
}

function oneOf(field: string, value: string, supported: readonly string[]): readonly FieldError[] {
  return supported.includes(value) ? [] : [unsupportedValue(field, value, supported)];
}

function withNextGeneration(next: Pod, old: Pod): KubeObject {
  if (sameValue(next.spec, old.spec)) return next;
  return { ...next, metadata: { ...next.metadata, generation: (old.metadata.generation ?? 0) + 1 } };
}

function statusPrepared(next: Pod, old: Pod): KubeObject {
  const { ownerReferences: _, ...metadata } = next.metadata;
  const { ownerReferences } = old.metadata;
  const qosClass = next.status?.qosClass || old.status?.qosClass;
  return {
    ...next,
    metadata: { ...metadata, ...(ownerReferences && { ownerReferences }) },
    spec: old.spec ?? {},
    status: { ...next.status, ...(qosClass !== undefined && { qosClass }) },
  };
}

/** Only a Pod that runs somewhere has something to end. */
function gracePeriodSeconds({ spec, status }: Pod, asked?: number): number {
  const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  if (!spec?.nodeName || isOver) return 0;
  const seconds = asked ?? spec.terminationGracePeriodSeconds ?? 0;
  return seconds < 0 ? 1 : seconds;
}

const self = { group: '', version: 'v1', kind: 'Pod' };

const STATUS_RESETS = [['spec'], ['metadata', 'deletionTimestamp'], ['metadata', 'ownerReferences']];

export const podKind: Kind = builtInKind({
  kind: 'Pod',
  namespaced: true,
  shortNames: ['po'],
  categories: ['all'],
  schema: POD_SCHEMA,
  subresources: [{ name: 'status', kind: self, verbs: ['get', 'patch', 'update'], resets: STATUS_RESETS }],
  selectableFields: {
    'spec.nodeName': ({ spec }: Pod) => spec?.nodeName ?? '',
    'spec.host': ({ spec }: Pod) => spec?.nodeName ?? '',
    'spec.restartPolicy': ({ spec }: Pod) => spec?.restartPolicy ?? '',
    'spec.schedulerName': ({ spec }: Pod) => spec?.schedulerName ?? '',
    'spec.serviceAccountName': ({ spec }: Pod) => spec?.serviceAccountName ?? '',
    'spec.hostNetwork': ({ spec }: Pod) => String(spec?.hostNetwork ?? false),
    'status.phase': ({ status }: Pod) => status?.phase ?? '',
    'status.podIP': ({ status }: Pod) => status?.podIPs?.[0]?.ip ?? '',
    'status.podIPs': () => '',
    'status.nominatedNodeName': ({ status }: Pod) => status?.nominatedNodeName ?? '',
  },
  table: POD_TABLE,
  strategy: {
    deleteReturnsObject: true,
    hasGeneration: true,
    defaulted: defaultedPod,
    gracePeriodSeconds,
    prepareForCreate: admittedPod,
    prepareForUpdate: (next: Pod, old: Pod) =>
      withNextGeneration({ ...next, spec: withTolerations(next.spec ?? {}), status: old.status ?? {} }, old),
    prepareForStatusUpdate: statusPrepared,
    validate,
    validateUpdate: (next, old) => [...validateCoreMetadataUpdate(next, old), ...validate(next), ...podChangeErrors(next, old)],
    validateStatusUpdate: (next: Pod, old: Pod) => [
      ...validateCoreMetadataUpdate(next, old),
      ...(next.status?.qosClass === old.status?.qosClass
        ? []
        : [invalidValue('status.qosClass', next.status?.qosClass ?? '', 'field is immutable')]),
    ],
  },
});
