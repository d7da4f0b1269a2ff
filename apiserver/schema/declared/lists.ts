// x-kubernetes-list-type, -map-type and -list-map-keys: whether they fit the schema that they stand in.

import { type FieldError, forbiddenValue, invalidValue, requiredValue, unsupportedValue } from '../../../src/kubernetes/field-error.ts';
import { isList } from '../../../src/kubernetes/object.ts';
import { type Schema, schemaOfField } from '../../../src/kubernetes/schema/schema.ts';

/** What is wrong with the list and map types of one schema. */
export function listTypeErrors(schema: Schema, path: string): readonly FieldError[] {
  const listType = schema['x-kubernetes-list-type'];
  const mapType = schema['x-kubernetes-map-type'];
  return [
    ...(mapType === undefined
      ? []
      : [...wrongType(schema, 'object', 'map', path), ...unknownType(mapType, MAP_TYPES, `${path}.x-kubernetes-map-type`)]),
    ...(listType === undefined
      ? []
      : [
          ...wrongType(schema, 'array', 'list', path),
          ...setErrors(schema, path),
          ...unknownType(listType, LIST_TYPES, `${path}.x-kubernetes-list-type`),
        ]),
    ...strayKeys(schema, path),
    ...(listType === 'map' ? mapErrors(schema, path) : []),
    ...(listType === 'map' || listType === 'set' ? itemErrors(schema, listType, path) : []),
  ];
}

const MAP_TYPES = ['atomic', 'granular'];
const LIST_TYPES = ['atomic', 'set', 'map'];

function unknownType(type: string, known: readonly string[], field: string): readonly FieldError[] {
  return known.includes(type) ? [] : [unsupportedValue(field, type, known)];
}

function wrongType({ type }: Schema, wanted: 'array' | 'object', name: 'list' | 'map', path: string): readonly FieldError[] {
  if (type === wanted) return [];
  const detail = `must be ${wanted} if x-kubernetes-${name}-type is specified`;
  return [type === undefined ? requiredValue(`${path}.type`, detail) : invalidValue(`${path}.type`, type, detail)];
}

/** Items of a set are compared as a whole. */
function setErrors({ type, items, 'x-kubernetes-list-type': listType }: Schema, path: string): readonly FieldError[] {
  if (type !== 'array' || listType !== 'set' || items === undefined) return [];
  const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  const itemType = items['x-kubernetes-list-type'];
  if (items.type === 'array' && itemType !== undefined && itemType !== 'atomic') {
    return [invalidValue(`${path}.items.x-kubernetes-list-type`, itemType, detail)];
  }
  return items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic'
    ? [invalidValue(`${path}.items.x-kubernetes-map-type`, itemType ?? null, detail)]
    : [];
}

function strayKeys(schema: Schema, path: string): readonly FieldError[] {
  const listType = schema['x-kubernetes-list-type'];
  if ((schema['x-kubernetes-list-map-keys'] ?? []).length === 0 || listType === 'map') return [];
  const field = `${path}.x-kubernetes-list-type`;
  const detail = 'must be map if x-kubernetes-list-map-keys is non-empty';
  return [listType === undefined ? requiredValue(field, detail) : invalidValue(field, listType, detail)];
}

function mapErrors({ items, 'x-kubernetes-list-map-keys': keys = [] }: Schema, path: string): readonly FieldError[] {
  return [
    ...(keys.length === 0
      ? [requiredValue(`${path}.x-kubernetes-list-map-keys`, 'must not be empty if x-kubernetes-list-type is map')]
      : []),
    ...(items === undefined ? [requiredValue(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map')] : []),
    ...(items === undefined || isList(items) || items.type === 'object'
      ? []
      : [invalidValue(`${path}.items.type`, items.type ?? '', "must be object if parent array's x-kubernetes-list-type is map")]),
    ...(items?.type === 'object' ? keyErrors(keys, items, path) : []),
  ];
}

function keyErrors(keys: readonly string[], { type, properties = {} }: Schema, path: string): readonly FieldError[] {
  const field = `${path}.x-kubernetes-list-map-keys`;
  return keys.flatMap((key, index) => {
    const property = schemaOfField({ properties }, key);
    const isCompound = property?.type === 'array' || property?.type === 'object';
    const scalar = "must be a scalar type if parent array's x-kubernetes-list-type is map";
    return [
      ...(isCompound ? [invalidValue(`${path}.items.properties[${key}].type`, type, scalar)] : []),
      ...(property === undefined ? [invalidValue(field, keys, 'entries must all be names of item properties')] : []),
      ...(keys.indexOf(key) < index ? [invalidValue(field, keys, 'must not contain duplicate entries')] : []),
    ];
  });
}

function itemErrors(
  { items, 'x-kubernetes-list-map-keys': keys = [] }: Schema,
  listType: 'map' | 'set',
  path: string,
): readonly FieldError[] {
  if (items === undefined || isList(items)) return [];
  const nullable = items.nullable
    ? [forbiddenValue(`${path}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${listType}`)]
    : [];
  if (listType === 'set') return nullable;
  const { properties = {} } = items;
  const why = 'this property is in x-kubernetes-list-map-keys, so it';
  return [
    ...nullable,
    ...keys.flatMap((key) => {
      const property = schemaOfField({ properties }, key);
      const field = `${path}.items.properties[${key}]`;
      if (property === undefined) return [];
      const isGiven = (items.required ?? []).includes(key) || property.default !== undefined;
      return [
        ...(isGiven ? [] : [requiredValue(`${field}.default`, `${why} must have a default or be a required property`)]),
        ...(property.nullable ? [forbiddenValue(`${field}.nullable`, `${why} cannot be nullable`)] : []),
      ];
    }),
  ];
}
