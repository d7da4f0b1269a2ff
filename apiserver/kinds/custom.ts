// Kinds that CustomResourceDefinitions define: names, validation, and the status subresource.

import { toCustomTable } from '../../src/kubernetes/custom-table.ts';
import { type FieldError, invalidValue } from '../../src/kubernetes/field-error.ts';
import { isFields, type KubeObject, type Value } from '../../src/kubernetes/object.ts';
import { OBJECT_META } from '../../src/kubernetes/schema/go-struct.ts';
import { parseJsonPath } from '../../src/kubernetes/schema/json-path.ts';
import { prune } from '../../src/kubernetes/schema/prune.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { goNumber } from '../../src/std/go-text.ts';
import { sameValue } from '../same-value.ts';
import { withDefaults } from '../schema/defaults.ts';
import { validateListTypes } from '../schema/list-types.ts';
import { hasRules, validateRules } from '../schema/rules.ts';
import { newErrors, validateSchema } from '../schema/validate.ts';
import { type CustomResourceDefinition, type DefinitionSpec, type DefinitionVersion, hasCondition } from './definition.ts';
import type { Kind, Rules, Verb } from './kind.ts';
import {
  keepSystemMetadata,
  subdomainNameProblems,
  validateCommonMetadata,
  validateCommonMetadataUpdate,
  validateMetadata,
  validateMetadataUpdate,
  withIncrementedGeneration,
} from './metadata.ts';

const VERBS: readonly Verb[] = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const TERMINATING = 'create not allowed while custom resource definition is terminating';

/** Returns the kind that a definition serves; undefined before it is established. */
export function servedKind(definition: CustomResourceDefinition): Kind | undefined {
  return hasCondition(definition, 'Established') ? customKind(definition) : undefined;
}

/** Returns the kind of a valid definition; undefined if its version is not served. */
export function customKind({ metadata, spec }: CustomResourceDefinition): Kind | undefined {
  const [version] = spec.versions;
  const rejection = metadata.deletionTimestamp === undefined ? {} : { createRejection: TERMINATING };
  return version?.served ? { ...kindOf(spec, version), ...rejection } : undefined;
}

function kindOf({ group, names, scope }: DefinitionSpec, version: DefinitionVersion): Kind {
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
    rules: customRules({ ...self, namespaced, schema, hasStatus, hasRules: hasRules(schema) }),
    table: toCustomTable(version.additionalPrinterColumns),
    selectableFields: Object.fromEntries((version.selectableFields ?? []).map(({ jsonPath }) => selectableField(jsonPath))),
    fieldLabelErrors: 'named',
    fromStored: readerFor(schema),
  };
}

function withMetadata(schema: Schema): Schema {
  const text: Schema = { type: 'string' };
  return { ...schema, properties: { apiVersion: text, kind: text, ...schema.properties, metadata: OBJECT_META } };
}

/** Returns a function that prunes a stored object by the schema and fills in defaults. It returns the same object if nothing changes. */
function readerFor(schema: Schema): (stored: KubeObject) => KubeObject {
  const cache = new WeakMap<KubeObject, KubeObject>();
  return (stored) => {
    const cached = cache.get(stored);
    if (cached !== undefined) return cached;
    const current = withDefaults(prune(stored, schema).value, schema);
    const object = sameValue(current, stored) ? stored : current;
    cache.set(stored, object);
    return object;
  };
}

function selectableField(jsonPath: string): readonly [string, (object: KubeObject) => string] {
  const path = parseJsonPath(jsonPath);
  return [jsonPath.replace(/^\./, ''), (object) => selectorText(isFields(object) ? path(object)[0] : undefined)];
}

function selectorText(value: Value | undefined): string {
  if (typeof value === 'number' || typeof value === 'bigint') return goNumber(value);
  return typeof value === 'string' || typeof value === 'boolean' ? String(value) : '';
}

interface CustomVersion extends Pick<Kind, 'group' | 'version' | 'kind' | 'namespaced'> {
  /** Schema as declared, without the fields of metadata. */
  readonly schema: Schema;
  readonly hasStatus: boolean;
  readonly hasRules: boolean;
}

function customRules(version: CustomVersion): Rules {
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
      const metadataErrors = validateMetadata(object, { namespaced, nameProblems: subdomainNameProblems });
      const errors = contentErrors(object, version, [...metadataErrors, ...validateSchema(valueOf(object), schema)]);
      return errors.length > 0 ? errors : validateCommonMetadata(object, namespaced);
    },
    validateUpdate: (next, old) => {
      const schemaErrors = newErrors(validateSchema(valueOf(next), schema), () => validateSchema(valueOf(old), schema));
      const errors = contentErrors(next, version, [...validateMetadataUpdate(next, old), ...schemaErrors], old);
      return [...validateCommonMetadataUpdate(next, old, namespaced), ...errors];
    },
    validateStatusUpdate: (next, old) => {
      const newStatusErrors = newErrors(statusErrors(next, schema), () => statusErrors(old, schema));
      const errors = contentErrors(next, version, [...validateMetadataUpdate(next, old), ...newStatusErrors], old);
      return [...validateCommonMetadataUpdate(next, old, namespaced), ...errors];
    },
    unconditionalUpdate: false,
    deleteReturnsObject: false,
  };
}

/** Returns the errors of type, schema, lists and rules, in kube-apiserver's order. */
function contentErrors(
  object: KubeObject,
  version: CustomVersion,
  schemaErrors: readonly FieldError[],
  old?: KubeObject,
): readonly FieldError[] {
  const { schema } = version;
  const [value, before] = [valueOf(object), old && valueOf(old)];
  const typeErrors = typeMetaErrors(object, version);
  const errors = [
    ...(typeErrors.length > 0 ? typeErrors : schemaErrors),
    ...newErrors(validateListTypes(value, schema), () => (before === undefined ? [] : validateListTypes(before, schema))),
  ];
  if (!version.hasRules) return errors;
  if (errors.some(({ type }) => BLOCKING.has(type))) return [...errors, invalidValue('<nil>', null, NOT_CHECKED)];
  const ruleErrors = validateRules(value, schema, before);
  return [...errors, ...newErrors(ruleErrors, () => (before === undefined ? [] : validateRules(before, schema)))];
}

/** Types of schema errors after which kube-apiserver does not evaluate rules. */
const BLOCKING: ReadonlySet<FieldError['type']> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);
const NOT_CHECKED =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

function typeMetaErrors({ kind, apiVersion }: KubeObject, expected: CustomVersion): readonly FieldError[] {
  const version = `${expected.group}/${expected.version}`;
  return [
    ...(kind === expected.kind ? [] : [invalidValue('kind', kind, `must be ${expected.kind}`)]),
    ...(apiVersion === version ? [] : [invalidValue('apiVersion', apiVersion, `must be ${version}`)]),
  ];
}

function statusErrors(object: KubeObject, schema: Schema): readonly FieldError[] {
  const value = valueOf(object);
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

function valueOf(object: KubeObject): Value {
  return isFields(object) ? object : null;
}
