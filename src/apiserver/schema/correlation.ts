// Which value of the old object a value of the new object continues: fields by name, items only in lists of type map.

import { isFields, isList, type Value } from '../object.ts';
import { sameValue } from '../same-value.ts';
import { type Schema, schemaOfField } from './schema.ts';

/** A value together with the one it continues. */
export interface Continued {
  readonly value: Value;
  readonly old: Value;
  readonly schema: Schema;
}

/** The same for a field, if both objects have it and the schema knows it. */
export function continuedField(parent: Continued | undefined, key: string): Continued | undefined {
  if (parent === undefined || !isFields(parent.value) || !isFields(parent.old)) return undefined;
  const value = parent.value[key];
  const old = parent.old[key];
  const schema = schemaOfField(parent.schema, key);
  return value === undefined || old === undefined || schema === undefined ? undefined : { value, old, schema };
}

/** The same for a list item, if the list says how its items are told apart. */
export function continuedItem(parent: Continued | undefined, index: number): Continued | undefined {
  if (parent?.schema.items === undefined || !isList(parent.value)) return undefined;
  const value = parent.value[index];
  const old = value === undefined ? undefined : itemLike(value, parent.old, parent.schema);
  return value === undefined || old === undefined ? undefined : { value, old, schema: parent.schema.items };
}

/** The item of a list of type map that has the same keys. */
export function itemLike(item: Value, list: Value | undefined, schema: Schema): Value | undefined {
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  if (schema['x-kubernetes-list-type'] !== 'map' || keys.length === 0 || !isFields(item) || !isList(list)) return undefined;
  return list.find((other) => isFields(other) && keys.every((key) => isScalar(item[key]) && item[key] === other[key]));
}

function isScalar(value: Value | undefined): boolean {
  return value !== undefined && value !== null && typeof value !== 'object';
}

/** Whether a value is what it was. What continues nothing, or lies outside the schema, counts as changed. */
export function isUnchanged(node: Continued | undefined): boolean {
  if (node === undefined) return false;
  const { value, old, schema } = node;
  if (isList(value) && isList(old) && schema['x-kubernetes-list-type'] === 'map') {
    return value.length === old.length && value.every((_, index) => isUnchanged(continuedItem(node, index)));
  }
  if (!isFields(value) || !isFields(old)) return sameValue(value, old);
  const keys = Object.keys(value);
  return keys.length === Object.keys(old).length && keys.every((key) => isUnchanged(continuedField(node, key)));
}
