// Namespaces: cluster-scoped, with a life of two phases and a finalizer of their own in spec.

import { type FieldError, invalidValue } from '../../src/kubernetes/field-error.ts';
import { qualifiedNameProblems } from '../../src/kubernetes/names.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { always, list, listByKey, named, objectStruct, struct, text, time } from '../../src/kubernetes/schema/go-struct.ts';
import { AGE_COLUMN, age, column, NAME_COLUMN } from '../../src/kubernetes/table.ts';
import { builtInKind, type Kind, type Strategy } from './kind.ts';
import { keepSystemMetadata } from './lifecycle.ts';
import {
  labelName,
  unqualifiedFinalizer,
  validateAnyMetadataUpdate,
  validateCoreMetadata,
  validateCoreMetadataUpdate,
} from './metadata.ts';

interface Namespace extends KubeObject {
  readonly spec?: { readonly finalizers?: readonly string[] };
  readonly status?: { readonly phase?: string };
}

const CONDITION = struct(
  'v1.NamespaceCondition',
  {
    type: always(named('v1.NamespaceConditionType'), ''),
    status: always(named('v1.ConditionStatus'), ''),
    lastTransitionTime: time(),
    reason: text(),
    message: text(),
  },
  { numbers: { lastTransitionTime: 4, reason: 5, message: 6 } },
);

const SCHEMA = objectStruct('v1.Namespace', {
  spec: struct('v1.NamespaceSpec', { finalizers: list(named('v1.FinalizerName'), { 'x-kubernetes-list-type': 'atomic' }) }),
  status: struct('v1.NamespaceStatus', { phase: named('v1.NamespacePhase'), conditions: listByKey(CONDITION, 'type') }),
});

const METADATA = { namespaced: false, nameProblems: labelName };

const strategy: Strategy = {
  deleteReturnsObject: true,
  defaulted: (namespace: Namespace) =>
    labelled({ ...namespace, status: { ...namespace.status, phase: namespace.status?.phase || 'Active' } }),
  prepareForCreate: (namespace: Namespace) => {
    const finalizers = namespace.spec?.finalizers ?? [];
    return labelled({
      ...namespace,
      spec: { finalizers: finalizers.includes('kubernetes') ? finalizers : [...finalizers, 'kubernetes'] },
      status: { phase: 'Active' },
    });
  },
  prepareForUpdate: (next: Namespace, old: Namespace) => ({ ...next, spec: old.spec ?? {}, status: old.status ?? {} }),
  prepareForStatusUpdate: (next, old: Namespace) => ({ ...next, spec: old.spec ?? {} }),
  validate,
  validateUpdate: (next, old) => [...validate(next), ...validateCoreMetadataUpdate(next, old)],
  validateStatusUpdate: (next, old) => [...validateCoreMetadataUpdate(next, old), ...phaseErrors(next)],
  terminating: (namespace: Namespace, deletionTimestamp) => ({
    ...namespace,
    metadata: { ...namespace.metadata, deletionTimestamp },
    status: { ...namespace.status, phase: 'Terminating' },
  }),
  ownFinalizers: ({ spec }: Namespace) => spec?.finalizers ?? [],
  finalize: {
    prepareForUpdate: (next, old: Namespace) => ({ ...keepSystemMetadata(next, old), status: old.status ?? {} }),
    validateUpdate: (next, old) => [
      ...validateAnyMetadataUpdate(next, old, false),
      ...validateCoreMetadataUpdate(next, old),
      ...finalizerErrors(next, (index) => `spec.finalizers[${index}]`),
    ],
  },
};

function validate(namespace: KubeObject): readonly FieldError[] {
  return [...validateCoreMetadata(namespace, METADATA), ...finalizerErrors(namespace, () => 'spec.finalizers')];
}

function finalizerErrors({ spec }: Namespace, field: (index: number) => string): readonly FieldError[] {
  return (spec?.finalizers ?? []).flatMap((name, index) => [
    ...qualifiedNameProblems(name).map((problem) => invalidValue(field(index), name, problem)),
    ...unqualifiedFinalizer(name, field(index)),
  ]);
}

function phaseErrors({ metadata, status }: Namespace): readonly FieldError[] {
  const phase = status?.phase ?? '';
  const isDeleted = metadata.deletionTimestamp !== undefined;
  if (phase === (isDeleted ? 'Terminating' : 'Active')) return [];
  const rule = isDeleted
    ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
    : "may only be 'Active' if `deletionTimestamp` is empty";
  return [invalidValue('status.Phase', phase, rule)];
}

/** A namespace carries its name as a label, once it has one. */
function labelled(namespace: KubeObject): KubeObject {
  const { name, labels } = namespace.metadata;
  if (name === undefined || name === '') return namespace;
  return { ...namespace, metadata: { ...namespace.metadata, labels: { ...labels, 'kubernetes.io/metadata.name': name } } };
}

const self = { group: '', version: 'v1', kind: 'Namespace' };

export const namespaceKind: Kind = builtInKind({
  kind: 'Namespace',
  namespaced: false,
  shortNames: ['ns'],
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  schema: SCHEMA,
  subresources: [
    { name: 'finalize', kind: self, verbs: ['update'] },
    { name: 'status', kind: self, verbs: ['get', 'patch', 'update'] },
  ],
  selectableFields: { 'status.phase': ({ status }: Namespace) => status?.phase ?? '' },
  table: {
    columns: [NAME_COLUMN, column('Status', 'The status of the namespace'), AGE_COLUMN],
    cells: (namespace: Namespace, now) => [namespace.metadata.name, namespace.status?.phase ?? '', age(namespace, now)],
  },
  strategy,
});
