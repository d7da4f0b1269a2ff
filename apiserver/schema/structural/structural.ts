// What makes a schema structural: every value has a type outside of anyOf and the like, and these only narrow it down.

import { type FieldError, fieldErrorText, forbiddenValue, invalidValue, requiredValue } from '../../../src/kubernetes/field-error.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';
import { compareUtf8 } from '../../../src/std/go-text.ts';
import { patternProblem } from '../pattern.ts';
import { incompleteErrors } from './complete.ts';
import { nestedErrors } from './nested.ts';

/** Why a schema is not structural, sorted by text. */
export function structuralErrors(schema: Schema, path: string): readonly FieldError[] {
  const errors = [...nodeErrors(schema, 'root', path), ...incompleteErrors(schema, path)];
  return errors.sort((a, b) => compareUtf8(fieldErrorText(a), fieldErrorText(b)));
}

type Level = 'root' | 'item' | 'field';

function nodeErrors(schema: Schema, level: Level, path: string): readonly FieldError[] {
  const { type, items, properties = {}, additionalProperties: values } = schema;
  return [
    ...(type === 'array' && items === undefined ? [requiredValue(`${path}.items`, 'must be specified')] : []),
    // A list of schemas is no schema, which is told elsewhere.
    ...(items === undefined || Array.isArray(items) ? [] : nodeErrors(items, 'item', `${path}.items`)),
    ...Object.entries(properties).flatMap(([key, property]) => nodeErrors(property, 'field', `${path}.properties[${key}]`)),
    ...(values !== undefined && level === 'root' ? [forbiddenValue(`${path}.additionalProperties`, 'must not be used at the root')] : []),
    ...(typeof values === 'object' ? nodeErrors(values, 'field', `${path}.additionalProperties`) : []),
    ...extensionErrors(schema, path),
    ...valueErrors(schema, path),
    ...typeErrors(schema, level, path),
    ...(schema['x-kubernetes-embedded-resource'] ? embeddedErrors(schema, path) : []),
    ...(schema['x-kubernetes-embedded-resource'] || level === 'root' ? metaErrors(schema, level, path) : []),
  ];
}

function embeddedErrors(schema: Schema, path: string): readonly FieldError[] {
  const isUnspecified = !schema['x-kubernetes-preserve-unknown-fields'] && Object.keys(schema.properties ?? {}).length === 0;
  const unspecified = 'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields';
  return [
    ...(schema.additionalProperties === undefined
      ? []
      : [forbiddenValue(`${path}.additionalProperties`, 'must not be used if x-kubernetes-embedded-resource is set')]),
    ...(isUnspecified ? [requiredValue(`${path}.properties`, unspecified)] : []),
  ];
}

function extensionErrors(schema: Schema, path: string): readonly FieldError[] {
  if (!schema['x-kubernetes-int-or-string']) return [];
  const excluded = ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'] as const;
  return excluded
    .filter((name) => schema[name])
    .map((name) => invalidValue(`${path}.${name}`, true, 'must be false if x-kubernetes-int-or-string is true'));
}

/** The exceptions for int-or-string: its two types may stand in anyOf, or in the anyOf of the first allOf. */
function valueErrors(schema: Schema, path: string): readonly FieldError[] {
  const { pattern = '' } = schema;
  const problem = pattern === '' ? undefined : patternProblem(pattern);
  return [
    ...nestedErrors(schema, path, { anyOf: isIntOrString(schema.anyOf), allOfAnyOf: isIntOrString(schema.allOf?.[0]?.anyOf) }),
    ...(problem === undefined
      ? []
      : [invalidValue(`${path}.pattern`, pattern, `must be a valid regular expression, but isn't: ${problem}`)]),
  ];
}

function isIntOrString(schemas: readonly Schema[] = []): boolean {
  const isOnly = (schema: Schema | undefined, type: string) => schema?.type === type && Object.keys(schema).length === 1;
  return schemas.length === 2 && isOnly(schemas[0], 'integer') && isOnly(schemas[1], 'string');
}

const EMPTY_TYPES: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

function typeErrors(schema: Schema, level: Level, path: string): readonly FieldError[] {
  const { type } = schema;
  const field = `${path}.type`;
  if (schema['x-kubernetes-embedded-resource'] && type !== 'object') {
    const detail = 'must be object if x-kubernetes-embedded-resource is true';
    return [type === undefined ? requiredValue(field, detail) : invalidValue(field, type, detail)];
  }
  const isUntyped = type === undefined && !schema['x-kubernetes-int-or-string'] && !schema['x-kubernetes-preserve-unknown-fields'];
  if (isUntyped) return [requiredValue(field, EMPTY_TYPES[level])];
  return level === 'root' && type !== undefined && type !== 'object' ? [invalidValue(field, type, 'must be object at the root')] : [];
}

/** Type and metadata of a resource are given; a schema may only narrow down the name. */
function metaErrors({ properties = {} }: Schema, level: Level, path: string): readonly FieldError[] {
  const { metadata } = properties;
  const typeOf = (name: string) => `${path}.properties[${name}].type`;
  return [
    ...['kind', 'apiVersion'].flatMap((name) => {
      const type = properties[name]?.type;
      return properties[name] === undefined || type === 'string' ? [] : [invalidValue(typeOf(name), type ?? '', 'must be string')];
    }),
    ...(metadata === undefined || metadata.type === 'object'
      ? []
      : [invalidValue(typeOf('metadata'), metadata.type ?? '', 'must be object')]),
    ...(level === 'root' && metadata !== undefined && !isNameOnly(metadata)
      ? [
          forbiddenValue(
            `${path}.properties[metadata]`,
            'must not specify anything other than name and generateName, but metadata is implicitly specified',
          ),
        ]
      : []),
  ];
}

function isNameOnly(metadata: Schema): boolean {
  const hasOthers = Object.keys(metadata.properties ?? {}).some((name) => name !== 'name' && name !== 'generateName');
  return !hasOthers && Object.keys(metadata).every((key) => key === 'type' || key === 'default' || key === 'properties');
}
