// When roles and bindings are valid. Whether the writer may grant what they grant is asked elsewhere.

import {
  type FieldError,
  forbiddenValue,
  invalidStruct,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from '../../src/kubernetes/field-error.ts';
import { labelValueProblems, qualifiedNameProblems } from '../../src/kubernetes/names.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { labelErrors } from './metadata.ts';
import { rbacName, subdomainName } from './name-rules.ts';

export const RBAC_GROUP = 'rbac.authorization.k8s.io';

interface PolicyRule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

interface LabelSelectorFields {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly { readonly key?: string; readonly operator?: string; readonly values?: readonly string[] }[];
}

/** Role and ClusterRole. */
export interface Role extends KubeObject {
  readonly rules?: readonly PolicyRule[] | null;
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly LabelSelectorFields[] };
}

export interface Subject {
  readonly kind?: string;
  readonly apiGroup?: string;
  readonly name?: string;
  readonly namespace?: string;
}

interface RoleRef {
  readonly apiGroup?: string;
  readonly kind?: string;
  readonly name?: string;
}

/** RoleBinding and ClusterRoleBinding. */
export interface Binding extends KubeObject {
  readonly subjects?: readonly Subject[];
  readonly roleRef?: RoleRef;
}

/** What is wrong with the rules of a role. */
export function ruleErrors({ rules }: Role, namespaced: boolean): readonly FieldError[] {
  return (rules ?? []).flatMap((rule, index) => oneRuleErrors(rule, namespaced, `rules[${index}]`));
}

function oneRuleErrors(rule: PolicyRule, namespaced: boolean, field: string): readonly FieldError[] {
  const { verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const errors = verbs.length === 0 ? [requiredValue(`${field}.verbs`, 'verbs must contain at least one value')] : [];
  if (nonResourceURLs.length === 0) {
    if (apiGroups.length === 0) errors.push(requiredValue(`${field}.apiGroups`, 'resource rules must supply at least one api group'));
    if (resources.length === 0) errors.push(requiredValue(`${field}.resources`, 'resource rules must supply at least one resource'));
    return errors;
  }
  const unfit = (why: string) => invalidValue(`${field}.nonResourceURLs`, nonResourceURLs, why);
  if (namespaced) errors.push(unfit('namespaced rules cannot apply to non-resource URLs'));
  if (apiGroups.length + resources.length + resourceNames.length > 0) {
    errors.push(unfit('rules cannot apply to both regular resources and non-resource URLs'));
  }
  return errors;
}

/** What is wrong with an aggregation rule; values that were already bad are let pass on updates. */
export function aggregationErrors({ aggregationRule }: Role, old?: Role): readonly FieldError[] {
  if (aggregationRule === undefined) return [];
  const field = 'aggregationRule.clusterRoleSelectors';
  const selectors = aggregationRule.clusterRoleSelectors ?? [];
  if (selectors.length === 0) {
    return [requiredValue(field, 'at least one clusterRoleSelector required if aggregationRule is non-nil')];
  }
  const allowBadValues = (old?.aggregationRule?.clusterRoleSelectors ?? []).some((each) => selectorErrors(each, '', false).length > 0);
  return selectors.flatMap((selector, index) => {
    const place = `${field}[${index}]`;
    const isUnusable = selectorErrors(selector, place, false).length > 0;
    return [
      ...selectorErrors(selector, place, allowBadValues),
      ...(isUnusable ? [invalidValue(place, null, 'invalid label selector.')] : []),
    ];
  });
}

function selectorErrors(
  { matchLabels, matchExpressions = [] }: LabelSelectorFields,
  field: string,
  allowBadValues: boolean,
): readonly FieldError[] {
  return [
    ...labelErrors(matchLabels, `${field}.matchLabels`),
    ...matchExpressions.flatMap(({ key = '', operator = '', values = [] }, index) => {
      const place = `${field}.matchExpressions[${index}]`;
      return [
        ...operatorErrors(operator, values, place),
        ...qualifiedNameProblems(key).map((problem) => invalidValue(`${place}.key`, key, problem)),
        ...(allowBadValues ? [] : values).flatMap((value, position) =>
          labelValueProblems(value).map((problem) => invalidValue(`${place}.values[${position}]`, value, problem)),
        ),
      ];
    }),
  ];
}

function operatorErrors(operator: string, values: readonly string[], field: string): readonly FieldError[] {
  switch (operator) {
    case 'In':
    case 'NotIn':
      return values.length > 0 ? [] : [requiredValue(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'")];
    case 'Exists':
    case 'DoesNotExist':
      return values.length === 0
        ? []
        : [forbiddenValue(`${field}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
    default:
      return [invalidValue(`${field}.operator`, operator, 'not a valid selector operator')];
  }
}

/** What is wrong with the role and the subjects of a binding. */
export function bindingErrors({ roleRef, subjects = [] }: Binding, namespaced: boolean): readonly FieldError[] {
  const { apiGroup = '', kind = '', name = '' } = roleRef ?? {};
  const kinds = namespaced ? ['Role', 'ClusterRole'] : ['ClusterRole'];
  return [
    ...(apiGroup === RBAC_GROUP ? [] : [unsupportedValue('roleRef.apiGroup', apiGroup, [RBAC_GROUP])]),
    ...(kinds.includes(kind) ? [] : [unsupportedValue('roleRef.kind', kind, kinds)]),
    ...(name === ''
      ? [requiredValue('roleRef.name')]
      : rbacName(name, false).map((problem) => invalidValue('roleRef.name', name, problem))),
    ...subjects.flatMap((subject, index) => subjectErrors(subject, namespaced, `subjects[${index}]`)),
  ];
}

function subjectErrors(subject: Subject, namespaced: boolean, field: string): readonly FieldError[] {
  const { kind = '', apiGroup = '', name = '' } = subject;
  const unnamed = name === '' ? [requiredValue(`${field}.name`)] : [];
  switch (kind) {
    case 'ServiceAccount':
      return [...unnamed, ...accountErrors(subject, namespaced, field)];
    case 'User':
    case 'Group':
      return [...unnamed, ...(apiGroup === RBAC_GROUP ? [] : [unsupportedValue(`${field}.apiGroup`, apiGroup, [RBAC_GROUP])])];
    default:
      return [...unnamed, unsupportedValue(`${field}.kind`, kind, ['ServiceAccount', 'User', 'Group'])];
  }
}

function accountErrors({ apiGroup = '', name = '', namespace = '' }: Subject, namespaced: boolean, field: string): readonly FieldError[] {
  return [
    ...(name === '' ? [] : subdomainName(name, false)).map((problem) => invalidValue(`${field}.name`, name, problem)),
    ...(apiGroup === '' ? [] : [unsupportedValue(`${field}.apiGroup`, apiGroup, [''])]),
    ...(namespaced || namespace !== '' ? [] : [requiredValue(`${field}.namespace`)]),
  ];
}

/** A binding is for one role, forever. */
export function roleRefChangeErrors({ roleRef: next = {} }: Binding, { roleRef: old = {} }: Binding): readonly FieldError[] {
  const { apiGroup = '', kind = '', name = '' } = next;
  if (apiGroup === (old.apiGroup ?? '') && kind === (old.kind ?? '') && name === (old.name ?? '')) return [];
  return [invalidStruct('roleRef', { APIGroup: apiGroup, Kind: kind, Name: name }, 'cannot change roleRef')];
}
