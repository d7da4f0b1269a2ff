// Namespaces: their phase, and the finalizers in their spec.

import type { FieldError } from '../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { list, listByKey, named, objectStruct, struct, text, time, withoutOmitempty } from '../../src/kubernetes/schema/go-struct.ts';
import { AGE_COLUMN, createColumn, NAME_COLUMN, toAge } from '../../src/kubernetes/table.ts';
import { createBuiltInKind, type Kind, type Strategy } from './kind.ts';
import { validateCoreMetadata, validateCoreMetadataUpdate, validateNamespaceName } from './metadata.ts';

interface Namespace extends KubeObject {
  readonly spec?: { readonly finalizers?: readonly string[] };
  readonly status?: { readonly phase?: string };
}

const CONDITION = struct(
  'v1.NamespaceCondition',
  {
    type: withoutOmitempty(named('v1.NamespaceConditionType'), ''),
    status: withoutOmitempty(named('v1.ConditionStatus'), ''),
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

const strategy: Strategy = {
  deleteReturnsObject: true,
  applyDefaults: (namespace: Namespace) =>
    withNameLabel({ ...namespace, status: { ...namespace.status, phase: namespace.status?.phase || 'Active' } }),
  prepareForCreate: (namespace: Namespace) => {
    const finalizers = namespace.spec?.finalizers ?? [];
    return withNameLabel({
      ...namespace,
      spec: { finalizers: finalizers.includes('kubernetes') ? finalizers : [...finalizers, 'kubernetes'] },
      status: { phase: 'Active' },
    });
  },
  prepareForUpdate: (next: Namespace, old: Namespace) => ({ ...next, spec: old.spec ?? {}, status: old.status ?? {} }),
  prepareForStatusUpdate: (next, old: Namespace) => ({ ...next, spec: old.spec ?? {} }),
  validate,
  validateUpdate: (next, old) => [...validate(next), ...validateCoreMetadataUpdate(next, old)],
  validateStatusUpdate: validateCoreMetadataUpdate,
  toTerminating: (namespace: Namespace, deletionTimestamp) => ({
    ...namespace,
    metadata: { ...namespace.metadata, deletionTimestamp },
    status: { ...namespace.status, phase: 'Terminating' },
  }),
  ownFinalizers: ({ spec }: Namespace) => spec?.finalizers ?? [],
};

function validate(namespace: KubeObject): readonly FieldError[] {
  return validateCoreMetadata(namespace, { namespaced: false, validateName: validateNamespaceName });
}

/** Returns the namespace with its name as a label; unchanged if it has no name. */
function withNameLabel(namespace: KubeObject): KubeObject {
  const { name, labels } = namespace.metadata;
  if (name === undefined || name === '') return namespace;
  return { ...namespace, metadata: { ...namespace.metadata, labels: { ...labels, 'kubernetes.io/metadata.name': name } } };
}

export const namespaceKind: Kind = createBuiltInKind({
  kind: 'Namespace',
  namespaced: false,
  shortNames: ['ns'],
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  schema: SCHEMA,
  subresources: [{ name: 'status', kind: { group: '', version: 'v1', kind: 'Namespace' }, verbs: ['get', 'patch', 'update'] }],
  selectableFields: { 'status.phase': ({ status }: Namespace) => status?.phase ?? '' },
  table: {
    columns: [NAME_COLUMN, createColumn('Status', 'The status of the namespace'), AGE_COLUMN],
    cells: (namespace: Namespace, now) => [namespace.metadata.name, namespace.status?.phase ?? '', toAge(namespace, now)],
  },
  strategy,
});
