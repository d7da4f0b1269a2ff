// Which value of the old object a value of the new object continues: fields by name, items only in lists of type map.

import { isFields, isList, type Value } from '../../src/kubernetes/object.ts';
import { type Schema, schemaOfField } from '../../src/kubernetes/schema/schema.ts';
import { goJson } from '../../src/std/go-text.ts';
import { sameValue } from '../same-value.ts';

/** A value together with the one it continues. */
export interface Continued {
  readonly value: Value;
  readonly old: Value;
  readonly schema: Schema;
}

/** The same for a field, if both objects have it and the schema knows it. */
export function continuedField(parent: Continued | undefined, key: string): Continued | undefined {
  if (parent === undefined) return undefined;
  const value = fieldOf(parent.value, key);
  const old = fieldOf(parent.old, key);
  const schema = schemaOfField(parent.schema, key);
  return value === undefined || old === undefined || schema === undefined ? undefined : { value, old, schema };
}

/** A field of what may be an object; names such as `constructor` are no exception. */
export function fieldOf(object: Value | undefined, key: string): Value | undefined {
  return isFields(object) && Object.hasOwn(object, key) ? object[key] : undefined;
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
  if (schema['x-kubernetes-list-type'] !== 'map' || keys.length === 0 || !isList(list)) return undefined;
  const identity = identityOf(item, keys);
  return identity === undefined ? undefined : itemsByIdentity(list, keys).get(identity);
}

/** What tells an item from the others; nothing if one of its keys is no scalar. */
function identityOf(item: Value, keys: readonly string[]): string | undefined {
  const values = keys.map((key) => fieldOf(item, key));
  return values.every(isScalar) ? goJson(values) : undefined;
}

interface IndexedList {
  readonly keys: readonly string[];
  readonly items: ReadonlyMap<string, Value>;
}

const INDEXED = new WeakMap<readonly Value[], IndexedList>();

/** Worked out once per list: a search for each of many thousand items would never end. */
function itemsByIdentity(list: readonly Value[], keys: readonly string[]): ReadonlyMap<string, Value> {
  const known = INDEXED.get(list);
  if (known?.keys === keys) return known.items;
  const items = new Map<string, Value>();
  for (const item of list) {
    const identity = identityOf(item, keys);
    if (identity !== undefined && !items.has(identity)) items.set(identity, item);
  }
  INDEXED.set(list, { keys, items });
  return items;
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
