// What CRDs may not say in a schema although OpenAPI allows it, and how its Kubernetes extensions fit together.

import { type FieldError, forbiddenValue, invalidValue, unsupportedValue } from '../../../src/kubernetes/field-error.ts';
import { isList } from '../../../src/kubernetes/object.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';
import { listTypeErrors } from './lists.ts';
import type { Place } from './place.ts';
import { compilationErrors, ruleErrors } from './rules.ts';

/** A schema as it is declared; what is refused may still be there. */
export interface DeclaredSchema extends Schema {
  readonly id?: string;
  readonly $ref?: string;
  readonly patternProperties?: object;
  readonly dependencies?: object;
  readonly definitions?: object;
  readonly additionalItems?: unknown;
}

export interface DeclaredErrors {
  readonly schema: readonly FieldError[];
  readonly rules: readonly FieldError[];
}

/** What is wrong with a schema and all schemas in it. Rules are compiled where nothing else is wrong. */
export function declaredErrors(schema: DeclaredSchema, place: Place): DeclaredErrors {
  const below = children(schema, place).map(([child, at]) => declaredErrors(child, at));
  const own = [
    ...refusedErrors(schema, place),
    ...additionalErrors(schema, place.path),
    ...below.flatMap((errors) => errors.schema),
    ...extensionErrors(schema, place.path),
    ...listTypeErrors(schema, place.path),
    ...ruleErrors(schema, place.path),
  ];
  const compiled = own.length === 0 && place.compiles ? compilationErrors(schema, place) : [];
  return { schema: own, rules: [...below.flatMap((errors) => errors.rules), ...compiled] };
}

function refusedErrors(schema: DeclaredSchema, { path, noDefaults, inMeta }: Place): readonly FieldError[] {
  const { type, default: value } = schema;
  const present = REFUSED.filter((name) => schema[name] !== undefined);
  return [
    ...(type === undefined || TYPES.includes(type) ? [] : [unsupportedValue(`${path}.type`, type, TYPES)]),
    ...(value !== undefined && noDefaults !== undefined ? [forbiddenValue(`${path}.default`, `must not be set ${noDefaults}`)] : []),
    ...present.map((name) => forbiddenValue(`${path}.${name}`, `${name} is not supported`)),
    ...(String(type) === 'null' ? [forbiddenValue(`${path}.type`, 'type cannot be set to null, use nullable as an alternative')] : []),
    ...(isList(schema.items) ? [forbiddenValue(`${path}.items`, 'items must be a schema object and not an array')] : []),
    ...(inMeta && schema['x-kubernetes-embedded-resource']
      ? [forbiddenValue(`${path}.x-kubernetes-embedded-resource`, 'must not be used inside of resource meta')]
      : []),
    ...(schema.uniqueItems
      ? [forbiddenValue(`${path}.uniqueItems`, 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic')]
      : []),
  ];
}

const REFUSED = ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref'] as const;
const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

function additionalErrors({ additionalProperties, properties = {} }: Schema, path: string): readonly FieldError[] {
  const isRestricting = additionalProperties !== undefined && additionalProperties !== true;
  return isRestricting && Object.keys(properties).length > 0
    ? [forbiddenValue(`${path}.additionalProperties`, 'additionalProperties and properties are mutual exclusive')]
    : [];
}

function extensionErrors(schema: Schema, path: string): readonly FieldError[] {
  const preserves = schema['x-kubernetes-preserve-unknown-fields'];
  return preserves === false ? [invalidValue(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined')] : [];
}

type Child = readonly [DeclaredSchema, Place];

function children(schema: DeclaredSchema, place: Place): readonly Child[] {
  const { path } = place;
  const inner = { ...place, isRoot: false };
  const { additionalProperties: values, properties = {}, items, not, allOf = [], oneOf = [], anyOf = [] } = schema;
  const nested = { ...inner, compiles: false };
  const list = (name: string, schemas: readonly Schema[]): readonly Child[] =>
    schemas.map((each, index) => [each, { ...nested, path: `${path}.${name}[${index}]` }]);
  return [
    ...(typeof values === 'object' ? [mapValues(values, inner)] : []),
    ...Object.entries(properties).map(([key, property]) => propertyChild(key, property, { schema, place })),
    ...(not === undefined ? [] : [[not, { ...nested, path: `${path}.not` }] as const]),
    ...list('allOf', allOf),
    ...list('oneOf', oneOf),
    ...list('anyOf', anyOf),
    ...(items === undefined || isList(items) ? [] : [itemsChild(items, schema, inner)]),
  ];
}

function mapValues(values: Schema, place: Place): Child {
  const noDefaults = place.inMeta ? { noDefaults: 'inside additionalProperties applying to object metadata' } : {};
  return [values, { ...place, ...noDefaults, path: `${place.path}.additionalProperties` }];
}

function propertyChild(key: string, property: Schema, { schema, place }: { schema: Schema; place: Place }): Child {
  const isMeta = (place.isRoot || schema['x-kubernetes-embedded-resource'] === true) && META_FIELDS.has(key);
  return [
    property,
    {
      ...place,
      path: `${place.path}.properties[${key}]`,
      isRoot: false,
      inMeta: place.inMeta || isMeta,
      ...(isMeta && place.isRoot && { noDefaults: `in top-level ${key}` }),
    },
  ];
}

const META_FIELDS: ReadonlySet<string> = new Set(['metadata', 'kind', 'apiVersion']);

function itemsChild(items: Schema, list: Schema, place: Place): Child {
  const isFollowed = list['x-kubernetes-list-type'] === 'map' || place.uncorrelated !== undefined;
  return [items, { ...place, ...(!isFollowed && { uncorrelated: place.path }), path: `${place.path}.items` }];
}
