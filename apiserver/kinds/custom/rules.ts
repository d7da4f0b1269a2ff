// The rules of custom resources' lives: what the schema of their version demands, and how status is kept apart.

import { type FieldError, invalidValue } from '../../../src/kubernetes/field-error.ts';
import { isFields, type KubeObject, type Value } from '../../../src/kubernetes/object.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';
import { hasRules, validateRules } from '../../schema/cel/rules.ts';
import { withDefaults } from '../../schema/default.ts';
import { validateListTypes } from '../../schema/list-types.ts';
import { validateSchema, validateSchemaUpdate } from '../../schema/validate.ts';
import type { Kind, Rules } from '../kind.ts';
import { finalizerWarnings, keepSystemMetadata, withCountedGeneration } from '../lifecycle.ts';
import { validateAnyMetadata, validateAnyMetadataUpdate, validateMetadata, validateMetadataUpdate } from '../metadata.ts';
import { subdomainName } from '../name-rules.ts';
import { validateEmbedded } from './embedded.ts';

/** What the rules of one version depend on. */
export interface CustomVersion extends Pick<Kind, 'group' | 'version' | 'kind' | 'namespaced'> {
  /** As the definition declares it. */
  readonly schema: Schema;
  readonly hasStatus: boolean;
}

/** The rules of one version of a custom resource. */
export function customRules(version: CustomVersion): Rules {
  const { schema, namespaced, hasStatus } = version;
  const checks = { ...version, hasRules: hasRules(schema) };
  return {
    defaulted: (object) => withDefaults(object, schema),
    prepareForCreate: (object) => firstGeneration(hasStatus ? withoutStatus(object) : object),
    prepareForUpdate: (next, old) => {
      const kept = keepSystemMetadata(next, old);
      return withCountedGeneration(hasStatus ? withStatusOf(kept, old) : kept, old);
    },
    prepareForStatusUpdate: (next, old) => withStatusOf({ ...old, metadata: withManagedFieldsOf(old, next) }, next),
    validate: (object) => {
      const errors = validateNew(object, checks);
      return errors.length > 0 ? errors : validateAnyMetadata(object, namespaced);
    },
    validateUpdate: (next, old) => [...validateAnyMetadataUpdate(next, old, namespaced), ...validateChange(next, old, checks)],
    validateStatusUpdate: (next, old) => [...validateAnyMetadataUpdate(next, old, namespaced), ...validateStatusChange(next, old, checks)],
    warnings: finalizerWarnings,
    unconditionalUpdate: false,
    createOnUpdate: false,
    deleteReturnsObject: false,
    hasGeneration: true,
  };
}

interface Checks extends CustomVersion {
  readonly hasRules: boolean;
}

function firstGeneration(object: KubeObject): KubeObject {
  return { ...object, metadata: { ...object.metadata, generation: 1 } };
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

function validateNew(object: KubeObject, checks: Checks): readonly FieldError[] {
  const { schema, namespaced } = checks;
  const value = valueOf(object);
  const typeErrors = validateType(object, checks);
  const errors = [
    ...(typeErrors.length > 0
      ? typeErrors
      : [...validateMetadata(object, { namespaced, nameProblems: subdomainName }), ...validateSchema(value, schema)]),
    ...validateEmbedded(value, schema),
    ...validateListTypes(value, schema),
  ];
  return withRuleErrors(errors, checks, () => validateRules(value, schema));
}

function validateChange(next: KubeObject, old: KubeObject, checks: Checks): readonly FieldError[] {
  const { schema } = checks;
  const [value, before] = [valueOf(next), valueOf(old)];
  const typeErrors = validateType(next, checks);
  const errors = [
    ...(typeErrors.length > 0 ? typeErrors : [...validateMetadataUpdate(next, old), ...validateSchemaUpdate(value, before, schema)]),
    ...validateEmbedded(value, schema),
    ...(validateListTypes(before, schema).length > 0 ? [] : validateListTypes(value, schema)),
  ];
  return withRuleErrors(errors, checks, () => validateRules(value, schema, before));
}

function validateStatusChange(next: KubeObject, old: KubeObject, checks: Checks): readonly FieldError[] {
  const { schema } = checks;
  const [value, before] = [valueOf(next), valueOf(old)];
  const typeErrors = validateType(next, checks);
  const errors = [
    ...(typeErrors.length > 0 ? typeErrors : [...validateMetadataUpdate(next, old), ...statusErrors(value, before, schema)]),
    ...(validateListTypes(before, schema).length > 0 ? [] : validateListTypes(value, schema)),
  ];
  return withRuleErrors(errors, checks, () => validateRules(value, schema, before));
}

function statusErrors(value: Value, old: Value, schema: Schema): readonly FieldError[] {
  const status = isFields(value) ? value['status'] : undefined;
  const statusSchema = schema.properties?.['status'];
  if (status === undefined || statusSchema === undefined) return [];
  return validateSchemaUpdate(status, isFields(old) ? old['status'] : undefined, statusSchema, 'status');
}

function validateType({ kind, apiVersion }: KubeObject, expected: Checks): readonly FieldError[] {
  const version = `${expected.group}/${expected.version}`;
  return [
    ...(kind === expected.kind ? [] : [invalidValue('kind', kind, `must be ${expected.kind}`)]),
    ...(apiVersion === version ? [] : [invalidValue('apiVersion', apiVersion, `must be ${version}`)]),
  ];
}

/** Errors of structure after which rules could only confuse. */
const BLOCKING: ReadonlySet<FieldError['type']> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

const NOT_CHECKED =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

function withRuleErrors(errors: readonly FieldError[], checks: Checks, rules: () => readonly FieldError[]): readonly FieldError[] {
  if (!checks.hasRules) return errors;
  const isBlocked = errors.some(({ type }) => BLOCKING.has(type));
  return [...errors, ...(isBlocked ? [invalidValue('<nil>', null, NOT_CHECKED)] : rules())];
}

function valueOf(object: KubeObject): Value {
  return isFields(object) ? object : null;
}
