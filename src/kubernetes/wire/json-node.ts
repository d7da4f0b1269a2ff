// A JSON document as sent: with the order of entries, repeated keys and the text of numbers.

import { compareUtf8, encodeGoJsonNumber } from '../../std/go-text.ts';
import { isFields, isList, type Value } from '../object.ts';

export type JsonNode = JsonContainer | JsonScalar;

export type JsonContainer =
  | { readonly type: 'object'; readonly entries: readonly JsonEntry[] }
  | { readonly type: 'array'; readonly items: readonly JsonNode[] };

export interface JsonEntry {
  readonly key: string;
  readonly value: JsonNode;
}

export type JsonScalar =
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'number'; readonly text: string }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'null' };

/**
 * Maximum depth of nested lists and objects in a request. Go allows 10,000, but some functions of Purser recurse, and would overflow the
 * stack.
 */
export const MAX_DEPTH = 1000;

/** Returns the plain value of a document; the last of repeated keys applies, and objects have no prototype. */
export function toValue(root: JsonNode): Value {
  const values = new Map<JsonNode, Value>();
  const valueOf = (node: JsonNode): Value => (isContainer(node) ? (values.get(node) ?? null) : toScalarValue(node));
  for (const node of listContainers(root).reverse()) {
    values.set(node, node.type === 'array' ? node.items.map(valueOf) : fieldsOf(node.entries, valueOf));
  }
  return valueOf(root);
}

/** Returns a plain value as a document with sorted keys, because Go sorts the keys of a map before it decodes them into a struct. */
export function toNode(value: Value | undefined): JsonNode {
  if (isList(value)) return { type: 'array', items: value.map(toNode) };
  if (isFields(value)) {
    const keys = Object.keys(value).filter((key) => value[key] !== undefined);
    return { type: 'object', entries: keys.sort(compareUtf8).map((key) => ({ key, value: toNode(value[key]) })) };
  }
  if (typeof value === 'string') return { type: 'string', value };
  if (typeof value === 'boolean') return { type: 'boolean', value };
  if (typeof value === 'number') return { type: 'number', text: encodeGoJsonNumber(value) };
  return typeof value === 'bigint' ? { type: 'number', text: String(value) } : { type: 'null' };
}

/** Returns the paths of at most `max` repeated fields, such as `spec.a[0].b`, in the order of the document, each path once. */
export function findDuplicateFields(root: JsonNode, max = MAX_DUPLICATES): readonly string[] {
  const duplicates = new Set<string>();
  const pending: Position[] = [{ node: root, path: () => '', repeated: false }];
  for (let position = pending.pop(); position !== undefined; position = pending.pop()) {
    if (duplicates.size === max) break;
    if (position.repeated) duplicates.add(position.path());
    for (const inner of listPositions(position).reverse()) if (inner.repeated || isContainer(inner.node)) pending.push(inner);
  }
  return [...duplicates];
}

const MAX_DUPLICATES = 100;

/** Converts an untyped JSON number like Kubernetes: to an int64 if it fits, otherwise to a float64. Throws Go's error if neither fits. */
export function parseNumber(text: string): number | bigint {
  if (INTEGER_64.test(text)) {
    const integer = BigInt(text);
    if (BigInt.asIntN(64, integer) === integer) return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer;
  }
  const value = Number(text);
  if (!Number.isFinite(value)) throw new Error(`json: cannot unmarshal number ${text} into Go value of type float64`);
  // Kubernetes drops the sign of zero when it stores the object.
  return value + 0;
}

/** Pattern of JSON integers that may fit into 64 bits. Longer ones do not fit, and take quadratic time to parse. */
export const INTEGER_64 = /^-?\d{1,19}$/;

/** Returns all lists and objects of a document, outer ones first, without recursion: a response may have any depth. */
function listContainers(root: JsonNode): JsonContainer[] {
  const containers = [root].filter(isContainer);
  for (const node of containers) {
    for (const child of childrenOf(node)) if (isContainer(child)) containers.push(child);
  }
  return containers;
}

function isContainer(node: JsonNode): node is JsonContainer {
  return node.type === 'object' || node.type === 'array';
}

function childrenOf(node: JsonContainer): readonly JsonNode[] {
  return node.type === 'array' ? node.items : node.entries.map(({ value }) => value);
}

function fieldsOf(entries: readonly JsonEntry[], valueOf: (node: JsonNode) => Value): Value {
  const fields: Record<string, Value> = Object.create(null);
  for (const { key, value } of entries) fields[key] = valueOf(value);
  return fields;
}

function toScalarValue(node: JsonScalar): Value {
  if (node.type === 'null') return null;
  return node.type === 'number' ? parseNumber(node.text) : node.value;
}

interface Position {
  readonly node: JsonNode;
  readonly path: () => string;
  readonly repeated: boolean;
}

function listPositions({ node, path }: Position): Position[] {
  if (node.type === 'array') {
    return node.items.map((item, index) => ({ node: item, path: () => `${path()}[${index}]`, repeated: false }));
  }
  if (node.type !== 'object') return [];
  const seen = new Set<string>();
  return node.entries.map(({ key, value }) => {
    const repeated = seen.has(key);
    seen.add(key);
    return { node: value, path: () => joinFieldPath(path(), key), repeated };
  });
}

/** Returns the path of a field below `parent` in the format of strict decoding. */
export function joinFieldPath(parent: string, key: string): string {
  return parent === '' ? key : `${parent}.${key}`;
}
