// Immutable sets of fields, as in metadata.managedFields.

import { type Fields, isFields } from '../../src/kubernetes/object.ts';
import { compareUtf8, encodeGoJson, encodeGoJsonString, quoteGoString } from '../../src/std/go-text.ts';
import type { JsonObject } from '../same-value.ts';

/** Fields by their first path element. Every node is a member, has children, or both. */
export type FieldSet = ReadonlyMap<PathElement, FieldNode>;

export interface FieldNode {
  /** True if the set contains the field itself. */
  readonly member: boolean;
  readonly children: FieldSet;
}

export type FieldPath = readonly PathElement[];

export const NO_FIELDS: FieldSet = new Map();

export const NO_NODE: FieldNode = { member: false, children: NO_FIELDS };

/** A field without fields below it. */
export const LEAF: FieldNode = { member: true, children: NO_FIELDS };

/** Returns a set of nodes; omits empty nodes. */
export function createFieldSet(nodes: Iterable<readonly [PathElement, FieldNode]>): FieldSet {
  const set = new Map<PathElement, FieldNode>();
  for (const [element, node] of nodes) if (node.member || node.children.size > 0) set.set(element, node);
  return set.size === 0 ? NO_FIELDS : set;
}

export function toFieldSet(paths: Iterable<FieldPath>): FieldSet {
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

/** Returns the fields that both sets have. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  return mapNodes(a, (node, element) => {
    const other = b.get(element) ?? NO_NODE;
    return { member: node.member && other.member, children: intersection(node.children, other.children) };
  });
}

/** Returns the fields of `a` that are not in `b`. A field does not include the fields below it. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return mapNodes(a, (node, element) => {
    const other = b.get(element);
    if (other === undefined) return node;
    return { member: node.member && !other.member, children: difference(node.children, other.children) };
  });
}

/** Returns the fields of `a` that are neither in `b` nor below a field of `b`. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  if (b.size === 0) return a;
  return mapNodes(a, (node, element) => {
    const other = b.get(element);
    if (other === undefined) return node;
    return other.member ? NO_NODE : { ...node, children: recursiveDifference(node.children, other.children) };
  });
}

/** Yields the paths of all fields in order: the fields of a level before the fields below them. */
export function* pathsOf(set: FieldSet, parents: FieldPath = []): Generator<FieldPath> {
  const nodes = sortNodes(set);
  for (const [element, { member }] of nodes) if (member) yield [...parents, element];
  for (const [element, { children }] of nodes) yield* pathsOf(children, [...parents, element]);
}

export function formatPath(path: FieldPath): string {
  return path.map(formatPathElement).join('');
}

/** Encodes the set for metadata.managedFields, with sorted keys. */
export function encodeFieldsV1(set: FieldSet): Fields {
  return Object.fromEntries(
    sortNodes(set).map(([element, { member, children }]) => {
      const self = member && children.size > 0 ? { '.': {} } : {};
      return [element, { ...self, ...encodeFieldsV1(children) }];
    }),
  );
}

/** Decodes a fieldsV1 document. Throws an Error for a malformed document. */
export function decodeFieldsV1(document: unknown): FieldSet {
  return createFieldSet(decodeNodes(document).filter(isNode));
}

function decodeNodes(document: unknown): readonly (readonly [PathElement | undefined, FieldNode])[] {
  if (document === null || document === undefined) return [];
  if (typeof document !== 'object' || Array.isArray(document)) throw new Error('a set of fields must be an object');
  return Object.entries(document).map(([key, below]) => {
    if (key === '.') return ['.', LEAF];
    const nodes = decodeNodes(below);
    const children = createFieldSet(nodes.filter(isNode));
    return [parsePathElement(key), { member: children.size === 0 || nodes.some(([element]) => element === '.'), children }];
  });
}

function isNode(entry: readonly [PathElement | undefined, FieldNode]): entry is readonly [PathElement, FieldNode] {
  return entry[0] !== undefined && entry[0] !== '.';
}

/** Returns the set with each node replaced by the result of `map`; omits empty nodes. */
export function mapNodes(set: FieldSet, map: (node: FieldNode, element: PathElement) => FieldNode): FieldSet {
  return createFieldSet(Array.from(set, ([element, node]) => [element, map(node, element)]));
}

/** Sorts nodes by the text of their path element. Kubernetes sorts numbers in keys and values by value instead. */
function sortNodes(set: FieldSet): readonly (readonly [PathElement, FieldNode])[] {
  return [...set].sort(([a], [b]) => compareUtf8(a, b));
}

/** Path element: `f:name` for a field, `k:{"type":"Ready"}` or `v:"x"` for an entry of a list, `i:0` for an index. */
export type PathElement = string;

export function toFieldElement(name: string): PathElement {
  return `f:${name}`;
}

/** Returns the path element of the list entry with these key fields. */
export function toKeyElement(key: JsonObject): PathElement {
  return `k:${encodeScalar(key)}`;
}

/** Returns the path element of a list entry with this value. */
export function toValueElement(value: unknown): PathElement {
  return `v:${encodeScalar(value)}`;
}

/** Returns the name of a field; undefined for entries of lists. */
export function fieldNameOf(element: PathElement): string | undefined {
  return element.startsWith('f:') ? element.slice(2) : undefined;
}

/** Parses a key of a fieldsV1 document; undefined for an unknown type of element. Throws an Error for a malformed key. */
function parsePathElement(text: string): PathElement | undefined {
  const content = text.slice(2);
  switch (text.slice(0, 2)) {
    case 'f:':
      return text;
    case 'k:':
      return toKeyElement(parseKey(content));
    case 'v:':
      return toValueElement(JSON.parse(content));
    default:
      if (text[1] !== ':') throw new Error(`malformed key ${text}`);
      return undefined;
  }
}

/** Formats an element for messages: `.name`, `[type="Ready"]`, `[="x"]` or `[0]`. */
export function formatPathElement(element: PathElement): string {
  const name = fieldNameOf(element);
  if (name !== undefined) return `.${name}`;
  const content = parseContent(element);
  if (!isFields(content)) return element.startsWith('v:') ? `[=${printScalar(content)}]` : `[${printScalar(content)}]`;
  const key = Object.entries(content).map(([field, value]) => `${field}=${printScalar(value)}`);
  return `[${key.join(',')}]`;
}

function parseContent(element: PathElement): unknown {
  return JSON.parse(element.slice(2));
}

/** Encodes a scalar or key. Kubernetes decodes numbers as doubles: integers with the same double are equal. */
function encodeScalar(value: unknown): string {
  if (typeof value === 'bigint') return encodeGoJson(Number(value));
  if (!isFields(value)) return encodeGoJson(value);
  const entries = Object.entries(value).toSorted(([a], [b]) => compareUtf8(a, b));
  return `{${entries.map(([name, field]) => `${encodeGoJsonString(name)}:${encodeScalar(field)}`).join(',')}}`;
}

function parseKey(text: string): JsonObject {
  const key: unknown = JSON.parse(text) ?? {};
  if (!isFields(key)) throw new Error(`not an object: ${text}`);
  return key;
}

function printScalar(value: unknown): string {
  return typeof value === 'string' ? quoteGoString(value) : encodeGoJson(value);
}
