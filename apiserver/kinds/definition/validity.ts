// The schema of a version: structural, with valid defaults and rules, and fit for a status subresource if there is one.

import { type FieldError, forbiddenValue, invalidOmitted, invalidValue } from '../../../src/kubernetes/field-error.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';
import { goQuote } from '../../../src/std/go-text.ts';
import { type DeclaredSchema, declaredErrors } from '../../schema/declared/declared.ts';
import { enforcedFormat } from '../../schema/formats.ts';
import { defaultErrors } from '../../schema/structural/defaults.ts';
import { structuralErrors } from '../../schema/structural/structural.ts';
import type { CustomResourceDefinition, DefinitionVersion } from './types.ts';

/** What is wrong with the schema of a version. */
export function schemaErrors(schema: DefinitionVersion['schema'], path: string, hasStatus: boolean): readonly FieldError[] {
  const root = schema?.openAPIV3Schema;
  if (root === undefined) return [];
  const at = `${path}.openAPIV3Schema`;
  const structural = structuralErrors(root, at);
  const unfit = structural.length > 0 ? structural : defaultErrors(root, at);
  const declared = declaredErrors(root, { path: at, isRoot: true, inMeta: false, compiles: unfit.length === 0 });
  return [
    ...(hasStatus ? statusErrors(root, at) : []),
    ...(root.nullable ? [forbiddenValue(`${at}.nullable`, 'nullable cannot be true at the root')] : []),
    ...unfit,
    ...declared.schema,
    ...declared.rules,
  ];
}

/** The status is validated by its own part of the schema, so the root may not say what would get lost. */
function statusErrors(root: DeclaredSchema, path: string): readonly FieldError[] {
  if (root.type !== undefined && root.type !== 'object') {
    const detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    return [invalidValue(`${path}.type`, root.type, detail)];
  }
  if (Object.keys(root).every((name) => name in AT_ROOT)) return [];
  const names = Object.values(AT_ROOT).join(' ');
  return [invalidOmitted(path, `only [${names}] fields are allowed at the root of the schema if the status subresource is enabled`)];
}

const AT_ROOT: Readonly<Record<string, string>> = {
  description: 'Description',
  type: 'Type',
  format: 'Format',
  title: 'Title',
  maximum: 'Maximum',
  exclusiveMaximum: 'ExclusiveMaximum',
  minimum: 'Minimum',
  exclusiveMinimum: 'ExclusiveMinimum',
  maxLength: 'MaxLength',
  minLength: 'MinLength',
  pattern: 'Pattern',
  maxItems: 'MaxItems',
  minItems: 'MinItems',
  uniqueItems: 'UniqueItems',
  multipleOf: 'MultipleOf',
  required: 'Required',
  items: 'Items',
  properties: 'Properties',
  externalDocs: 'ExternalDocs',
  example: 'Example',
  'x-kubernetes-preserve-unknown-fields': 'XPreserveUnknownFields',
  'x-kubernetes-validations': 'XValidations',
};

/** What the writer of a definition is told about formats that mean nothing, unless they were there before. */
export function formatWarnings(next: CustomResourceDefinition, old?: CustomResourceDefinition): readonly string[] {
  const known = new Set(old === undefined ? [] : unknownFormats(old));
  return [...new Set(unknownFormats(next))]
    .filter((format) => !known.has(format))
    .map((format) => `unrecognized format ${goQuote(format)}`);
}

function unknownFormats({ spec }: CustomResourceDefinition): readonly string[] {
  return spec.versions.flatMap(({ schema }) => formatsIn(schema?.openAPIV3Schema));
}

function formatsIn(schema: Schema | undefined): readonly string[] {
  if (schema === undefined) return [];
  const { format, items, properties = {}, additionalProperties: values } = schema;
  return [
    ...(format === undefined || enforcedFormat(schema) ? [] : [format]),
    ...[items, typeof values === 'object' ? values : undefined, ...Object.values(properties)].flatMap(formatsIn),
  ];
}
