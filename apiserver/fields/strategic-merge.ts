// Strategic merge patches of built-in kinds, with the directives that kubectl sends. Lists merge by key or as sets.

import { isFields } from '../../src/kubernetes/object.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { badRequest, type StatusError } from '../../src/kubernetes/status.ts';
import { fieldOf, type JsonObject } from '../same-value.ts';
import { jsonTypeName } from './go-print.ts';
import { withoutNulls } from './json-patch.ts';

/** Returns the document after the patch. Throws 400 for a malformed patch. */
export function strategicMerge(document: JsonObject, patch: unknown, schema: Schema): JsonObject {
  if (patch === null) return document;
  if (!isFields(patch)) throw badRequest(`json: cannot unmarshal ${jsonTypeName(patch)} into Go value of type map[string]interface {}`);
  return mergedMap(document, patch, schema);
}

const ORDER = '$setElementOrder/';
const DELETE = '$deleteFromPrimitiveList/';

function mergedMap(original: JsonObject, patch: JsonObject, schema: Schema): JsonObject {
  const { $patch: directive, ...changes } = patch;
  if (directive === 'replace') return changes;
  if (directive === 'delete') return {};
  if (directive !== undefined) throw malformed(`unknown directive ${JSON.stringify(directive)}`);
  const result = new Map(Object.entries(original));
  for (const [key, value] of Object.entries(changes)) if (!key.startsWith('$')) change(result, key, value, { schema, patch });
  for (const [key, value] of Object.entries(changes)) if (key.startsWith('$')) direct(result, key, value, schema);
  return Object.fromEntries(result);
}

interface Context {
  readonly schema: Schema;
  readonly patch: JsonObject;
}

function change(result: Map<string, unknown>, name: string, value: unknown, { schema, patch }: Context): void {
  const current = result.get(name);
  if (value === null || (isDirective(value) && !isFields(current))) result.delete(name);
  else if (Array.isArray(current) && Array.isArray(value)) {
    const merged = mergedList(current, value, fieldSchema(schema, name));
    // With $setElementOrder, the order of the patch's own entries has no meaning.
    result.set(name, patch[`${ORDER}${name}`] === undefined ? merged : withoutDirectives(merged));
  } else if (isFields(current) && isFields(value)) result.set(name, mergedMap(current, value, fieldSchema(schema, name)));
  else result.set(name, withoutDirectives(withoutNulls(value)));
}

/** Applies a directive about a list: the removal of texts from it, or the order of its entries. */
function direct(result: Map<string, unknown>, key: string, value: unknown, schema: Schema): void {
  const name = key.slice(key.indexOf('/') + 1);
  const current = result.get(name);
  if (!Array.isArray(value) || !(key.startsWith(ORDER) || key.startsWith(DELETE))) throw malformed(`bad directive ${key}`);
  const field = fieldSchema(schema, name);
  if (!Array.isArray(current)) return;
  if (key.startsWith(DELETE))
    result.set(
      name,
      current.filter((entry) => !value.includes(entry)),
    );
  else result.set(name, arranged(current, { theirs: current, order: value }, keyOf(field)));
}

/** Returns `theirs` with the entries of `mine` merged in; lists without a merge strategy are replaced. */
function mergedList(theirs: readonly unknown[], mine: readonly unknown[], field: Schema): readonly unknown[] {
  if (!field['x-kubernetes-patch-strategy']?.split(',').includes('merge')) return mine;
  const key = keyOf(field);
  if (key === '') return arranged([...new Set([...theirs, ...mine])], { theirs, order: mine }, key);
  const plain = mine.filter((entry) => !isDirective(entry));
  const directives = mine.filter(isDirective);
  if (directives.some((entry) => fieldOf(entry, '$patch') === 'replace')) return plain;
  const deleted = new Set(directives.map((entry) => identityOf(entry, key)));
  const remaining = theirs.filter((entry) => !deleted.has(identityOf(entry, key)));
  return arranged(mergedEntries(remaining, plain, field), { theirs: remaining, order: plain }, key);
}

function mergedEntries(theirs: readonly unknown[], mine: readonly unknown[], field: Schema): readonly unknown[] {
  const key = keyOf(field);
  const entries = [...theirs];
  for (const entry of mine) {
    const identity = identityOf(entry, key);
    const index = entries.findIndex((other) => identityOf(other, key) === identity);
    const same = entries[index];
    if (isFields(same) && isFields(entry)) entries[index] = mergedMap(same, entry, field.items ?? {});
    else entries.push(entry);
  }
  return entries;
}

/** Returns entries of `order` in its order; others precede the first of those that they preceded in `theirs`. */
function arranged(
  entries: readonly unknown[],
  { theirs, order }: { readonly theirs: readonly unknown[]; readonly order: readonly unknown[] },
  key: string,
): readonly unknown[] {
  const wanted = order.map((entry) => identityOf(entry, key));
  const before = theirs.map((entry) => identityOf(entry, key));
  const byPlace = (places: readonly unknown[]) => (a: unknown, b: unknown) =>
    places.indexOf(identityOf(a, key)) - places.indexOf(identityOf(b, key));
  const named = entries.filter((entry) => wanted.includes(identityOf(entry, key))).sort(byPlace(wanted));
  const others = entries.filter((entry) => !wanted.includes(identityOf(entry, key))).sort(byPlace(before));
  const result: unknown[] = [];
  while (named.length > 0 && others.length > 0) {
    const [ours, theirPlace] = [before.indexOf(identityOf(named[0], key)), before.indexOf(identityOf(others[0], key))];
    result.push(ours >= 0 && theirPlace >= 0 && theirPlace < ours ? others.shift() : named.shift());
  }
  return [...result, ...others, ...named];
}

function keyOf(field: Schema): string {
  return field['x-kubernetes-patch-merge-key'] ?? '';
}

/** Returns the identity of an entry: the value of its key, or the entry itself in a set. */
function identityOf(entry: unknown, key: string): unknown {
  if (key === '') return entry;
  const value = isFields(entry) ? entry[key] : undefined;
  if (value === undefined) throw malformed(`a list entry does not contain its merge key ${key}`);
  return value;
}

function fieldSchema(schema: Schema, name: string): Schema {
  const field = fieldOf(schema.properties ?? {}, name) ?? schema.additionalProperties;
  if (!isFields(field)) throw malformed(`unknown field ${name}`);
  return field;
}

function malformed(why: string): StatusError {
  return badRequest(`invalid strategic merge patch: ${why}`);
}

function isDirective(value: unknown): value is JsonObject {
  return isFields(value) && value['$patch'] !== undefined;
}

function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((entry) => !isDirective(entry)).map(withoutDirectives);
  if (!isFields(value)) return value;
  const kept = Object.entries(value).filter(([, field]) => !isDirective(field));
  return Object.fromEntries(kept.map(([name, field]) => [name, withoutDirectives(field)]));
}
