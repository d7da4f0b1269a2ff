// Schemas under anyOf, allOf, oneOf and not: they may demand things of a value, but not say what the value is.

import { type FieldError, forbiddenValue } from '../../../src/kubernetes/field-error.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';

interface Exceptions {
  readonly anyOf: boolean;
  readonly allOfAnyOf: boolean;
}

const NONE: Exceptions = { anyOf: false, allOfAnyOf: false };

/** What the alternatives of a schema say that they must not say. */
export function nestedErrors(schema: Schema, path: string, except: Exceptions = NONE): readonly FieldError[] {
  const { anyOf = [], allOf = [], oneOf = [], not } = schema;
  return [
    ...(except.anyOf ? [] : anyOf.flatMap((each, index) => alternativeErrors(each, `${path}.anyOf[${index}]`))),
    ...allOf.flatMap((each, index) =>
      alternativeErrors(each, `${path}.allOf[${index}]`, { anyOf: except.allOfAnyOf && index === 0, allOfAnyOf: false }),
    ),
    ...oneOf.flatMap((each, index) => alternativeErrors(each, `${path}.oneOf[${index}]`)),
    ...(not === undefined ? [] : alternativeErrors(not, `${path}.not`)),
  ];
}

function alternativeErrors(schema: Schema, path: string, except: Exceptions = NONE): readonly FieldError[] {
  const { items, properties = {} } = schema;
  return [
    ...nestedErrors(schema, path, except),
    ...(items === undefined ? [] : alternativeErrors(items, `${path}.items`)),
    ...Object.entries(properties).flatMap(([key, property]) => alternativeErrors(property, `${path}.properties[${key}]`)),
    ...FORBIDDEN.filter(([name]) => isSet(schema[name])).map(([name, detail]) => forbiddenValue(`${path}.${name}`, detail)),
    ...(Object.hasOwn(properties, 'metadata')
      ? [forbiddenValue(`${path}.properties[metadata]`, 'must not be specified in a nested context')]
      : []),
  ];
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== false && value !== '' && !(Array.isArray(value) && value.length === 0);
}

const EMPTY = 'must be empty to be structural';
const UNDEFINED = 'must be undefined to be structural';
const FALSE = 'must be false to be structural';

const FORBIDDEN: readonly (readonly [keyof Schema, string])[] = [
  ['type', EMPTY],
  ['additionalProperties', UNDEFINED],
  ['default', UNDEFINED],
  ['title', EMPTY],
  ['description', EMPTY],
  ['nullable', FALSE],
  ['x-kubernetes-preserve-unknown-fields', FALSE],
  ['x-kubernetes-embedded-resource', FALSE],
  ['x-kubernetes-int-or-string', FALSE],
  ['x-kubernetes-list-map-keys', EMPTY],
  ['x-kubernetes-list-type', UNDEFINED],
  ['x-kubernetes-map-type', UNDEFINED],
  ['x-kubernetes-validations', EMPTY],
];
