// Field sets seen together with the type of their object.

import { type FieldNode, type FieldSet, fieldSet } from './field-set.ts';
import { fieldType, type MergeType } from './merge-type.ts';
import { fieldNameOf, type PathElement } from './path-element.ts';

/** The set with every declared field that it has something below of. */
export function withNamedFields(type: MergeType, set: FieldSet): FieldSet {
  return mapChildren(type, set, (node, element, below) => {
    const name = fieldNameOf(element);
    const isNamed = name !== undefined && type.map?.field(name) !== undefined;
    return { member: node.member || isNamed, children: withNamedFields(below ?? {}, node.children) };
  });
}

function mapChildren(
  type: MergeType,
  set: FieldSet,
  map: (node: FieldNode, element: PathElement, below: MergeType | undefined) => FieldNode,
): FieldSet {
  return fieldSet(
    Array.from(set, ([element, node]) => {
      return [element, node.children.size === 0 ? node : map(node, element, typeBelow(type, element))];
    }),
  );
}

function typeBelow(type: MergeType, element: PathElement): MergeType | undefined {
  const name = fieldNameOf(element);
  if (name !== undefined) return type.map && fieldType(type.map, name);
  return type.list?.items();
}
