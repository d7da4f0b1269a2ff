// CustomResourceDefinitions: validation, conditions, updates and deletion. The server supports the schemas and rules that
// the definitions of Purser and of ClusterProfiles use, and rejects others.

import type { PrinterColumn } from '../../src/kubernetes/custom-table.ts';
import { type FieldError, forbiddenValue, invalidValue, requiredValue, unsupportedValue } from '../../src/kubernetes/field-error.ts';
import { validateDns1123Subdomain } from '../../src/kubernetes/names.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { DEFAULT_TABLE } from '../../src/kubernetes/table.ts';
import { isSameValue } from '../same-value.ts';
import { findPatternProblem } from '../schema/pattern.ts';
import { findRuleProblem } from '../schema/rules.ts';
import { FORMATS } from '../schema/validate.ts';
import { notSupported } from '../unsupported.ts';
import { DEFINITION_SCHEMA, KEYWORDS } from './definition-schema.ts';
import { createBuiltInKind, type Kind, type Strategy } from './kind.ts';
import { validateMetadata, validateMetadataUpdate, validateSubdomainName } from './metadata.ts';

export interface CustomResourceDefinition extends KubeObject {
  readonly spec: DefinitionSpec;
  readonly status?: DefinitionStatus;
}

export interface DefinitionSpec {
  readonly group: string;
  readonly names: DefinitionNames;
  readonly scope: string;
  readonly versions: readonly DefinitionVersion[];
  readonly conversion?: { readonly strategy?: string };
  readonly preserveUnknownFields?: boolean;
}

export interface DefinitionNames {
  readonly plural: string;
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly kind: string;
  readonly listKind?: string;
  readonly categories?: readonly string[];
}

export interface DefinitionVersion {
  readonly name: string;
  readonly served?: boolean;
  readonly storage?: boolean;
  readonly schema?: { readonly openAPIV3Schema?: Schema };
  readonly subresources?: { readonly status?: object; readonly scale?: object };
  readonly additionalPrinterColumns?: readonly PrinterColumn[];
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
}

interface DefinitionStatus {
  readonly conditions?: readonly DefinitionCondition[] | null;
  readonly acceptedNames?: DefinitionNames;
  readonly storedVersions?: readonly string[] | null;
}

interface DefinitionCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly lastTransitionTime?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** A definition from a client, in which fields may be absent. */
export interface DraftDefinition extends KubeObject {
  readonly spec?: Partial<DefinitionSpec>;
  readonly status?: DefinitionStatus;
}

/** Fills in empty values for absent required fields. */
export function toDefinition(draft: DraftDefinition): CustomResourceDefinition {
  const { group = '', scope = '', names, versions, ...rest } = draft.spec ?? {};
  return {
    ...draft,
    spec: {
      group,
      names: { ...names, plural: names?.plural ?? '', kind: names?.kind ?? '' },
      scope,
      versions: (versions ?? []).map((version) => ({ ...version, name: version.name ?? '' })),
      ...rest,
    },
  };
}

/** Returns true if the definition's condition of this type is True. */
export function hasCondition({ status }: CustomResourceDefinition, type: string): boolean {
  return (status?.conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');
}

/** Returns the definition with accepted names and the Established condition; the same object if nothing changes. */
export function establish(definition: CustomResourceDefinition, now: string): CustomResourceDefinition {
  const accepted = withCondition(definition.status?.conditions ?? [], NAME_ACCEPTANCE, now);
  const status = { ...definition.status, conditions: withCondition(accepted, ESTABLISHMENT, now), acceptedNames: definition.spec.names };
  return isSameValue(status, definition.status) ? definition : { ...definition, status };
}

type NewCondition = Omit<DefinitionCondition, 'lastTransitionTime'>;

const NAME_ACCEPTANCE: NewCondition = { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' };
const ESTABLISHMENT: NewCondition = {
  type: 'Established',
  status: 'True',
  reason: 'InitialNamesAccepted',
  message: 'the initial names have been accepted',
};
const TERMINATION: NewCondition = {
  type: 'Terminating',
  status: 'True',
  reason: 'InstanceDeletionPending',
  message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
};

/** Returns the conditions with `next` added or replaced. The transition time changes only with the status. */
function withCondition(conditions: readonly DefinitionCondition[], next: NewCondition, now: string): readonly DefinitionCondition[] {
  const index = conditions.findIndex(({ type }) => type === next.type);
  const old = conditions[index];
  const { type, status, ...cause } = next;
  const lastTransitionTime = old?.status === status ? (old.lastTransitionTime ?? now) : now;
  const condition = { type, status, lastTransitionTime, ...cause };
  return old === undefined ? [...conditions, condition] : conditions.with(index, condition);
}

/** Finalizer that keeps a definition until its custom resources are deleted. */
export const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';

/** Returns the definition with a deletion time, the cleanup finalizer and the Terminating condition. */
function toTerminating(draft: DraftDefinition, deletedAt: string): KubeObject {
  const { finalizers = [] } = draft.metadata;
  return {
    ...draft,
    metadata: {
      ...draft.metadata,
      deletionTimestamp: deletedAt,
      finalizers: finalizers.includes(CLEANUP_FINALIZER) ? finalizers : [...finalizers, CLEANUP_FINALIZER],
    },
    status: { ...draft.status, conditions: withCondition(draft.status?.conditions ?? [], TERMINATION, deletedAt) },
  };
}

function applyDefaults(definition: CustomResourceDefinition): CustomResourceDefinition {
  const { spec, status } = definition;
  const { kind, singular = '', listKind = '' } = spec.names;
  const stored = status?.storedVersions ?? [];
  return {
    ...definition,
    spec: {
      ...spec,
      names: {
        ...spec.names,
        ...(singular === '' && kind !== '' && { singular: kind.toLowerCase() }),
        ...(listKind === '' && kind !== '' && { listKind: `${kind}List` }),
      },
      conversion: spec.conversion ?? { strategy: 'None' },
    },
    status: { ...status, storedVersions: stored.length > 0 ? stored : toStorageVersions(spec) },
  };
}

function toStorageVersions({ versions }: DefinitionSpec): readonly string[] {
  return versions.filter(({ storage }) => storage).map(({ name }) => name);
}

function prepareForUpdate(next: CustomResourceDefinition, old: CustomResourceDefinition): CustomResourceDefinition {
  const { generation = 0 } = old.metadata;
  return {
    ...next,
    metadata: { ...next.metadata, generation: isSameValue(next.spec, old.spec) ? generation : generation + 1 },
    status: old.status ?? {},
  };
}

function validate(definition: CustomResourceDefinition): readonly FieldError[] {
  const { group, names } = definition.spec;
  const expected = `${names.plural}.${group}`;
  const validateName = (name: string, prefix: boolean) => [
    ...validateSubdomainName(name, prefix),
    ...(name === expected ? [] : ['must be spec.names.plural+"."+spec.group']),
  ];
  return [...validateMetadata(definition, { namespaced: false, validateName }), ...validateSpec(definition.spec)];
}

function validateUpdate(next: CustomResourceDefinition, old: CustomResourceDefinition): readonly FieldError[] {
  const { spec } = next;
  const immutable = (field: string, value: string, before: string) =>
    value === before ? [] : [invalidValue(field, value, 'field is immutable')];
  return [
    ...validateMetadataUpdate(next, old),
    ...validateSpec(spec),
    ...(hasCondition(old, 'Established')
      ? [...immutable('spec.scope', spec.scope, old.spec.scope), ...immutable('spec.names.kind', spec.names.kind, old.spec.names.kind)]
      : []),
    ...immutable('spec.group', spec.group, old.spec.group),
    ...immutable('spec.names.plural', spec.names.plural, old.spec.names.plural),
    ...(spec.versions[0]?.name === old.spec.versions[0]?.name
      ? []
      : [forbiddenValue('spec.versions[0].name', notSupported('a change of the stored version'))]),
  ];
}

const SCOPES: readonly string[] = ['Cluster', 'Namespaced'];

function validateSpec({ group, scope, names, versions, conversion, preserveUnknownFields }: DefinitionSpec): readonly FieldError[] {
  const required = (['plural', 'singular', 'kind', 'listKind'] as const).filter((name) => (names[name] ?? '') === '');
  const isGroup = validateDns1123Subdomain(group).length === 0 && group.includes('.');
  return [
    ...(isGroup ? [] : [invalidValue('spec.group', group, 'should be a domain with at least one dot')]),
    ...(SCOPES.includes(scope) ? [] : [unsupportedValue('spec.scope', scope, SCOPES)]),
    ...required.map((name) => requiredValue(`spec.names.${name}`)),
    ...(versions.length === 1 && versions[0]?.storage
      ? []
      : [forbiddenValue('spec.versions', notSupported('definitions unless they have exactly one version, with storage: true'))]),
    ...versions.flatMap((version, index) => validateVersion(version, `spec.versions[${index}]`)),
    ...(conversion === undefined || conversion.strategy === 'None'
      ? []
      : [forbiddenValue('spec.conversion.strategy', notSupported('conversion webhooks'))]),
    ...(preserveUnknownFields ? [forbiddenValue('spec.preserveUnknownFields', notSupported('preserveUnknownFields'))] : []),
  ];
}

function validateVersion({ schema, subresources, ...rest }: DefinitionVersion, path: string): readonly FieldError[] {
  const declared = schema?.openAPIV3Schema;
  const paths = [...(rest.additionalPrinterColumns ?? []), ...(rest.selectableFields ?? [])].map(({ jsonPath }) => jsonPath);
  return [
    ...(declared === undefined
      ? [requiredValue(`${path}.schema.openAPIV3Schema`)]
      : validateDeclaredSchema(declared, `${path}.schema.openAPIV3Schema`)),
    ...(subresources?.scale === undefined ? [] : [forbiddenValue(`${path}.subresources.scale`, notSupported('the scale subresource'))]),
    ...paths.flatMap((each) => (each?.startsWith('.') ? [] : [invalidValue(path, each, 'must be a simple json path starting with .')])),
  ];
}

function validateDeclaredSchema(schema: Schema, path: string): readonly FieldError[] {
  const { format, pattern = '', items, properties = {}, additionalProperties: values, 'x-kubernetes-validations': rules = [] } = schema;
  const problem = pattern === '' ? undefined : findPatternProblem(pattern);
  return [
    ...Object.keys(schema).flatMap((name) =>
      KEYWORDS.includes(name) ? [] : [forbiddenValue(`${path}.${name}`, notSupported(`${name} in schemas`))],
    ),
    ...(format === undefined || FORMATS.has(format) ? [] : [forbiddenValue(`${path}.format`, notSupported(`the format ${format}`))]),
    ...(problem === undefined
      ? []
      : [invalidValue(`${path}.pattern`, pattern, `must be a valid regular expression, but isn't: ${problem}`)]),
    ...rules.flatMap((rule, index) => {
      const unsupported = findRuleProblem(rule);
      return unsupported === undefined ? [] : [forbiddenValue(`${path}.x-kubernetes-validations[${index}]`, unsupported)];
    }),
    ...(items === undefined ? [] : validateDeclaredSchema(items, `${path}.items`)),
    ...Object.entries(properties).flatMap(([key, property]) => validateDeclaredSchema(property, `${path}.properties[${key}]`)),
    ...(typeof values === 'object' ? validateDeclaredSchema(values, `${path}.additionalProperties`) : []),
  ];
}

const strategy: Strategy = {
  unconditionalUpdate: false,
  toTerminating,
  applyDefaults: (draft: DraftDefinition) => applyDefaults(toDefinition(draft)),
  prepareForCreate: (draft: DraftDefinition) => {
    const definition = toDefinition(draft);
    return {
      ...definition,
      metadata: { ...definition.metadata, generation: 1 },
      status: { storedVersions: toStorageVersions(definition.spec) },
    };
  },
  prepareForUpdate: (next: DraftDefinition, old: DraftDefinition) => prepareForUpdate(toDefinition(next), toDefinition(old)),
  prepareForStatusUpdate: (next, old: DraftDefinition) => ({ ...next, spec: toDefinition(old).spec }),
  validate: (draft: DraftDefinition) => validate(toDefinition(draft)),
  validateUpdate: (next: DraftDefinition, old: DraftDefinition) => validateUpdate(toDefinition(next), toDefinition(old)),
  validateStatusUpdate: validateMetadataUpdate,
};

const self = { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' };

export const customResourceDefinitionKind: Kind = createBuiltInKind({
  ...self,
  namespaced: false,
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  schema: DEFINITION_SCHEMA,
  subresources: [{ name: 'status', kind: self, verbs: ['get', 'patch', 'update'] }],
  table: DEFAULT_TABLE,
  strategy,
});
