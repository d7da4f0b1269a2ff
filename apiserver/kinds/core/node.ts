// Nodes, which nothing runs on here: objects that tokens can be bound to.

import { duplicateValue, type FieldError, forbiddenValue } from '../../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../../src/kubernetes/object.ts';
import { age } from '../../../src/kubernetes/table.ts';
import { compareUtf8 } from '../../../src/std/go-text.ts';
import { sameValue } from '../../same-value.ts';
import { builtInKind } from '../built-in-kind.ts';
import type { Kind } from '../kind.ts';
import { subdomainName } from '../name-rules.ts';
import { validateCoreMetadata, validateCoreMetadataUpdate } from './core-metadata.ts';
import { NODE_COLUMNS, NODE_SCHEMA } from './node-schema.ts';

interface Taint {
  readonly key?: string;
  readonly effect?: string;
}

interface Node extends KubeObject {
  readonly spec?: {
    readonly podCIDR?: string;
    readonly podCIDRs?: readonly string[];
    readonly providerID?: string;
    readonly unschedulable?: boolean;
    readonly taints?: readonly Taint[];
  };
  readonly status?: {
    readonly capacity?: object;
    readonly allocatable?: object;
    readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
    readonly addresses?: readonly { readonly type?: string; readonly address?: string }[];
    readonly nodeInfo?: Readonly<Record<string, string>>;
  };
}

function defaulted(node: Node): KubeObject {
  const { spec, status } = node;
  return {
    ...node,
    ...(spec?.podCIDR && { spec: { ...spec, podCIDRs: spec.podCIDRs?.[0] === spec.podCIDR ? spec.podCIDRs : [spec.podCIDR] } }),
    ...(status?.capacity && { status: { ...status, allocatable: status.allocatable ?? status.capacity } }),
  };
}

const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

/** A new node is not ready until somebody says that it is. */
function tainted(node: Node): KubeObject {
  const taints = node.spec?.taints ?? [];
  if (taints.some(({ key, effect }) => key === NOT_READY.key && effect === NOT_READY.effect)) return node;
  return { ...node, spec: { ...node.spec, taints: [...taints, NOT_READY] } };
}

function validate(node: KubeObject): readonly FieldError[] {
  return validateCoreMetadata(node, { namespaced: false, nameProblems: subdomainName });
}

function validateUpdate(next: Node, old: Node): readonly FieldError[] {
  const addresses = next.status?.addresses ?? [];
  const cidrs = old.spec?.podCIDRs ?? [];
  const { providerID } = old.spec ?? {};
  const onlyOnce = (field: string, name: string) =>
    forbiddenValue(`spec.${field}`, `node updates may not change ${name} except from "" to valid`);
  return [
    ...validate(next),
    ...validateCoreMetadataUpdate(next, old),
    ...addresses.flatMap((address, index) =>
      addresses.slice(0, index).some((earlier) => sameValue(earlier, address))
        ? [duplicateValue(`status.addresses[${index}]`, { Type: address.type, Address: address.address })]
        : [],
    ),
    ...(cidrs.length > 0 && !sameValue(cidrs, next.spec?.podCIDRs) ? [onlyOnce('podCIDRs', 'podCIDR')] : []),
    ...(providerID && providerID !== next.spec?.providerID ? [onlyOnce('providerID', 'providerID')] : []),
  ];
}

function statusOf({ spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const readiness = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return spec?.unschedulable === true ? `${readiness},SchedulingDisabled` : readiness;
}

const ROLE_PREFIX = 'node-role.kubernetes.io/';

function rolesOf({ metadata }: KubeObject): string {
  const roles = Object.entries(metadata.labels ?? {}).flatMap(([key, value]) => {
    if (key.startsWith(ROLE_PREFIX)) return [key.slice(ROLE_PREFIX.length)];
    return key === 'kubernetes.io/role' ? [value] : [];
  });
  return [...new Set(roles.filter((role) => role !== ''))].sort(compareUtf8).join(',') || '<none>';
}

function cells(node: Node, now: number): readonly unknown[] {
  const { nodeInfo = {}, addresses = [] } = node.status ?? {};
  const address = (type: string) => addresses.find((each) => each.type === type)?.address ?? '<none>';
  const kernel = nodeInfo['kernelVersion'] || '<unknown>';
  return [
    node.metadata.name,
    statusOf(node),
    rolesOf(node),
    age(node, now),
    nodeInfo['kubeletVersion'] ?? '',
    address('InternalIP'),
    address('ExternalIP'),
    nodeInfo['osImage'] || '<unknown>',
    nodeInfo['architecture'] ? `${kernel} (${nodeInfo['architecture']})` : kernel,
    nodeInfo['containerRuntimeVersion'] || '<unknown>',
  ];
}

export const nodeKind: Kind = builtInKind({
  kind: 'Node',
  namespaced: false,
  shortNames: ['no'],
  schema: NODE_SCHEMA,
  subresources: [{ name: 'status', kind: { group: '', version: 'v1', kind: 'Node' }, verbs: ['get', 'patch', 'update'] }],
  selectableFields: { 'spec.unschedulable': ({ spec }: Node) => String(spec?.unschedulable ?? false) },
  table: { columns: NODE_COLUMNS, cells },
  strategy: {
    defaulted,
    prepareForCreate: tainted,
    prepareForUpdate: (next: Node, old: Node) => ({ ...next, status: old.status ?? {} }),
    prepareForStatusUpdate: (next: Node, old: Node) => ({ ...next, spec: old.spec ?? {} }),
    validate,
    validateUpdate,
  },
});
