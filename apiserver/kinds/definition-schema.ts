// The schema of CustomResourceDefinitions (apiextensions.k8s.io/v1), from their Go types. Schemas inside a definition are raw JSON.

import {
  bool,
  int32,
  int64,
  list,
  listByKey,
  named,
  objectStruct,
  pointer,
  raw,
  struct,
  text,
  time,
  withoutOmitempty,
} from '../../src/kubernetes/schema/go-struct.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';

const ATOMIC_LIST = { 'x-kubernetes-list-type': 'atomic' } as const;

const NAMES = struct('v1.CustomResourceDefinitionNames', {
  plural: withoutOmitempty(text(), ''),
  singular: text(),
  shortNames: list(text(), ATOMIC_LIST),
  kind: withoutOmitempty(text(), ''),
  listKind: text(),
  categories: list(text(), ATOMIC_LIST),
});

const COLUMN = struct('v1.CustomResourceColumnDefinition', {
  name: withoutOmitempty(text(), ''),
  type: withoutOmitempty(text(), ''),
  format: text(),
  description: text(),
  priority: int32(),
  jsonPath: withoutOmitempty(text(), ''),
});

const VERSION = struct(
  'v1.CustomResourceDefinitionVersion',
  {
    name: withoutOmitempty(text(), ''),
    served: withoutOmitempty(bool(), false),
    storage: withoutOmitempty(bool(), false),
    deprecated: bool(),
    deprecationWarning: pointer(text()),
    schema: pointer(struct('v1.CustomResourceValidation', { openAPIV3Schema: pointer(raw()) })),
    subresources: pointer(
      struct('v1.CustomResourceSubresources', {
        status: pointer(struct('v1.CustomResourceSubresourceStatus', {})),
        scale: pointer(raw()),
      }),
    ),
    additionalPrinterColumns: list(COLUMN, ATOMIC_LIST),
    selectableFields: list(struct('v1.SelectableField', { jsonPath: withoutOmitempty(text(), '') }), ATOMIC_LIST),
  },
  { numbers: { deprecated: 7, deprecationWarning: 8 } },
);

const CONDITION = struct('v1.CustomResourceDefinitionCondition', {
  type: withoutOmitempty(named('v1.CustomResourceDefinitionConditionType'), ''),
  status: withoutOmitempty(named('v1.ConditionStatus'), ''),
  lastTransitionTime: time(),
  reason: text(),
  message: text(),
  observedGeneration: int64(),
});

export const DEFINITION_SCHEMA: Schema = objectStruct('v1.CustomResourceDefinition', {
  spec: struct(
    'v1.CustomResourceDefinitionSpec',
    {
      group: withoutOmitempty(text(), ''),
      names: NAMES,
      scope: withoutOmitempty(named('v1.ResourceScope'), ''),
      versions: withoutOmitempty(list(VERSION, ATOMIC_LIST), null),
      conversion: pointer(
        struct('v1.CustomResourceConversion', {
          strategy: withoutOmitempty(named('v1.ConversionStrategyType'), ''),
          webhook: pointer(raw()),
        }),
      ),
      preserveUnknownFields: bool(),
    },
    { numbers: { names: 3, scope: 4, versions: 7, conversion: 9, preserveUnknownFields: 10 } },
  ),
  status: struct('v1.CustomResourceDefinitionStatus', {
    conditions: withoutOmitempty(listByKey(CONDITION, 'type'), null),
    acceptedNames: NAMES,
    storedVersions: withoutOmitempty(list(text(), ATOMIC_LIST), null),
    observedGeneration: int64(),
  }),
});

/** Supported keywords of schemas; definitions with other keywords are rejected. */
export const KEYWORDS: readonly string[] = [
  'description type format title default maximum minimum maxLength minLength pattern maxItems minItems enum maxProperties',
  'required items properties additionalProperties nullable x-kubernetes-preserve-unknown-fields x-kubernetes-int-or-string',
  'x-kubernetes-list-map-keys x-kubernetes-list-type x-kubernetes-map-type x-kubernetes-validations',
].flatMap((line) => line.split(' '));
