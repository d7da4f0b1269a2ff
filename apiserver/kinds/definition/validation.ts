// What is wrong with a CustomResourceDefinition, in the words of Kubernetes.

import { type FieldError, invalidValue, requiredValue, unsupportedValue } from '../../../src/kubernetes/field-error.ts';
import { dns1035LabelProblems, dns1123SubdomainProblems } from '../../../src/kubernetes/names.ts';
import { validateMetadata, validateMetadataUpdate } from '../metadata.ts';
import { type NameProblems, subdomainName } from '../name-rules.ts';
import { conversionErrors } from './conversion.ts';
import { type CustomResourceDefinition, type DefinitionNames, type DefinitionSpec, hasCondition } from './types.ts';
import { storageErrors, versionErrors } from './versions.ts';

/** What is wrong with a new definition. */
export function validateDefinition(definition: CustomResourceDefinition): readonly FieldError[] {
  return [
    ...validateMetadata(definition, { namespaced: false, nameProblems: nameProblems(definition.spec) }),
    ...specErrors(definition.spec),
    ...statusErrors(definition),
    ...approvalErrors(definition),
    ...preservationErrors(definition.spec),
  ];
}

/** What is wrong with a changed one: what others rely on stays as it is once it is established. */
export function validateDefinitionUpdate(next: CustomResourceDefinition, old: CustomResourceDefinition): readonly FieldError[] {
  const { spec } = next;
  return [
    ...validateMetadataUpdate(next, old),
    ...specErrors(spec),
    ...(hasCondition(old, 'Established')
      ? [...immutable('spec.scope', spec.scope, old.spec.scope), ...immutable('spec.names.kind', spec.names.kind, old.spec.names.kind)]
      : []),
    ...immutable('spec.group', spec.group, old.spec.group),
    ...immutable('spec.names.plural', spec.names.plural, old.spec.names.plural),
    ...statusErrors(next),
    ...(old.spec.preserveUnknownFields ? [] : preservationErrors(spec)),
  ];
}

/** What is wrong with a changed status. */
export function validateDefinitionStatus(next: CustomResourceDefinition, old: CustomResourceDefinition): readonly FieldError[] {
  return [...validateMetadataUpdate(next, old), ...nameErrors(next.status?.acceptedNames, 'status.acceptedNames')];
}

function nameProblems({ group, names }: DefinitionSpec): NameProblems {
  const wanted = `${names.plural}.${group}`;
  return (name, prefix) => [...subdomainName(name, prefix), ...(name === wanted ? [] : ['must be spec.names.plural+"."+spec.group'])];
}

function specErrors(spec: DefinitionSpec): readonly FieldError[] {
  const { names } = spec;
  const required = (['plural', 'singular', 'kind', 'listKind'] as const).filter((name) => (names[name] ?? '') === '');
  return [
    ...groupErrors(spec.group),
    ...scopeErrors(spec.scope),
    ...versionErrors(spec),
    ...required.map((name) => requiredValue(`spec.names.${name}`)),
    ...nameErrors(names, 'spec.names'),
    ...conversionErrors(spec.conversion),
  ];
}

function groupErrors(group: string): readonly FieldError[] {
  if (group === '') return [requiredValue('spec.group')];
  const problems = dns1123SubdomainProblems(group);
  if (problems.length > 0) return [invalidValue('spec.group', group, problems.join(','))];
  return group.includes('.') ? [] : [invalidValue('spec.group', group, 'should be a domain with at least one dot')];
}

function scopeErrors(scope: string): readonly FieldError[] {
  if (scope === '') return [requiredValue('spec.scope')];
  const scopes = ['Cluster', 'Namespaced'];
  return scopes.includes(scope) ? [] : [unsupportedValue('spec.scope', scope, scopes)];
}

function nameErrors(names: DefinitionNames | undefined, path: string): readonly FieldError[] {
  if (names === undefined) return [];
  const { plural, singular = '', kind, listKind = '', shortNames = [], categories = [] } = names;
  const label = (field: string, text: string) => labelErrors(`${path}.${field}`, text, text, '');
  const mixed = (field: string, text: string) =>
    labelErrors(`${path}.${field}`, text, text.toLowerCase(), 'may have mixed case, but should otherwise match: ');
  return [
    ...(plural === '' ? [] : label('plural', plural)),
    ...(singular === '' ? [] : label('singular', singular)),
    ...(kind === '' ? [] : mixed('kind', kind)),
    ...(listKind === '' ? [] : mixed('listKind', listKind)),
    ...shortNames.flatMap((name, index) => label(`shortNames[${index}]`, name)),
    ...(kind !== '' && kind === listKind ? [invalidValue(`${path}.listKind`, listKind, 'kind and listKind may not be the same')] : []),
    ...categories.flatMap((name, index) => label(`categories[${index}]`, name)),
  ];
}

function labelErrors(field: string, shown: string, checked: string, prefix: string): readonly FieldError[] {
  const problems = dns1035LabelProblems(checked);
  return problems.length === 0 ? [] : [invalidValue(field, shown, `${prefix}${problems.join(',')}`)];
}

function statusErrors({ spec, status }: CustomResourceDefinition): readonly FieldError[] {
  return [...nameErrors(status?.acceptedNames, 'status.acceptedNames'), ...storageErrors(status?.storedVersions ?? [], spec.versions)];
}

const APPROVAL = 'api-approved.kubernetes.io';

/** Groups of the Kubernetes project itself need its approval, or a word that there is none. */
function approvalErrors({ metadata, spec: { group } }: CustomResourceDefinition): readonly FieldError[] {
  if (!/(?:^|\.)(?:k8s|kubernetes)\.io$/.test(group)) return [];
  const approval = metadata.annotations?.[APPROVAL] ?? '';
  const field = `metadata.annotations[${APPROVAL}]`;
  const see = 'see https://github.com/kubernetes/enhancements/pull/1111';
  if (approval === '') return [requiredValue(field, `protected groups must have approval annotation "${APPROVAL}", ${see}`)];
  if (approval.startsWith('unapproved') || /^[a-z][a-z0-9+.-]*:\/\/[^/]/i.test(approval)) return [];
  const detail = `protected groups must have approval annotation "${APPROVAL}" with either a URL or a reason starting with "unapproved", ${see}`;
  return [invalidValue(field, approval, detail)];
}

function preservationErrors({ preserveUnknownFields }: DefinitionSpec): readonly FieldError[] {
  const detail = 'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead';
  return preserveUnknownFields ? [invalidValue('spec.preserveUnknownFields', true, detail)] : [];
}

function immutable(field: string, next: string, old: string): readonly FieldError[] {
  return next === old ? [] : [invalidValue(field, next, 'field is immutable')];
}
