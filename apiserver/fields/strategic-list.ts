// Lists in a strategic merge patch: entries of the patch come in its order, others keep their place among them.

import { isFields } from '../../src/kubernetes/object.ts';
import { statusError, unclassified } from '../../src/kubernetes/status.ts';
import type { JsonObject } from '../same-value.ts';
import { goPrint, goTypeName } from './go-print.ts';

/** How one list merges. */
export interface ListMerge {
  /** `merge`, or anything else for lists that are replaced. */
  readonly strategy: string;
  /** The field that tells entries apart; empty for lists of scalars. */
  readonly key: string;
  merged(original: JsonObject, patch: JsonObject): JsonObject;
}

/** `theirs` with the entries of `mine` merged in. */
export function mergedList(theirs: readonly unknown[], mine: readonly unknown[], merge: ListMerge): readonly unknown[] {
  if (theirs.length === 0 && mine.length === 0) return theirs;
  if (!isListOfMaps(theirs, mine)) return arranged([...new Set([...theirs, ...mine])], { theirs, order: mine }, '');
  if (merge.key === '') throw unclassified('cannot merge lists without merge key for struct');
  const plain = mine.filter((entry) => !hasDirective(entry));
  const directives = mine.filter(hasDirective);
  if (directives.some((entry) => directiveOf(entry, merge.key) === 'replace')) return plain;
  const deleted = new Set(directives.map((entry) => keyOf(entry, merge.key)));
  const remaining = theirs.filter((entry) => !deleted.has(optionalKeyOf(entry, merge.key)));
  return arranged(mergedEntries(remaining, plain, merge), { theirs: remaining, order: plain }, merge.key);
}

export function deletedFromList(list: readonly unknown[], deleted: readonly unknown[]): readonly unknown[] {
  if (list.length + deleted.length > 0) isListOfMaps(list, deleted);
  return list.filter((entry) => !deleted.includes(entry));
}

export interface OrderedLists {
  readonly theirs: readonly unknown[] | undefined;
  readonly mine: readonly unknown[] | undefined;
  readonly order: readonly unknown[];
}

/** The merged list in the order that the patch asks for; undefined if there is no list at all. */
export function inOrder({ theirs, mine, order }: OrderedLists, merge: ListMerge): readonly unknown[] | undefined {
  checkOrder(mine ?? [], order, merge.key);
  if (theirs === undefined && mine === undefined) return undefined;
  isListOfMaps(theirs ?? [], mine ?? []);
  const both =
    theirs !== undefined && mine !== undefined && merge.strategy === 'merge' ? mergedList(theirs, mine, merge) : (mine ?? theirs ?? []);
  return arranged(both, { theirs: theirs ?? [], order }, merge.key);
}

function mergedEntries(theirs: readonly unknown[], mine: readonly unknown[], merge: ListMerge): readonly unknown[] {
  const entries = [...theirs];
  for (const entry of mine) {
    const key = keyOf(entry, merge.key);
    const index = entries.findIndex((other) => optionalKeyOf(other, merge.key) === key);
    const same = entries[index];
    if (isFields(same) && isFields(entry)) entries[index] = merge.merged(same, entry);
    else entries.push(entry);
  }
  return entries;
}

/** Entries that `order` names in its order; the others go before the first of those that they preceded in `theirs`. */
function arranged(
  entries: readonly unknown[],
  { theirs, order }: { readonly theirs: readonly unknown[]; readonly order: readonly unknown[] },
  key: string,
): readonly unknown[] {
  const identity = (entry: unknown): unknown => (key === '' ? entry : keyOf(entry, key));
  const wanted = order.map(identity);
  const before = theirs.map(identity);
  const byPlace =
    (places: readonly unknown[]) =>
    (a: unknown, b: unknown): number =>
      places.indexOf(identity(a)) - places.indexOf(identity(b));
  const named = entries.filter((entry) => wanted.includes(identity(entry))).sort(byPlace(wanted));
  const others = entries.filter((entry) => !wanted.includes(identity(entry))).sort(byPlace(before));
  const result: unknown[] = [];
  while (named.length > 0 && others.length > 0) {
    const [ours, theirPlace] = [before.indexOf(identity(named[0])), before.indexOf(identity(others[0]))];
    result.push(ours >= 0 && theirPlace >= 0 && theirPlace < ours ? others.shift() : named.shift());
  }
  return [...result, ...others, ...named];
}

function checkOrder(mine: readonly unknown[], order: readonly unknown[], key: string): void {
  if (order.length === 0) return;
  const identity = (entry: unknown): unknown => (key === '' ? entry : keyOf(entry, key));
  let place = 0;
  for (const entry of mine) {
    if (hasDirective(entry)) continue;
    const found = order.findIndex((other, index) => index >= place && identity(other) === identity(entry));
    if (found < 0)
      throw unclassified(`The order in patch list:\n${goPrint(mine)}\n doesn't match $setElementOrder list:\n${goPrint(order)}\n`);
    place = found + 1;
  }
}

function isListOfMaps(...lists: readonly (readonly unknown[])[]): boolean {
  const types = new Set(lists.flat().map((entry) => goTypeName(entry)));
  const [type] = types;
  if (type === undefined) throw unclassified('no elements in any of the given slices');
  if (type === '[]interface {}') throw statusError('Invalid', 'the server rejected our request due to an error in our request', {});
  if (types.size > 1) throw unclassified(`list element types are not identical: ${goPrint(lists)}`);
  return type === 'map[string]interface {}';
}

function hasDirective(entry: unknown): boolean {
  return isFields(entry) && entry['$patch'] !== undefined;
}

function directiveOf(entry: unknown, key: string): string {
  const directive = isFields(entry) ? entry['$patch'] : undefined;
  if (directive === 'delete') keyOf(entry, key);
  if (directive === 'delete' || directive === 'replace') return directive;
  if (directive === 'merge') throw unclassified('merging lists cannot yet be specified in the patch');
  throw unclassified(`unknown patch type: ${goPrint(directive)} in map: ${goPrint(entry)}`);
}

function keyOf(entry: unknown, key: string): unknown {
  const value = optionalKeyOf(entry, key);
  if (value === undefined) throw unclassified(`map: ${goPrint(entry)} does not contain declared merge key: ${key}`);
  return value;
}

function optionalKeyOf(entry: unknown, key: string): unknown {
  return isFields(entry) ? entry[key] : undefined;
}
