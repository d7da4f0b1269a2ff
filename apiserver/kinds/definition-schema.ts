// apiextensions.k8s.io/v1 CustomResourceDefinition as its Go structs declare it, and declared schemas in the order of those structs.

import { type Fields, isFields, isList, type Value } from '../../src/kubernetes/object.ts';
import {
  always,
  bool,
  bytes,
  int32,
  int64,
  list,
  listByKey,
  map,
  named,
  objectStruct,
  pointer,
  struct,
  text,
  time,
} from '../../src/kubernetes/schema/go-struct.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { compareUtf8 } from '../../src/std/go-text.ts';

const ATOMIC = { 'x-kubernetes-list-type': 'atomic' } as const;
const number = (): Schema => ({ type: 'number', format: 'double', go: { type: 'float64' } });

/** A type that Go decodes by hand, so that nothing inside is checked for unknown fields. `fields` are what it chooses from. */
const byHand = (goType: string, fields: Readonly<Record<string, Schema>>, numbers = {}): Schema => ({
  'x-kubernetes-preserve-unknown-fields': true,
  go: { type: goType, codec: 'raw', pointer: true, message: struct(goType, fields, { numbers }) },
});

const json = (): Schema => byHand('v1.JSON', { raw: bytes() });

const VALIDATION_RULE = struct('v1.ValidationRule', {
  rule: always(text(), ''),
  message: text(),
  messageExpression: text(),
  reason: pointer(named('v1.FieldValueErrorReason')),
  fieldPath: text(),
  optionalOldSelf: pointer(bool()),
});

const properties: Record<string, Schema> = {};

/** v1.JSONSchemaProps: a schema that holds schemas. */
export const JSON_SCHEMA_PROPS: Schema = struct('v1.JSONSchemaProps', properties);

const propsOrBool = (): Schema =>
  byHand('v1.JSONSchemaPropsOrBool', { schema: pointer(JSON_SCHEMA_PROPS), allows: pointer(bool()) }, { schema: 2 });

Object.assign(properties, {
  id: text(),
  $schema: named('v1.JSONSchemaURL'),
  $ref: pointer(text()),
  description: text(),
  type: text(),
  format: text(),
  title: text(),
  default: json(),
  maximum: pointer(number()),
  exclusiveMaximum: bool(),
  minimum: pointer(number()),
  exclusiveMinimum: bool(),
  maxLength: pointer(int64()),
  minLength: pointer(int64()),
  pattern: text(),
  maxItems: pointer(int64()),
  minItems: pointer(int64()),
  uniqueItems: bool(),
  multipleOf: pointer(number()),
  enum: list(json(), ATOMIC),
  maxProperties: pointer(int64()),
  minProperties: pointer(int64()),
  required: list(text(), ATOMIC),
  items: byHand(
    'v1.JSONSchemaPropsOrArray',
    { jSONSchemas: list(JSON_SCHEMA_PROPS), schema: pointer(JSON_SCHEMA_PROPS) },
    { jSONSchemas: 2 },
  ),
  allOf: list(JSON_SCHEMA_PROPS, ATOMIC),
  oneOf: list(JSON_SCHEMA_PROPS, ATOMIC),
  anyOf: list(JSON_SCHEMA_PROPS, ATOMIC),
  not: pointer(JSON_SCHEMA_PROPS),
  properties: map(JSON_SCHEMA_PROPS),
  additionalProperties: propsOrBool(),
  patternProperties: map(JSON_SCHEMA_PROPS),
  dependencies: map(
    byHand('v1.JSONSchemaPropsOrStringArray', { property: list(text()), schema: pointer(JSON_SCHEMA_PROPS) }, { property: 2 }),
  ),
  additionalItems: propsOrBool(),
  definitions: map(JSON_SCHEMA_PROPS),
  externalDocs: pointer(struct('v1.ExternalDocumentation', { description: text(), url: text() })),
  example: json(),
  nullable: bool(),
  'x-kubernetes-preserve-unknown-fields': pointer(bool()),
  'x-kubernetes-embedded-resource': bool(),
  'x-kubernetes-int-or-string': bool(),
  'x-kubernetes-list-map-keys': list(text(), ATOMIC),
  'x-kubernetes-list-type': pointer(text()),
  'x-kubernetes-map-type': pointer(text()),
  'x-kubernetes-validations': listByKey(VALIDATION_RULE, 'rule'),
} satisfies Record<string, Schema>);

const NAMES = struct('v1.CustomResourceDefinitionNames', {
  plural: always(text(), ''),
  singular: text(),
  shortNames: list(text(), ATOMIC),
  kind: always(text(), ''),
  listKind: text(),
  categories: list(text(), ATOMIC),
});

const SERVICE = struct('v1.ServiceReference', {
  namespace: always(text(), ''),
  name: always(text(), ''),
  path: pointer(text()),
  port: pointer(int32()),
});

const CONVERSION = struct('v1.CustomResourceConversion', {
  strategy: always(named('v1.ConversionStrategyType'), ''),
  webhook: pointer(
    struct(
      'v1.WebhookConversion',
      {
        clientConfig: pointer(
          struct('v1.WebhookClientConfig', { url: pointer(text()), service: pointer(SERVICE), caBundle: bytes() }, { numbers: { url: 3 } }),
        ),
        conversionReviewVersions: always(list(text(), ATOMIC), null),
      },
      { numbers: { clientConfig: 2, conversionReviewVersions: 3 } },
    ),
  ),
});

const SCALE = struct('v1.CustomResourceSubresourceScale', {
  specReplicasPath: always(text(), ''),
  statusReplicasPath: always(text(), ''),
  labelSelectorPath: pointer(text()),
});

const COLUMN = struct('v1.CustomResourceColumnDefinition', {
  name: always(text(), ''),
  type: always(text(), ''),
  format: text(),
  description: text(),
  priority: int32(),
  jsonPath: always(text(), ''),
});

const VERSION = struct(
  'v1.CustomResourceDefinitionVersion',
  {
    name: always(text(), ''),
    served: always(bool(), false),
    storage: always(bool(), false),
    deprecated: bool(),
    deprecationWarning: pointer(text()),
    schema: pointer(struct('v1.CustomResourceValidation', { openAPIV3Schema: pointer(JSON_SCHEMA_PROPS) })),
    subresources: pointer(
      struct('v1.CustomResourceSubresources', {
        status: pointer(struct('v1.CustomResourceSubresourceStatus', {})),
        scale: pointer(SCALE),
      }),
    ),
    additionalPrinterColumns: list(COLUMN, ATOMIC),
    selectableFields: list(struct('v1.SelectableField', { jsonPath: always(text(), '') }), ATOMIC),
  },
  { numbers: { deprecated: 7, deprecationWarning: 8 } },
);

const CONDITION = struct('v1.CustomResourceDefinitionCondition', {
  type: always(named('v1.CustomResourceDefinitionConditionType'), ''),
  status: always(named('v1.ConditionStatus'), ''),
  lastTransitionTime: time(),
  reason: text(),
  message: text(),
  observedGeneration: int64(),
});

/** The whole object. */
export const DEFINITION_SCHEMA: Schema = objectStruct('v1.CustomResourceDefinition', {
  spec: struct(
    'v1.CustomResourceDefinitionSpec',
    {
      group: always(text(), ''),
      names: NAMES,
      scope: always(named('v1.ResourceScope'), ''),
      versions: always(list(VERSION, ATOMIC), null),
      conversion: pointer(CONVERSION),
      preserveUnknownFields: bool(),
    },
    { numbers: { names: 3, scope: 4, versions: 7, conversion: 9, preserveUnknownFields: 10 } },
  ),
  status: struct('v1.CustomResourceDefinitionStatus', {
    conditions: always(listByKey(CONDITION, 'type'), null),
    acceptedNames: NAMES,
    storedVersions: always(list(text(), ATOMIC), null),
    observedGeneration: int64(),
  }),
});

/** Returns a declared schema as Go writes it: known fields in declared order, without zero values, values with sorted keys. */
export function canonicalSchema<T extends object>(schema: T): T;
export function canonicalSchema(schema: Fields): Fields {
  return canonicalStruct(schema, JSON_SCHEMA_PROPS);
}

function canonicalStruct(value: Fields, { properties: known = {} }: Schema): Fields {
  const fields: [string, Value][] = [];
  for (const [name, declared] of Object.entries(known)) {
    const field = value[name];
    if (field === undefined || field === null || (!declared.go?.pointer && isZero(field))) continue;
    fields.push([name, canonicalField(name, field, declared)]);
  }
  return Object.fromEntries(fields);
}

function isZero(value: Value): boolean {
  if (isList(value)) return value.length === 0;
  return isFields(value) ? Object.keys(value).length === 0 : value === '' || value === false || value === 0;
}

const SCHEMAS: ReadonlySet<string> = new Set(['items', 'additionalProperties', 'additionalItems', 'not', 'allOf', 'anyOf', 'oneOf']);
const MAPS_OF_SCHEMAS: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'definitions', 'dependencies']);
const VALUES: ReadonlySet<string> = new Set(['default', 'example', 'enum']);

function canonicalField(name: string, value: Value, declared: Schema): Value {
  if (SCHEMAS.has(name)) return schemasIn(value);
  if (MAPS_OF_SCHEMAS.has(name) && isFields(value)) {
    return Object.fromEntries(sortedEntries(value).map(([key, schema = null]) => [key, schemasIn(schema)]));
  }
  return VALUES.has(name) ? sortedValue(value) : structsIn(value, declared);
}

function structsIn(value: Value, declared: Schema | undefined): Value {
  if (isList(value)) return value.map((item) => structsIn(item, declared?.items));
  return isFields(value) && declared !== undefined ? canonicalStruct(value, declared) : value;
}

function schemasIn(value: Value): Value {
  if (isList(value)) return value.map(schemasIn);
  return isFields(value) ? canonicalSchema(value) : value;
}

function sortedValue(value: Value): Value {
  if (isList(value)) return value.map(sortedValue);
  if (!isFields(value)) return value;
  return Object.fromEntries(sortedEntries(value).map(([key, field = null]) => [key, sortedValue(field)]));
}

function sortedEntries(value: Fields): readonly (readonly [string, Value | undefined])[] {
  return Object.entries(value).sort(([a], [b]) => compareUtf8(a, b));
}
