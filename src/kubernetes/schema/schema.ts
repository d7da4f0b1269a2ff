// Structural schemas of CRDs and of built-in kinds.

import type { Value } from '../object.ts';

export type SchemaType = 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';

/** The part of the schemas of CRDs (OpenAPI v3) that Purser supports, plus the Go declaration of built-in kinds. */
export interface Schema {
  readonly type?: SchemaType;
  readonly format?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: Value;
  readonly nullable?: boolean;
  readonly enum?: readonly Value[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  /** Named fields. Built-in kinds have them in the order in which Go writes them. */
  readonly properties?: Readonly<Record<string, Schema>>;
  /** Schema of the values of a map. */
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: 'atomic' | 'granular';
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[];
  /** Strategy by which a strategic merge patch changes a list or an object of a built-in kind. */
  readonly 'x-kubernetes-patch-strategy'?: string;
  readonly 'x-kubernetes-patch-merge-key'?: string;
  /** Go declaration; only for built-in kinds. */
  readonly go?: GoField;
}

/** A CEL rule. */
export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** Go declaration of the field that the schema describes. It is not part of the published schema. */
export interface GoField {
  /** Type in decoding errors: `v1.TokenRequestSpec`, `[]string`, `map[string][]uint8`, `int64`. */
  readonly type: string;
  /** Name of a struct without its package, such as `TokenRequestSpec`. Errors print it before the path. */
  readonly struct?: string;
  /** True for a pointer, which keeps an explicit zero value (false, 0, ""). Otherwise zero is the same as absent. */
  readonly pointer?: boolean;
  /** Value that is written for an empty field without `omitempty`, such as null, "" or false. Structs by value are always written. */
  readonly zero?: null | string | number | boolean;
  /** Codec of a type that is not decoded field by field, so that its content is not checked for unknown fields. */
  readonly codec?: 'time' | 'microTime' | 'bytes' | 'raw' | 'fieldsV1';
  /** Protobuf numbers of a struct's fields that differ from their order; 0 for a field that protobuf does not have. */
  readonly numbers?: Readonly<Record<string, number>>;
}

/** Returns the schema of one field of an object: its own, or the schema of the map's values; undefined for an unknown field. */
export function schemaOfField(schema: Schema | undefined, key: string): Schema | undefined {
  if (schema?.properties !== undefined && Object.hasOwn(schema.properties, key)) return schema.properties[key];
  return typeof schema?.additionalProperties === 'object' ? schema.additionalProperties : undefined;
}
