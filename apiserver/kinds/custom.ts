// Kinds that CustomResourceDefinitions define: names, validation, and the status subresource.

import { toCustomTable } from '../../src/kubernetes/custom-table.ts';
import { type FieldError, invalidValue } from '../../src/kubernetes/field-error.ts';
import { isFields, type KubeObject, type Value } from '../../src/kubernetes/object.ts';
import { OBJECT_META } from '../../src/kubernetes/schema/go-struct.ts';
import { parseJsonPath } from '../../src/kubernetes/schema/json-path.ts';
import { prune } from '../../src/kubernetes/schema/prune.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { formatGoNumber } from '../../src/std/go-text.ts';
import { isSameValue } from '../same-value.ts';
import { withDefaults } from '../schema/defaults.ts';
import { validateListTypes } from '../schema/list-types.ts';
import { hasRules, validateRules } from '../schema/rules.ts';
import { filterNewErrors, validateSchema } from '../schema/validate.ts';
import { type CustomResourceDefinition, type DefinitionSpec, type DefinitionVersion, hasCondition } from './definition.ts';
import type { Kind, Rules, Verb } from './kind.ts';
import {
  keepSystemMetadata,
  validateCommonMetadata,
  validateCommonMetadataUpdate,
  validateMetadata,
  validateMetadataUpdate,
  validateSubdomainName,
  withIncrementedGeneration,
} from './metadata.ts';

const VERBS: readonly Verb[] = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const CREATE_REJECTION = 'create not allowed while custom resource definition is terminating';

/** Returns the kind that a definition serves; undefined if the definition is not established, or if its version is not served. */
export function toServedKind(definition: CustomResourceDefinition): Kind | undefined {
  return hasCondition(definition, 'Established') && definition.spec.versions[0]?.served ? toCustomKind(definition) : undefined;
}

/** Returns the kind of a valid definition, which has one version. */
export function toCustomKind({ metadata, spec }: CustomResourceDefinition): Kind {
  const rejection = metadata.deletionTimestamp === undefined ? {} : { createRejection: CREATE_REJECTION };
  return { ...createKind(spec, spec.versions[0] as DefinitionVersion), ...rejection };
}

function createKind({ group, names, scope }: DefinitionSpec, version: DefinitionVersion): Kind {
  const { kind, plural, singular = kind.toLowerCase(), listKind = `${kind}List`, shortNames = [], categories = [] } = names;
  const self = { group, version: version.name, kind };
  const schema = version.schema?.openAPIV3Schema ?? { type: 'object' };
  const hasStatus = version.subresources?.status !== undefined;
  const namespaced = scope === 'Namespaced';
  return {
    ...self,
    plural,
    singular,
    listKind,
    shortNames,
    categories,
    namespaced,
    verbs: VERBS,
    builtIn: false,
    schema: withMetadata(schema),
    subresources: hasStatus ? [{ name: 'status', kind: self, verbs: ['get', 'patch', 'update'] }] : [],
    rules: createRules({ ...self, namespaced, schema, hasStatus, hasRules: hasRules(schema) }),
    table: toCustomTable(version.additionalPrinterColumns),
    selectableFields: Object.fromEntries((version.selectableFields ?? []).map(({ jsonPath }) => toSelectableField(jsonPath))),
    fieldLabelErrors: 'named',
    fromStored: createReader(schema),
  };
}

function withMetadata(schema: Schema): Schema {
  const text: Schema = { type: 'string' };
  return { ...schema, properties: { apiVersion: text, kind: text, ...schema.properties, metadata: OBJECT_META } };
}

/** Returns a function that prunes a stored object by the schema and fills in defaults, or returns the same object if nothing changes. */
function createReader(schema: Schema): (stored: KubeObject) => KubeObject {
  const cache = new WeakMap<KubeObject, KubeObject>();
  return (stored) => {
    const cached = cache.get(stored);
    if (cached !== undefined) return cached;
    const current = withDefaults(prune(stored, schema).value, schema);
    const object = isSameValue(current, stored) ? stored : current;
    cache.set(stored, object);
    return object;
  };
}

function toSelectableField(jsonPath: string): readonly [string, (object: KubeObject) => string] {
  const path = parseJsonPath(jsonPath);
  return [jsonPath.replace(/^\./, ''), (object) => toSelectorText(isFields(object) ? path(object)[0] : undefined)];
}

function toSelectorText(value: Value | undefined): string {
  if (typeof value === 'number' || typeof value === 'bigint') return formatGoNumber(value);
  return typeof value === 'string' || typeof value === 'boolean' ? String(value) : '';
}

interface CustomVersion extends Pick<Kind, 'group' | 'version' | 'kind' | 'namespaced'> {
  /** Schema as declared, without the fields of metadata. */
  readonly schema: Schema;
  readonly hasStatus: boolean;
  readonly hasRules: boolean;
}

function createRules(version: CustomVersion): Rules {
  const { schema, namespaced, hasStatus } = version;
  return {
    applyDefaults: (object) => withDefaults(object, schema),
    prepareForCreate: (object) => {
      const fresh = hasStatus ? withoutStatus(object) : object;
      return { ...fresh, metadata: { ...fresh.metadata, generation: 1 } };
    },
    prepareForUpdate: (next, old) => {
      const kept = keepSystemMetadata(next, old);
      return withIncrementedGeneration(hasStatus ? withStatusOf(kept, old) : kept, old);
    },
    prepareForStatusUpdate: (next, old) => withStatusOf({ ...old, metadata: withManagedFieldsOf(old, next) }, next),
    validate: (object) => {
      const metadataErrors = validateMetadata(object, { namespaced, validateName: validateSubdomainName });
      const errors = validateContent(object, version, [...metadataErrors, ...validateSchema(toValue(object), schema)]);
      return errors.length > 0 ? errors : validateCommonMetadata(object, namespaced);
    },
    validateUpdate: (next, old) => {
      const schemaErrors = filterNewErrors(validateSchema(toValue(next), schema), () => validateSchema(toValue(old), schema));
      const errors = validateContent(next, version, [...validateMetadataUpdate(next, old), ...schemaErrors], old);
      return [...validateCommonMetadataUpdate(next, old, namespaced), ...errors];
    },
    validateStatusUpdate: (next, old) => {
      const newStatusErrors = filterNewErrors(validateStatus(next, schema), () => validateStatus(old, schema));
      const errors = validateContent(next, version, [...validateMetadataUpdate(next, old), ...newStatusErrors], old);
      return [...validateCommonMetadataUpdate(next, old, namespaced), ...errors];
    },
    unconditionalUpdate: false,
    deleteReturnsObject: false,
  };
}

/** Returns the errors of type, schema, lists and rules, in kube-apiserver's order. */
function validateContent(
  object: KubeObject,
  version: CustomVersion,
  schemaErrors: readonly FieldError[],
  old?: KubeObject,
): readonly FieldError[] {
  const { schema } = version;
  const [value, before] = [toValue(object), old && toValue(old)];
  const typeErrors = validateTypeMeta(object, version);
  const errors = [
    ...(typeErrors.length > 0 ? typeErrors : schemaErrors),
    ...filterNewErrors(validateListTypes(value, schema), () => (before === undefined ? [] : validateListTypes(before, schema))),
  ];
  if (!version.hasRules) return errors;
  if (errors.some(({ type }) => BLOCKING_TYPES.has(type))) return [...errors, invalidValue('<nil>', null, RULES_NOT_CHECKED)];
  const ruleErrors = validateRules(value, schema, before);
  return [...errors, ...filterNewErrors(ruleErrors, () => (before === undefined ? [] : validateRules(before, schema)))];
}

/** Types of errors after which kube-apiserver does not evaluate rules. */
const BLOCKING_TYPES: ReadonlySet<FieldError['type']> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);
const RULES_NOT_CHECKED =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

function validateTypeMeta({ kind, apiVersion }: KubeObject, expected: CustomVersion): readonly FieldError[] {
  const version = `${expected.group}/${expected.version}`;
  return [
    ...(kind === expected.kind ? [] : [invalidValue('kind', kind, `must be ${expected.kind}`)]),
    ...(apiVersion === version ? [] : [invalidValue('apiVersion', apiVersion, `must be ${version}`)]),
  ];
}

function validateStatus(object: KubeObject, schema: Schema): readonly FieldError[] {
  const value = toValue(object);
  const status = isFields(value) ? value['status'] : undefined;
  const statusSchema = schema.properties?.['status'];
  return status === undefined || statusSchema === undefined ? [] : validateSchema(status, statusSchema, 'status');
}

function withoutStatus(object: KubeObject): KubeObject {
  const { status: _, ...rest } = object;
  return { ...rest, apiVersion: object.apiVersion, kind: object.kind, metadata: object.metadata };
}

function withStatusOf(object: KubeObject, other: KubeObject): KubeObject {
  return other['status'] === undefined ? withoutStatus(object) : { ...object, status: other['status'] };
}

function withManagedFieldsOf({ metadata }: KubeObject, { metadata: { managedFields } }: KubeObject): KubeObject['metadata'] {
  const { managedFields: _, ...rest } = metadata;
  return managedFields === undefined ? rest : { ...rest, managedFields };
}

function toValue(object: KubeObject): Value {
  return isFields(object) ? object : null;
}
