// One step of a field's path, kept in the text that fieldsV1 uses for it. Equal steps have equal texts.

import { isFields } from '../../src/kubernetes/object.ts';
import { compareUtf8, goJson, goJsonString, goQuote } from '../../src/std/go-text.ts';
import type { JsonObject } from '../same-value.ts';

/** `f:name` for a field, `k:{"type":"Ready"}` and `v:"x"` for a list's entry, `i:0` for a position. */
export type PathElement = string;

export function fieldElement(name: string): PathElement {
  return `f:${name}`;
}

/** The entry of a list that is told apart by these fields. */
export function keyElement(key: JsonObject): PathElement {
  return `k:${scalarJson(key)}`;
}

/** The entry of a set. */
export function valueElement(value: unknown): PathElement {
  return `v:${scalarJson(value)}`;
}

/** The field's name, for elements that name a field. */
export function fieldNameOf(element: PathElement): string | undefined {
  return element.startsWith('f:') ? element.slice(2) : undefined;
}

/** Reads one key of a fieldsV1 document; undefined for kinds of element that later versions may add. Throws when it is malformed. */
export function parsePathElement(text: string): PathElement | undefined {
  if (text.length < 2) throw new Error('key must be 2 characters long:');
  if (text[1] !== ':') throw new Error(`missing colon: ${text}`);
  const rest = text.slice(2);
  switch (text.charAt(0)) {
    case 'f':
      return text;
    case 'k':
      return keyElement(parseKey(rest));
    case 'v':
      return valueElement(JSON.parse(rest));
    case 'i':
      return `i:${parsePosition(rest)}`;
    default:
      return undefined;
  }
}

/** Fields first, then entries by key, entries by value, and positions. */
export function comparePathElements(a: PathElement, b: PathElement): number {
  if (a === b) return 0;
  const rank = RANKS.indexOf(a.charAt(0)) - RANKS.indexOf(b.charAt(0));
  if (rank !== 0) return rank;
  if (a.startsWith('f:')) return compareUtf8(a, b);
  const [left, right] = [contentOf(a), contentOf(b)];
  return isFields(left) && isFields(right) ? compareKeys(left, right) : compareScalars(left, right);
}

/** The element as messages show it: `.name`, `[type="Ready"]`, `[="x"]` or `[0]`. */
export function printPathElement(element: PathElement): string {
  const name = fieldNameOf(element);
  if (name !== undefined) return `.${name}`;
  const content = contentOf(element);
  if (!isFields(content)) return element.startsWith('v:') ? `[=${printScalar(content)}]` : `[${printScalar(content)}]`;
  const key = Object.entries(content).map(([field, value]) => `${field}=${printScalar(value)}`);
  return `[${key.join(',')}]`;
}

const RANKS = 'fkvi';

function contentOf(element: PathElement): unknown {
  return JSON.parse(element.slice(2));
}

// Kubernetes reads these numbers back as doubles, so two integers that one double stands for are the same.
function scalarJson(value: unknown): string {
  if (typeof value === 'bigint') return goJson(Number(value));
  if (!isFields(value)) return goJson(value);
  const entries = Object.entries(value).toSorted(([a], [b]) => compareUtf8(a, b));
  return `{${entries.map(([name, field]) => `${goJsonString(name)}:${scalarJson(field)}`).join(',')}}`;
}

function parseKey(text: string): JsonObject {
  const key: unknown = JSON.parse(text) ?? {};
  if (!isFields(key)) throw new Error(`not an object: ${text}`);
  return key;
}

function parsePosition(text: string): number {
  if (!/^[+-]?\d+$/.test(text)) throw new Error(`strconv.Atoi: parsing ${goQuote(text)}: invalid syntax`);
  return Number(text);
}

function compareKeys(a: JsonObject, b: JsonObject): number {
  const entries = Object.entries(b);
  for (const [position, [name, value]] of Object.entries(a).entries()) {
    const other = entries[position];
    if (other === undefined) return 1;
    const order = compareUtf8(name, other[0]) || compareScalars(value, other[1]);
    if (order !== 0) return order;
  }
  return Object.keys(a).length - entries.length;
}

function compareScalars(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'string' && typeof b === 'string') return compareUtf8(a, b);
  const rank = SCALAR_RANKS.indexOf(typeof a) - SCALAR_RANKS.indexOf(typeof b);
  return rank === 0 ? compareUtf8(goJson(a), goJson(b)) : rank;
}

const SCALAR_RANKS: readonly string[] = ['number', 'string', 'boolean', 'object'];

function printScalar(value: unknown): string {
  return typeof value === 'string' ? goQuote(value) : goJson(value);
}
