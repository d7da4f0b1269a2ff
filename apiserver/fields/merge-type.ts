// Merge types of server-side apply: the parts of a value that have separate owners.

import { OBJECT_META, text } from '../../src/kubernetes/schema/go-struct.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';

/** Allowed forms of a value. A schema without a type allows all three. */
export interface MergeType {
  readonly scalar?: 'numeric' | 'string' | 'boolean' | 'untyped';
  readonly list?: ListType;
  readonly map?: MapType;
}

export interface ListType {
  /** True if the list is owned as a whole, false if each entry has its own owners. */
  readonly atomic: boolean;
  /** Key fields of the entries; empty unless the list type is map. */
  readonly keys: readonly string[];
  readonly items: () => MergeType;
  readonly keyDefault: (key: string) => unknown;
}

export interface MapType {
  readonly atomic: boolean;
  /** Returns the type of a declared field; undefined for other fields. */
  readonly field: (name: string) => MergeType | undefined;
  /** Returns the type of other fields; absent if the map allows none. */
  readonly values?: () => MergeType;
}

/** Returns the merge type of objects with this schema, including apiVersion, kind and metadata. */
export function toObjectType(schema: Schema): MergeType {
  return getOrCreate(OBJECTS, schema, () => (schema.go ? toMergeType(schema) : toMergeType(withObjectMeta(schema))));
}

/** Returns the part of a type that applies to a value. */
export function choosePart(type: MergeType, value: unknown): 'scalar' | 'list' | 'map' {
  if (Array.isArray(value)) {
    if (type.list) return 'list';
  } else if (typeof value === 'object' && value !== null) {
    if (type.map) return 'map';
  } else if (value !== null && value !== undefined && type.scalar) {
    return 'scalar';
  }
  if (type.map) return 'map';
  return type.scalar ? 'scalar' : 'list';
}

/** Returns the type of the field with this name; undefined if the map does not allow the field. */
export function findFieldType(map: MapType, name: string): MergeType | undefined {
  return map.field(name) ?? map.values?.();
}

const OBJECTS = new WeakMap<Schema, MergeType>();
const TYPES = new WeakMap<Schema, MergeType>();

const ANY_TYPE: MergeType = {
  scalar: 'untyped',
  list: { atomic: true, keys: [], items: () => ANY_TYPE, keyDefault: () => undefined },
  map: { atomic: true, field: () => undefined, values: () => ANY_TYPE },
};

/** Type of undeclared fields: each field of a map has its own owners. */
const DEDUCED_TYPE: MergeType = { ...ANY_TYPE, map: { atomic: false, field: () => undefined, values: () => DEDUCED_TYPE } };

function toMergeType(schema: Schema): MergeType {
  return getOrCreate(TYPES, schema, () => {
    if (schema.go?.codec === 'raw') return ANY_TYPE;
    switch (schema.type) {
      case 'object':
        return { map: toMapType(schema) };
      case 'array':
        return { list: toListType(schema) };
      case undefined:
        return { scalar: 'untyped', list: toListType(schema), map: toMapType(schema) };
      case 'boolean':
      case 'integer':
      case 'number':
      case 'string':
      default:
        return { scalar: toScalarType(schema) };
    }
  });
}

function toMapType(schema: Schema): MapType {
  const { properties = {}, additionalProperties } = schema;
  const isOpen = additionalProperties ?? (schema['x-kubernetes-preserve-unknown-fields'] || Object.keys(properties).length === 0);
  const values = typeof additionalProperties === 'object' ? () => toMergeType(additionalProperties) : () => DEDUCED_TYPE;
  return {
    atomic: schema['x-kubernetes-map-type'] === 'atomic',
    field: (name) => {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
      return property && toMergeType(property);
    },
    ...(isOpen && { values }),
  };
}

function toListType(schema: Schema): ListType {
  const { items } = schema;
  const merged = schema['x-kubernetes-patch-strategy']?.split(',').includes('merge');
  const declared =
    schema['x-kubernetes-list-type'] ?? (merged ? (schema['x-kubernetes-patch-merge-key'] === undefined ? 'set' : 'map') : 'atomic');
  const keys = schema['x-kubernetes-list-map-keys'] ?? [schema['x-kubernetes-patch-merge-key'] ?? ''];
  return {
    atomic: declared === 'atomic',
    keys: declared === 'map' ? keys : [],
    items: () => (items === undefined ? ANY_TYPE : toMergeType(items)),
    keyDefault: (key) => {
      const property = items?.properties?.[key];
      return property?.default ?? property?.go?.zero ?? undefined;
    },
  };
}

function toScalarType({ type, format }: Schema): NonNullable<MergeType['scalar']> {
  if (type === 'boolean') return 'boolean';
  if (type === 'integer' || type === 'number') return 'numeric';
  return format === undefined || format === '' || format === 'byte' ? 'string' : 'untyped';
}

function withObjectMeta(schema: Schema): Schema {
  return { ...schema, properties: { ...schema.properties, apiVersion: text(), kind: text(), metadata: OBJECT_META } };
}

function getOrCreate<T>(cache: WeakMap<Schema, T>, schema: Schema, create: () => T): T {
  const found = cache.get(schema);
  if (found !== undefined) return found;
  const type = create();
  cache.set(schema, type);
  return type;
}
