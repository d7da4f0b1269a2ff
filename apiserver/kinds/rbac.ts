// Roles, ClusterRoles and their bindings.

import { type FieldError, invalidStruct, invalidValue, requiredValue, unsupportedValue } from '../../src/kubernetes/field-error.ts';
import type { Table } from '../../src/kubernetes/kind.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import type { PolicyRule, RbacSubject, RoleRef } from '../../src/kubernetes/rbac.ts';
import { LABEL_SELECTOR, list, objectStruct, pointer, struct, text, withoutOmitempty } from '../../src/kubernetes/schema/go-struct.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { AGE_COLUMN, createColumn, DEFAULT_TABLE, NAME_COLUMN, toAge } from '../../src/kubernetes/table.ts';
import { RBAC_GROUP } from '../access/policy.ts';
import { createBuiltInKind, type Kind, type Strategy } from './kind.ts';
import { validateCoreMetadata, validateCoreMetadataUpdate, validateRbacName, validateSubdomainName } from './metadata.ts';

/** A Role or ClusterRole. */
interface Role extends KubeObject {
  readonly rules?: readonly Partial<PolicyRule>[] | null;
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly object[] };
}

/** A subject from a client, in which fields may be absent. */
type Subject = Partial<RbacSubject> & { readonly apiGroup?: string };
type RoleReference = Partial<RoleRef> & { readonly apiGroup?: string };

/** A RoleBinding or ClusterRoleBinding. */
interface Binding extends KubeObject {
  readonly subjects?: readonly Subject[];
  readonly roleRef?: RoleReference;
}

function validateRules({ rules }: Role, namespaced: boolean): readonly FieldError[] {
  return (rules ?? []).flatMap((rule, index) => validateRule(rule, namespaced, `rules[${index}]`));
}

function validateRule(rule: Partial<PolicyRule>, namespaced: boolean, field: string): readonly FieldError[] {
  const { verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const errors = verbs.length === 0 ? [requiredValue(`${field}.verbs`, 'verbs must contain at least one value')] : [];
  if (nonResourceURLs.length === 0) {
    if (apiGroups.length === 0) errors.push(requiredValue(`${field}.apiGroups`, 'resource rules must supply at least one api group'));
    if (resources.length === 0) errors.push(requiredValue(`${field}.resources`, 'resource rules must supply at least one resource'));
    return errors;
  }
  const invalidUrls = (detail: string) => invalidValue(`${field}.nonResourceURLs`, nonResourceURLs, detail);
  if (namespaced) errors.push(invalidUrls('namespaced rules cannot apply to non-resource URLs'));
  if (apiGroups.length + resources.length + resourceNames.length > 0) {
    errors.push(invalidUrls('rules cannot apply to both regular resources and non-resource URLs'));
  }
  return errors;
}

function validateAggregation({ aggregationRule }: Role): readonly FieldError[] {
  const { clusterRoleSelectors = [] } = aggregationRule ?? {};
  if (aggregationRule === undefined || clusterRoleSelectors.length > 0) return [];
  const detail = 'at least one clusterRoleSelector required if aggregationRule is non-nil';
  return [requiredValue('aggregationRule.clusterRoleSelectors', detail)];
}

function validateBinding({ roleRef, subjects = [] }: Binding, namespaced: boolean): readonly FieldError[] {
  const { apiGroup = '', kind = '', name = '' } = roleRef ?? {};
  const kinds = namespaced ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  return [
    ...(apiGroup === RBAC_GROUP ? [] : [unsupportedValue('roleRef.apiGroup', apiGroup, [RBAC_GROUP])]),
    ...(kinds.includes(kind) ? [] : [unsupportedValue('roleRef.kind', kind, kinds)]),
    ...(name === ''
      ? [requiredValue('roleRef.name')]
      : validateRbacName(name, false).map((problem) => invalidValue('roleRef.name', name, problem))),
    ...subjects.flatMap((subject, index) => validateSubject(subject, namespaced, `subjects[${index}]`)),
  ];
}

function validateSubject(subject: Subject, namespaced: boolean, field: string): readonly FieldError[] {
  const { kind = '', apiGroup = '', name = '' } = subject;
  const unnamed = name === '' ? [requiredValue(`${field}.name`)] : [];
  switch (kind) {
    case 'ServiceAccount':
      return [...unnamed, ...validateServiceAccount(subject, namespaced, field)];
    case 'User':
    case 'Group':
      return [...unnamed, ...(apiGroup === RBAC_GROUP ? [] : [unsupportedValue(`${field}.apiGroup`, apiGroup, [RBAC_GROUP])])];
    default:
      return [...unnamed, unsupportedValue(`${field}.kind`, kind, ['ServiceAccount', 'User', 'Group'])];
  }
}

function validateServiceAccount(
  { apiGroup = '', name = '', namespace = '' }: Subject,
  namespaced: boolean,
  field: string,
): readonly FieldError[] {
  return [
    ...(name === '' ? [] : validateSubdomainName(name, false)).map((problem) => invalidValue(`${field}.name`, name, problem)),
    ...(apiGroup === '' ? [] : [unsupportedValue(`${field}.apiGroup`, apiGroup, [''])]),
    ...(namespaced || namespace !== '' ? [] : [requiredValue(`${field}.namespace`)]),
  ];
}

function validateRoleRefChange({ roleRef: next = {} }: Binding, { roleRef: old = {} }: Binding): readonly FieldError[] {
  const { apiGroup = '', kind = '', name = '' } = next;
  if (apiGroup === (old.apiGroup ?? '') && kind === (old.kind ?? '') && name === (old.name ?? '')) return [];
  return [invalidStruct('roleRef', { APIGroup: apiGroup, Kind: kind, Name: name }, 'cannot change roleRef')];
}

const atomic = (items: Schema): Schema => list(items, { 'x-kubernetes-list-type': 'atomic' });

const RULES = withoutOmitempty(
  atomic(
    struct('v1.PolicyRule', {
      verbs: withoutOmitempty(atomic(text()), null),
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
      { kind: withoutOmitempty(text(), ''), apiGroup: text(), name: withoutOmitempty(text(), ''), namespace: text() },
      { 'x-kubernetes-map-type': 'atomic' },
    ),
  ),
  roleRef: struct(
    'v1.RoleRef',
    { apiGroup: withoutOmitempty(text(), ''), kind: withoutOmitempty(text(), ''), name: withoutOmitempty(text(), '') },
    { 'x-kubernetes-map-type': 'atomic' },
  ),
};

function createRoleStrategy(namespaced: boolean): Strategy {
  const validate = (role: Role): readonly FieldError[] => [
    ...validateCoreMetadata(role, { namespaced, validateName: validateRbacName }),
    ...validateRules(role, namespaced),
    ...(namespaced ? [] : validateAggregation(role)),
  ];
  return {
    prepareForCreate: withoutEmptyRules,
    prepareForUpdate: withoutEmptyRules,
    validate,
    validateUpdate: (next, old) => [...validate(next), ...validateCoreMetadataUpdate(next, old)],
  };
}

/** Returns the role; omits `rules` if the list is empty. */
function withoutEmptyRules(role: Role): KubeObject {
  const { rules, ...rest } = role;
  return rules?.length ? role : rest;
}

function createBindingStrategy(namespaced: boolean): Strategy {
  const validate = (binding: KubeObject): readonly FieldError[] => [
    ...validateCoreMetadata(binding, { namespaced, validateName: validateRbacName }),
    ...validateBinding(binding, namespaced),
  ];
  return {
    applyDefaults: withApiGroups,
    validate,
    validateUpdate: (next, old) => [...validate(next), ...validateCoreMetadataUpdate(next, old), ...validateRoleRefChange(next, old)],
  };
}

/** Fills in the missing apiGroup of users, groups and the role reference. */
function withApiGroups({ subjects, roleRef, ...binding }: Binding): KubeObject {
  return {
    ...binding,
    ...(subjects && { subjects: subjects.map(withApiGroup) }),
    roleRef: { ...roleRef, apiGroup: roleRef?.apiGroup || RBAC_GROUP },
  };
}

function withApiGroup(subject: Subject): Subject {
  const isUserOrGroup = subject.kind === 'User' || subject.kind === 'Group';
  return isUserOrGroup && !subject.apiGroup ? { ...subject, apiGroup: RBAC_GROUP } : subject;
}

function createBindingTable(kind: string, roleDescription: string): Table {
  return {
    columns: [
      NAME_COLUMN,
      createColumn('Role', roleDescription),
      AGE_COLUMN,
      createColumn('Users', `Users in the ${kind}`, 'wide'),
      createColumn('Groups', `Groups in the ${kind}`, 'wide'),
      createColumn('ServiceAccounts', `ServiceAccounts in the ${kind}`, 'wide'),
    ],
    cells: (binding: Binding, now) => [
      binding.metadata.name,
      `${binding.roleRef?.kind ?? ''}/${binding.roleRef?.name ?? ''}`,
      toAge(binding, now),
      formatSubjectNames(binding, 'User'),
      formatSubjectNames(binding, 'Group'),
      formatSubjectNames(binding, 'ServiceAccount'),
    ],
  };
}

function formatSubjectNames({ subjects = [] }: Binding, kind: string): string {
  const names = subjects.filter((subject) => subject.kind === kind);
  return names.map(({ namespace = '', name = '' }) => (kind === 'ServiceAccount' ? `${namespace}/${name}` : name)).join(', ');
}

export const roleKind: Kind = createBuiltInKind({
  group: RBAC_GROUP,
  kind: 'Role',
  namespaced: true,
  schema: objectStruct('v1.Role', { rules: RULES }),
  table: DEFAULT_TABLE,
  strategy: createRoleStrategy(true),
});

export const clusterRoleKind: Kind = createBuiltInKind({
  group: RBAC_GROUP,
  kind: 'ClusterRole',
  namespaced: false,
  schema: objectStruct('v1.ClusterRole', { rules: RULES, aggregationRule: pointer(AGGREGATION_RULE) }),
  table: DEFAULT_TABLE,
  strategy: createRoleStrategy(false),
});

export const roleBindingKind: Kind = createBuiltInKind({
  group: RBAC_GROUP,
  kind: 'RoleBinding',
  namespaced: true,
  schema: objectStruct('v1.RoleBinding', BINDING_FIELDS),
  table: createBindingTable(
    'roleBinding',
    'RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.',
  ),
  strategy: createBindingStrategy(true),
});

export const clusterRoleBindingKind: Kind = createBuiltInKind({
  group: RBAC_GROUP,
  kind: 'ClusterRoleBinding',
  namespaced: false,
  schema: objectStruct('v1.ClusterRoleBinding', BINDING_FIELDS),
  table: createBindingTable(
    'clusterRoleBinding',
    'RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.',
  ),
  strategy: createBindingStrategy(false),
});
