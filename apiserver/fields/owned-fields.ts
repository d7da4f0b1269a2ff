// The fields that someone owns who applies an object: everything it mentions.

import { isFields } from '../../src/kubernetes/object.ts';
import { type FieldNode, type FieldSet, fieldSet, LEAF, NO_NODE } from './field-set.ts';
import { entriesByElement } from './list-entry.ts';
import { fieldType, type MapType, type MergeType, partFor } from './merge-type.ts';
import { fieldElement, type PathElement } from './path-element.ts';

/** Every leaf and every entry that `object` mentions; structs themselves are not owned unless they are empty. */
export function ownedFields(type: MergeType, object: unknown): FieldSet {
  return nodeOf(type, object).children;
}

function nodeOf(type: MergeType, value: unknown): FieldNode {
  const part = partFor(type, value);
  if (part === 'scalar') return LEAF;
  if (part === 'map' && type.map) return type.map.atomic ? LEAF : { member: false, children: fieldsOf(type.map, value) };
  if (type.list === undefined || type.list.atomic) return LEAF;
  const { list } = type;
  if (!Array.isArray(value)) return NO_NODE;
  const entries = Array.from(entriesByElement(list, value), ([element, [entry, ...alike]]): [PathElement, FieldNode] => {
    return [element, alike.length > 0 ? LEAF : { ...nodeOf(list.items(), entry), member: true }];
  });
  return { member: false, children: fieldSet(entries) };
}

function fieldsOf(map: MapType, value: unknown): FieldSet {
  if (!isFields(value)) return NO_NODE.children;
  const nodes = Object.entries(value).flatMap(([name, field]): [PathElement, FieldNode][] => {
    if (field === undefined) return [];
    const node = nodeOf(fieldType(map, name) ?? {}, field);
    const isEmpty = field === null || (isFields(field) && Object.keys(field).length === 0);
    return [[fieldElement(name), { ...node, member: node.member || isEmpty || map.field(name) === undefined }]];
  });
  return fieldSet(nodes);
}
