// What tells the entries of a list apart that has an owner for each.

import { isFields } from '../../src/kubernetes/object.ts';
import { goQuote } from '../../src/std/go-text.ts';
import { fieldOf, type JsonObject } from '../same-value.ts';
import type { ListType } from './merge-type.ts';
import { keyElement, type PathElement, valueElement } from './path-element.ts';

/** The path element of an entry without problems. */
export function entryElement(list: ListType, entry: unknown): PathElement {
  return list.keys.length === 0 ? valueElement(entry) : keyElement(keyOf(list, entry));
}

/** The entries by path element, in order of appearance; entries that look alike share an element. */
export function entriesByElement(list: ListType, entries: readonly unknown[]): ReadonlyMap<PathElement, readonly unknown[]> {
  return Map.groupBy(entries, (entry) => entryElement(list, entry));
}

/** Why an entry cannot be told apart from others, in the words of Kubernetes. */
export function entryProblem(list: ListType, entry: unknown): string | undefined {
  if (list.keys.length === 0) {
    if (Array.isArray(entry)) return 'not supported: associative list with lists as elements';
    if (isFields(entry)) return "associative list without keys has an element that's a map type";
    return entry === null ? "associative list without keys has an element that's an explicit null" : undefined;
  }
  if (entry === null) return 'associative list with keys may not have a null element';
  if (!isFields(entry)) return 'associative list with keys may not have non-map elements';
  if (Object.keys(keyOf(list, entry)).length > 0) return undefined;
  const keys = list.keys.map(goQuote).join(' ');
  return `associative list with keys has an element that omits all key fields [${keys}] (and doesn't have default values for any key fields)`;
}

function keyOf(list: ListType, entry: unknown): JsonObject {
  const fields = isFields(entry) ? entry : {};
  const key = list.keys.map((name) => [name, fieldOf(fields, name) === undefined ? list.keyDefault(name) : fieldOf(fields, name)] as const);
  return Object.fromEntries(key.filter(([, value]) => value !== undefined));
}
