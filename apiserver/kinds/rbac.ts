// Roles, cluster roles and their bindings.

import type { FieldError } from '../../src/kubernetes/field-error.ts';
import type { Table } from '../../src/kubernetes/kind.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { always, LABEL_SELECTOR, list, objectStruct, pointer, struct, text } from '../../src/kubernetes/schema/go-struct.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { AGE_COLUMN, age, column, DEFAULT_TABLE, NAME_COLUMN } from '../../src/kubernetes/table.ts';
import { builtInKind, type Strategy } from './built-in-kind.ts';
import { validateCoreMetadata, validateCoreMetadataUpdate } from './core/core-metadata.ts';
import type { Kind } from './kind.ts';
import { rbacName } from './name-rules.ts';
import {
  aggregationErrors,
  type Binding,
  bindingErrors,
  RBAC_GROUP,
  type Role,
  roleRefChangeErrors,
  ruleErrors,
  type Subject,
} from './rbac-rules.ts';

const atomic = (items: Schema): Schema => list(items, { 'x-kubernetes-list-type': 'atomic' });

const RULES = always(
  atomic(
    struct('v1.PolicyRule', {
      verbs: always(atomic(text()), null),
      apiGroups: atomic(text()),
      resources: atomic(text()),
      resourceNames: atomic(text()),
      nonResourceURLs: atomic(text()),
    }),
  ),
  null,
);

const AGGREGATION_RULE = struct('v1.AggregationRule', { clusterRoleSelectors: atomic(LABEL_SELECTOR) });

const BINDING_FIELDS = {
  subjects: atomic(
    struct(
      'v1.Subject',
      { kind: always(text(), ''), apiGroup: text(), name: always(text(), ''), namespace: text() },
      { 'x-kubernetes-map-type': 'atomic' },
    ),
  ),
  roleRef: struct(
    'v1.RoleRef',
    { apiGroup: always(text(), ''), kind: always(text(), ''), name: always(text(), '') },
    { 'x-kubernetes-map-type': 'atomic' },
  ),
};

function roleStrategy(namespaced: boolean): Strategy {
  const validate = (role: Role, old?: Role): readonly FieldError[] => [
    ...validateCoreMetadata(role, { namespaced, nameProblems: rbacName }),
    ...ruleErrors(role, namespaced),
    ...(namespaced ? [] : aggregationErrors(role, old)),
  ];
  return {
    createOnUpdate: true,
    prepareForCreate: withoutEmptyRules,
    prepareForUpdate: withoutEmptyRules,
    validate: (role) => validate(role),
    validateUpdate: (next, old) => [...validate(next, old), ...validateCoreMetadataUpdate(next, old)],
  };
}

/** No rules are stored as none. */
function withoutEmptyRules(role: Role): KubeObject {
  const { rules, ...rest } = role;
  return rules?.length ? role : rest;
}

function bindingStrategy(namespaced: boolean): Strategy {
  const validate = (binding: KubeObject): readonly FieldError[] => [
    ...validateCoreMetadata(binding, { namespaced, nameProblems: rbacName }),
    ...bindingErrors(binding, namespaced),
  ];
  return {
    createOnUpdate: true,
    defaulted: withGroups,
    validate,
    validateUpdate: (next, old) => [...validate(next), ...validateCoreMetadataUpdate(next, old), ...roleRefChangeErrors(next, old)],
  };
}

/** Users and groups belong to the RBAC group unless they say otherwise, and so does the role. */
function withGroups({ subjects, roleRef, ...binding }: Binding): KubeObject {
  return {
    ...binding,
    ...(subjects && { subjects: subjects.map(withGroup) }),
    roleRef: { ...roleRef, apiGroup: roleRef?.apiGroup || RBAC_GROUP },
  };
}

function withGroup(subject: Subject): Subject {
  const isPerson = subject.kind === 'User' || subject.kind === 'Group';
  return isPerson && !subject.apiGroup ? { ...subject, apiGroup: RBAC_GROUP } : subject;
}

function bindingTable(kind: string, roleDescription: string): Table {
  return {
    columns: [
      NAME_COLUMN,
      column('Role', roleDescription),
      AGE_COLUMN,
      column('Users', `Users in the ${kind}`, 'wide'),
      column('Groups', `Groups in the ${kind}`, 'wide'),
      column('ServiceAccounts', `ServiceAccounts in the ${kind}`, 'wide'),
    ],
    cells: (binding: Binding, now) => [
      binding.metadata.name,
      `${binding.roleRef?.kind ?? ''}/${binding.roleRef?.name ?? ''}`,
      age(binding, now),
      subjectNames(binding, 'User'),
      subjectNames(binding, 'Group'),
      subjectNames(binding, 'ServiceAccount'),
    ],
  };
}

function subjectNames({ subjects = [] }: Binding, kind: string): string {
  const names = subjects.filter((subject) => subject.kind === kind);
  return names.map(({ namespace = '', name = '' }) => (kind === 'ServiceAccount' ? `${namespace}/${name}` : name)).join(', ');
}

export const roleKind: Kind = builtInKind({
  group: RBAC_GROUP,
  kind: 'Role',
  namespaced: true,
  schema: objectStruct('v1.Role', { rules: RULES }),
  table: DEFAULT_TABLE,
  strategy: roleStrategy(true),
});

export const clusterRoleKind: Kind = builtInKind({
  group: RBAC_GROUP,
  kind: 'ClusterRole',
  namespaced: false,
  schema: objectStruct('v1.ClusterRole', { rules: RULES, aggregationRule: pointer(AGGREGATION_RULE) }),
  table: DEFAULT_TABLE,
  strategy: roleStrategy(false),
});

export const roleBindingKind: Kind = builtInKind({
  group: RBAC_GROUP,
  kind: 'RoleBinding',
  namespaced: true,
  schema: objectStruct('v1.RoleBinding', BINDING_FIELDS),
  table: bindingTable(
    'roleBinding',
    'RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.',
  ),
  strategy: bindingStrategy(true),
});

export const clusterRoleBindingKind: Kind = builtInKind({
  group: RBAC_GROUP,
  kind: 'ClusterRoleBinding',
  namespaced: false,
  schema: objectStruct('v1.ClusterRoleBinding', BINDING_FIELDS),
  table: bindingTable(
    'clusterRoleBinding',
    'RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.',
  ),
  strategy: bindingStrategy(false),
});
