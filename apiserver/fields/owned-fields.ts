// Fields of typed values: the set of fields in a value, and the removal of fields from a value.

import { isFields } from '../../src/kubernetes/object.ts';
import { quoteGoString } from '../../src/std/go-text.ts';
import { fieldOf, type JsonObject } from '../same-value.ts';
import {
  createFieldSet,
  type FieldNode,
  type FieldSet,
  fieldNameOf,
  LEAF,
  mapNodes,
  NO_NODE,
  type PathElement,
  toFieldElement,
  toKeyElement,
  toValueElement,
} from './field-set.ts';
import { choosePart, findFieldType, type ListType, type MapType, type MergeType } from './merge-type.ts';

/** Returns the path element of a valid entry. */
export function toEntryElement(list: ListType, entry: unknown): PathElement {
  return list.keys.length === 0 ? toValueElement(entry) : toKeyElement(toKey(list, entry));
}

/** Groups entries by path element; keeps their order. */
export function groupByElement(list: ListType, entries: readonly unknown[]): ReadonlyMap<PathElement, readonly unknown[]> {
  return Map.groupBy(entries, (entry) => toEntryElement(list, entry));
}

/** Returns kube-apiserver's message for an entry that has no path element; undefined for a valid entry. */
export function findEntryProblem(list: ListType, entry: unknown): string | undefined {
  if (list.keys.length === 0) {
    if (Array.isArray(entry)) return 'not supported: associative list with lists as elements';
    if (isFields(entry)) return "associative list without keys has an element that's a map type";
    return entry === null ? "associative list without keys has an element that's an explicit null" : undefined;
  }
  if (entry === null) return 'associative list with keys may not have a null element';
  if (!isFields(entry)) return 'associative list with keys may not have non-map elements';
  if (Object.keys(toKey(list, entry)).length > 0) return undefined;
  const keys = list.keys.map(quoteGoString).join(' ');
  return `associative list with keys has an element that omits all key fields [${keys}] (and doesn't have default values for any key fields)`;
}

function toKey(list: ListType, entry: unknown): JsonObject {
  const fields = isFields(entry) ? entry : {};
  const key = list.keys.map((name) => [name, fieldOf(fields, name) === undefined ? list.keyDefault(name) : fieldOf(fields, name)] as const);
  return Object.fromEntries(key.filter(([, value]) => value !== undefined));
}

/** Returns all leaves, list entries and map entries of an object. A struct is a member only if it is empty. */
export function collectFields(type: MergeType, object: unknown): FieldSet {
  return toNode(type, object).children;
}

function toNode(type: MergeType, value: unknown): FieldNode {
  const part = choosePart(type, value);
  if (part === 'scalar') return LEAF;
  if (part === 'map' && type.map) return type.map.atomic ? LEAF : { member: false, children: collectMapFields(type.map, value) };
  if (type.list === undefined || type.list.atomic) return LEAF;
  const { list } = type;
  if (!Array.isArray(value)) return NO_NODE;
  const entries = Array.from(groupByElement(list, value), ([element, [entry, ...others]]): [PathElement, FieldNode] => {
    return [element, others.length > 0 ? LEAF : { ...toNode(list.items(), entry), member: true }];
  });
  return { member: false, children: createFieldSet(entries) };
}

function collectMapFields(map: MapType, value: unknown): FieldSet {
  if (!isFields(value)) return NO_NODE.children;
  const nodes = Object.entries(value).flatMap(([name, field]): [PathElement, FieldNode][] => {
    if (field === undefined) return [];
    const node = toNode(findFieldType(map, name) ?? {}, field);
    const isEmpty = field === null || (isFields(field) && Object.keys(field).length === 0);
    return [[toFieldElement(name), { ...node, member: node.member || isEmpty || map.field(name) === undefined }]];
  });
  return createFieldSet(nodes);
}

/** Returns the set, extended by each declared field that has members below it. */
export function withDeclaredFields(type: MergeType, set: FieldSet): FieldSet {
  return mapNodes(set, (node, element) => {
    if (node.children.size === 0) return node;
    const name = fieldNameOf(element);
    const isDeclared = name !== undefined && type.map?.field(name) !== undefined;
    return { member: node.member || isDeclared, children: withDeclaredFields(findTypeBelow(type, element) ?? {}, node.children) };
  });
}

function findTypeBelow(type: MergeType, element: PathElement): MergeType | undefined {
  const name = fieldNameOf(element);
  if (name !== undefined) return type.map && findFieldType(type.map, name);
  return type.list?.items();
}

/** Returns `object` without these fields. A map or list that loses its last field or entry, and is not removed itself, becomes null. */
export function removeFields(type: MergeType, object: unknown, fields: FieldSet): unknown {
  return fields.size === 0 ? object : (remove(type, object, fields) ?? {});
}

function remove(type: MergeType, value: unknown, fields: FieldSet): unknown {
  const part = choosePart(type, value);
  if (part === 'map' && type.map) return type.map.atomic ? null : removeFromMap(type, value, fields);
  if (part === 'list' && type.list) return type.list.atomic ? null : removeFromList(type, value, fields);
  return value;
}

function removeFromMap({ map }: MergeType, value: unknown, fields: FieldSet): unknown {
  if (!map || !isFields(value)) return null;
  const remaining = Object.entries(value).flatMap(([name, field]): [string, unknown][] => {
    const node = fields.get(toFieldElement(name));
    if (node === undefined || field === undefined) return [[name, field]];
    return node.member ? [] : [[name, remove(findFieldType(map, name) ?? {}, field, node.children)]];
  });
  return remaining.length > 0 ? Object.fromEntries(remaining) : null;
}

function removeFromList({ list }: MergeType, value: unknown, fields: FieldSet): unknown {
  if (!list || !Array.isArray(value)) return null;
  const remaining = value.flatMap((entry: unknown): unknown[] => {
    const node = fields.get(toEntryElement(list, entry));
    if (node === undefined) return [entry];
    return node.member ? [] : [remove(list.items(), entry, node.children)];
  });
  return remaining.length > 0 ? remaining : null;
}
