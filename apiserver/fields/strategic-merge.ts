// Strategic merge patches of built-in kinds, with the directives that kubectl sends.

import { isFields } from '../../src/kubernetes/object.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { badRequest, type StatusError } from '../../src/kubernetes/status.ts';
import { fieldOf, type JsonObject } from '../same-value.ts';
import { jsonTypeOf } from './go-print.ts';
import { withoutNulls } from './json-patch.ts';

/** Applies a strategic merge patch. Throws 400 for a malformed patch. */
export function applyStrategicMergePatch(document: JsonObject, patch: unknown, schema: Schema): JsonObject {
  if (patch === null) return document;
  if (!isFields(patch)) throw badRequest(`json: cannot unmarshal ${jsonTypeOf(patch)} into Go value of type map[string]interface {}`);
  return mergeMaps(document, patch, schema);
}

const ORDER_PREFIX = '$setElementOrder/';
const DELETE_PREFIX = '$deleteFromPrimitiveList/';

function mergeMaps(original: JsonObject, patch: JsonObject, schema: Schema): JsonObject {
  const { $patch: directive, ...changes } = patch;
  if (directive === 'replace') return changes;
  if (directive === 'delete') return {};
  if (directive !== undefined) throw malformed(`unknown directive ${JSON.stringify(directive)}`);
  const result = new Map(Object.entries(original));
  for (const [key, value] of Object.entries(changes)) if (!key.startsWith('$')) applyChange(result, key, value, { schema, patch });
  for (const [key, value] of Object.entries(changes)) if (key.startsWith('$')) applyDirective(result, key, value, schema);
  return Object.fromEntries(result);
}

interface Context {
  readonly schema: Schema;
  readonly patch: JsonObject;
}

function applyChange(result: Map<string, unknown>, name: string, value: unknown, { schema, patch }: Context): void {
  const current = result.get(name);
  if (value === null || (isDirective(value) && !isFields(current))) result.delete(name);
  else if (Array.isArray(current) && Array.isArray(value)) {
    const merged = mergeLists(current, value, findFieldSchema(schema, name));
    // With $setElementOrder, kube-apiserver removes the directives from the list.
    result.set(name, patch[`${ORDER_PREFIX}${name}`] === undefined ? merged : withoutDirectives(merged));
  } else if (isFields(current) && isFields(value)) result.set(name, mergeMaps(current, value, findFieldSchema(schema, name)));
  else result.set(name, withoutDirectives(withoutNulls(value)));
}

/** Applies a directive for a list: deletes scalars, or sets the order of entries. */
function applyDirective(result: Map<string, unknown>, key: string, value: unknown, schema: Schema): void {
  const name = key.slice(key.indexOf('/') + 1);
  const current = result.get(name);
  if (!Array.isArray(value) || !(key.startsWith(ORDER_PREFIX) || key.startsWith(DELETE_PREFIX))) throw malformed(`bad directive ${key}`);
  const field = findFieldSchema(schema, name);
  if (!Array.isArray(current)) return;
  const isDelete = key.startsWith(DELETE_PREFIX);
  const next = isDelete
    ? current.filter((entry) => !value.includes(entry))
    : arrange(current, { theirs: current, order: value }, keyOf(field));
  result.set(name, next);
}

/** Merges the entries of `mine` into `theirs`; replaces lists without a merge strategy. */
function mergeLists(theirs: readonly unknown[], mine: readonly unknown[], field: Schema): readonly unknown[] {
  if (!field['x-kubernetes-patch-strategy']?.split(',').includes('merge')) return mine;
  const key = keyOf(field);
  if (key === '') return arrange([...new Set([...theirs, ...mine])], { theirs, order: mine }, key);
  const plain = mine.filter((entry) => !isDirective(entry));
  const directives = mine.filter(isDirective);
  if (directives.some((entry) => fieldOf(entry, '$patch') === 'replace')) return plain;
  const deleted = new Set(directives.map((entry) => identityOf(entry, key)));
  const remaining = theirs.filter((entry) => !deleted.has(identityOf(entry, key)));
  return arrange(mergeEntries(remaining, plain, field), { theirs: remaining, order: plain }, key);
}

function mergeEntries(theirs: readonly unknown[], mine: readonly unknown[], field: Schema): readonly unknown[] {
  const key = keyOf(field);
  const entries = [...theirs];
  for (const entry of mine) {
    const identity = identityOf(entry, key);
    const index = entries.findIndex((other) => identityOf(other, key) === identity);
    const same = entries[index];
    if (isFields(same) && isFields(entry)) entries[index] = mergeMaps(same, entry, field.items ?? {});
    else entries.push(entry);
  }
  return entries;
}

/** Sorts entries as in `order`. Entries that `order` does not contain remain before the entries that followed them in `theirs`. */
function arrange(
  entries: readonly unknown[],
  { theirs, order }: { readonly theirs: readonly unknown[]; readonly order: readonly unknown[] },
  key: string,
): readonly unknown[] {
  const orderedIdentities = order.map((entry) => identityOf(entry, key));
  const before = theirs.map((entry) => identityOf(entry, key));
  const byPosition = (positions: readonly unknown[]) => (a: unknown, b: unknown) =>
    positions.indexOf(identityOf(a, key)) - positions.indexOf(identityOf(b, key));
  const named = entries.filter((entry) => orderedIdentities.includes(identityOf(entry, key))).sort(byPosition(orderedIdentities));
  const others = entries.filter((entry) => !orderedIdentities.includes(identityOf(entry, key))).sort(byPosition(before));
  const result: unknown[] = [];
  while (named.length > 0 && others.length > 0) {
    const [ofNamed, ofOther] = [before.indexOf(identityOf(named[0], key)), before.indexOf(identityOf(others[0], key))];
    result.push(ofNamed >= 0 && ofOther >= 0 && ofOther < ofNamed ? others.shift() : named.shift());
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

function findFieldSchema(schema: Schema, name: string): Schema {
  const field = fieldOf(schema.properties ?? {}, name) ?? schema.additionalProperties;
  if (!isFields(field)) throw malformed(`unknown field ${name}`);
  return field;
}

function malformed(reason: string): StatusError {
  return badRequest(`invalid strategic merge patch: ${reason}`);
}

function isDirective(value: unknown): value is JsonObject {
  return isFields(value) && value['$patch'] !== undefined;
}

function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((entry) => !isDirective(entry)).map(withoutDirectives);
  if (!isFields(value)) return value;
  const remaining = Object.entries(value).filter(([, field]) => !isDirective(field));
  return Object.fromEntries(remaining.map(([name, field]) => [name, withoutDirectives(field)]));
}
