// Comparison of two objects of the same type: the removed, modified and added fields.

import { isFields } from '../../src/kubernetes/object.ts';
import { fieldOf, isSameValue } from '../same-value.ts';
import { createFieldSet, type FieldNode, type FieldSet, LEAF, NO_NODE, type PathElement, toFieldElement, union } from './field-set.ts';
import { choosePart, findFieldType, type ListType, type MapType, type MergeType } from './merge-type.ts';
import { groupByElement } from './owned-fields.ts';

/** Changed fields. The sets are disjoint, except for list entries that one of the objects repeats. */
export interface Comparison {
  readonly removed: FieldSet;
  readonly modified: FieldSet;
  readonly added: FieldSet;
}

/** Returns the changes from `old` to `next`. */
export function compareObjects(type: MergeType, old: unknown, next: unknown): Comparison {
  const { removed, modified, added } = compare(type, old, next);
  return { removed: removed.children, modified: modified.children, added: added.children };
}

interface Difference {
  readonly removed: FieldNode;
  readonly modified: FieldNode;
  readonly added: FieldNode;
}

const NO_DIFFERENCE: Difference = { removed: NO_NODE, modified: NO_NODE, added: NO_NODE };
const REMOVED_LEAF: Difference = { ...NO_DIFFERENCE, removed: LEAF };
const MODIFIED_LEAF: Difference = { ...NO_DIFFERENCE, modified: LEAF };
const ADDED_LEAF: Difference = { ...NO_DIFFERENCE, added: LEAF };

function compare(type: MergeType, old: unknown, next: unknown): Difference {
  const part = choosePart(type, next === undefined ? old : next);
  const difference = comparePart(type, part, old, next);
  const oldPart = choosePart(type, old);
  if (old === undefined || next === undefined || oldPart === part) return difference;
  return combine(comparePart(type, oldPart, old, next), difference);
}

function comparePart(type: MergeType, part: 'scalar' | 'list' | 'map', old: unknown, next: unknown): Difference {
  if (part === 'map' && type.map) return compareMaps(type.map, old, next);
  if (part === 'list' && type.list) return compareLists(type.list, old, next);
  return compareLeaves(old, next);
}

function compareLeaves(old: unknown, next: unknown): Difference {
  if (old === undefined) return next === undefined ? NO_DIFFERENCE : ADDED_LEAF;
  if (next === undefined) return REMOVED_LEAF;
  return isSameValue(old, next) ? NO_DIFFERENCE : MODIFIED_LEAF;
}

function compareMaps(map: MapType, old: unknown, next: unknown): Difference {
  const oldFields = isFields(old) ? old : {};
  const nextFields = isFields(next) ? next : {};
  const names = new Set([...Object.keys(oldFields), ...Object.keys(nextFields)]);
  // A map that is empty on both sides is a leaf: null and empty differ.
  if (map.atomic || names.size === 0) return compareLeaves(old, next);
  const differences = Array.from(names, (name) => {
    const difference = compare(findFieldType(map, name) ?? {}, fieldOf(oldFields, name), fieldOf(nextFields, name));
    return [toFieldElement(name), difference] as const;
  });
  return assemble(differences, old, next);
}

function compareLists(list: ListType, old: unknown, next: unknown): Difference {
  const oldEntries = Array.isArray(old) ? old : [];
  const nextEntries = Array.isArray(next) ? next : [];
  if (list.atomic || (oldEntries.length === 0 && nextEntries.length === 0)) return compareLeaves(old, next);
  const before = groupByElement(list, oldEntries);
  const after = groupByElement(list, nextEntries);
  const elements = new Set([...before.keys(), ...after.keys()]);
  const differences = Array.from(elements, (element) => {
    return [element, compareEntries(list, before.get(element) ?? [], after.get(element) ?? [])] as const;
  });
  return assemble(differences, old, next);
}

/** Compares the list entries that have the same path element. If a list has several such entries, they are compared as one leaf. */
function compareEntries(list: ListType, before: readonly unknown[], after: readonly unknown[]): Difference {
  if (before.length <= 1 && after.length <= 1) return compare(list.items(), before[0], after[0]);
  if (before.length > 1 && after.length > 1) return isSameValue(before, after) ? NO_DIFFERENCE : MODIFIED_LEAF;
  if (before.length > 1) return combine(after.length === 0 ? NO_DIFFERENCE : compare(list.items(), undefined, after[0]), REMOVED_LEAF);
  return combine(before.length === 0 ? NO_DIFFERENCE : compare(list.items(), before[0], undefined), ADDED_LEAF);
}

function assemble(differences: readonly (readonly [PathElement, Difference])[], old: unknown, next: unknown): Difference {
  const below = (pick: keyof Difference): FieldSet =>
    createFieldSet(differences.map(([element, difference]) => [element, difference[pick]]));
  return {
    removed: { member: next === undefined, children: below('removed') },
    modified: { member: false, children: below('modified') },
    added: { member: old === undefined, children: below('added') },
  };
}

function combine(a: Difference, b: Difference): Difference {
  const both = (pick: keyof Difference): FieldNode => ({
    member: a[pick].member || b[pick].member,
    children: union(a[pick].children, b[pick].children),
  });
  return { removed: both('removed'), modified: both('modified'), added: both('added') };
}
