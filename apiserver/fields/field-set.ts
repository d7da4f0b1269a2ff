// Sets of fields: what metadata.managedFields records as owned. Sets are values; nothing changes one in place.

import type { Fields } from '../../src/kubernetes/object.ts';
import { comparePathElements, type PathElement, parsePathElement, printPathElement } from './path-element.ts';

/** Fields by their first step. No node is empty: it is a member, or has children, or both. */
export type FieldSet = ReadonlyMap<PathElement, FieldNode>;

export interface FieldNode {
  /** Whether the set has the field itself, besides fields below it. */
  readonly member: boolean;
  readonly children: FieldSet;
}

export type FieldPath = readonly PathElement[];

export const NO_FIELDS: FieldSet = new Map();

export const NO_NODE: FieldNode = { member: false, children: NO_FIELDS };

/** A field of which nothing below is told apart. */
export const LEAF: FieldNode = { member: true, children: NO_FIELDS };

/** A set of these nodes, without the empty ones. */
export function fieldSet(nodes: Iterable<readonly [PathElement, FieldNode]>): FieldSet {
  const set = new Map<PathElement, FieldNode>();
  for (const [element, node] of nodes) if (node.member || node.children.size > 0) set.set(element, node);
  return set.size === 0 ? NO_FIELDS : set;
}

export function fieldSetOfPaths(paths: Iterable<FieldPath>): FieldSet {
  let set = NO_FIELDS;
  for (const path of paths) {
    const [last, ...parents] = path.toReversed();
    if (last === undefined) continue;
    const single = parents.reduce<FieldSet>(
      (children, parent) => new Map([[parent, { member: false, children }]]),
      new Map([[last, LEAF]]),
    );
    set = union(set, single);
  }
  return set;
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a.size === 0) return b;
  const all = new Map(a);
  for (const [element, node] of b) {
    const same = a.get(element);
    all.set(element, same === undefined ? node : { member: same.member || node.member, children: union(same.children, node.children) });
  }
  return all;
}

/** The fields that both sets have. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  return mapNodes(a, (node, element) => {
    const other = b.get(element) ?? NO_NODE;
    return { member: node.member && other.member, children: intersection(node.children, other.children) };
  });
}

/** The fields of `a` that `b` does not have. Having a field says nothing about the fields below it. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return mapNodes(a, (node, element) => {
    const other = b.get(element);
    if (other === undefined) return node;
    return { member: node.member && !other.member, children: difference(node.children, other.children) };
  });
}

/** The fields of `a` that are neither in `b` nor below a field of `b`. */
export function outside(a: FieldSet, b: FieldSet): FieldSet {
  if (b.size === 0) return a;
  return mapNodes(a, (node, element) => {
    const other = b.get(element);
    if (other === undefined) return node;
    return other.member ? NO_NODE : { ...node, children: outside(node.children, other.children) };
  });
}

export function hasField(set: FieldSet, path: FieldPath): boolean {
  let node = NO_NODE;
  let children = set;
  for (const element of path) {
    node = children.get(element) ?? NO_NODE;
    children = node.children;
  }
  return node.member;
}

/** The fields that have no other field of the set below them. */
export function leaves(set: FieldSet): FieldSet {
  return mapNodes(set, ({ member, children }) => ({ member: member && children.size === 0, children: leaves(children) }));
}

/** Every field of the set: those of one level in order, then those below each. */
export function* pathsOf(set: FieldSet, parents: FieldPath = []): Generator<FieldPath> {
  const nodes = sorted(set);
  for (const [element, { member }] of nodes) if (member) yield [...parents, element];
  for (const [element, { children }] of nodes) yield* pathsOf(children, [...parents, element]);
}

export function printPath(path: FieldPath): string {
  return path.map(printPathElement).join('');
}

/** The set as metadata.managedFields shows it, keys in the order in which Kubernetes writes them. */
export function toFieldsV1(set: FieldSet): Fields {
  return Object.fromEntries(
    sorted(set).map(([element, { member, children }]) => {
      const self = member && children.size > 0 ? { '.': {} } : {};
      return [element, { ...self, ...toFieldsV1(children) }];
    }),
  );
}

/** Reads a fieldsV1 document. Throws when it is malformed. */
export function fromFieldsV1(document: unknown): FieldSet {
  return fieldSet(nodesFrom(document).filter(isNode));
}

function nodesFrom(document: unknown): readonly (readonly [PathElement | undefined, FieldNode])[] {
  if (document === null || document === undefined) return [];
  if (typeof document !== 'object' || Array.isArray(document)) throw new Error('expect { or n');
  return Object.entries(document).map(([key, below]) => {
    if (key === '.') return ['.', LEAF];
    const nodes = nodesFrom(below);
    const children = fieldSet(nodes.filter(isNode));
    return [parsePathElement(key), { member: children.size === 0 || nodes.some(([element]) => element === '.'), children }];
  });
}

function isNode(entry: readonly [PathElement | undefined, FieldNode]): entry is readonly [PathElement, FieldNode] {
  return entry[0] !== undefined && entry[0] !== '.';
}

function mapNodes(set: FieldSet, map: (node: FieldNode, element: PathElement) => FieldNode): FieldSet {
  return fieldSet(Array.from(set, ([element, node]) => [element, map(node, element)]));
}

function sorted(set: FieldSet): readonly (readonly [PathElement, FieldNode])[] {
  return [...set].sort(([a], [b]) => comparePathElements(a, b));
}
