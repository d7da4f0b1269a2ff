// Strategic merge patches: lists of built-in kinds merge by key or as sets, and directives say what a merge cannot.

import { isFields } from '../../src/kubernetes/object.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import { badRequest, type StatusError, unclassified } from '../../src/kubernetes/status.ts';
import { fieldOf, type JsonObject } from '../same-value.ts';
import { goPrint, goTypeName } from './go-print.ts';
import { jsonTypeName } from './json-type.ts';
import { deletedFromList, inOrder, type ListMerge, mergedList } from './strategic-list.ts';

/** The document after the patch. Throws the API error of a patch that is malformed or does not fit. */
export function strategicMerge(document: JsonObject, patch: unknown, schema: Schema): JsonObject {
  if (patch === null) return document;
  if (!isFields(patch)) throw badRequest(`json: cannot unmarshal ${jsonTypeName(patch)} into Go value of type map[string]interface {}`);
  return mergedMap(document, patch, schema);
}

const ORDER = '$setElementOrder';
const DELETE = '$deleteFromPrimitiveList';

function mergedMap(original: JsonObject, patch: JsonObject, schema: Schema): JsonObject {
  if (patch['$patch'] !== undefined) return directed(patch);
  const { $retainKeys: retained, ...changes } = patch;
  const target = retained === undefined ? original : retainedKeys(original, changes, retained);
  const result = new Map(Object.entries(target));
  const done = new Set<string>();
  for (const key of Object.keys(changes).filter((name) => name.startsWith(ORDER))) {
    const name = listName(key, ORDER, 'invalid patch format of setElementOrder list');
    const list = orderedList(name, { original: result.get(name), patch: fieldOf(changes, name), order: changes[key], schema });
    done.add(key);
    if (list === undefined) continue;
    result.set(name, list);
    done.add(name);
  }
  for (const [key, value] of Object.entries(changes)) if (!done.has(key)) change(result, key, value, schema);
  return Object.fromEntries(result);
}

function directed(patch: JsonObject): JsonObject {
  const { $patch: directive, ...rest } = patch;
  if (directive === 'replace') return rest;
  if (directive === 'delete') return {};
  throw unclassified(`unknown patch type: ${goPrint(directive)} in map: ${goPrint(patch)}`);
}

function retainedKeys(original: JsonObject, changes: JsonObject, retained: unknown): JsonObject {
  const invalid = badRequest('invalid patch format of retainKeys');
  if (!Array.isArray(retained)) throw invalid;
  const keys = new Set<unknown>(retained);
  for (const [key, value] of Object.entries(changes)) {
    if (value !== null && !key.startsWith(DELETE) && !key.startsWith(ORDER) && !keys.has(key)) throw invalid;
  }
  return Object.fromEntries(Object.entries(original).filter(([key]) => keys.has(key)));
}

function change(result: Map<string, unknown>, key: string, value: unknown, schema: Schema): void {
  const isDeletion = key.startsWith(DELETE);
  const name = isDeletion ? listName(key, DELETE, 'invalid patch format of primitive list') : key;
  const current = result.get(name);
  if (value === null || (!isDeletion && isDirective(value) && !isFields(current))) result.delete(name);
  else if (!isDeletion) result.set(name, changed(current, value, { schema, name }));
  else if (Array.isArray(current) && Array.isArray(value)) result.set(name, deletedFromList(current, value));
}

function changed(current: unknown, value: unknown, { schema, name }: { readonly schema: Schema; readonly name: string }): unknown {
  if (Array.isArray(current) && Array.isArray(value)) {
    const merge = listMergeOf(schema, name);
    return merge.strategy === 'merge' ? mergedList(current, value, merge) : value;
  }
  if (isFields(current) && isFields(value)) {
    const field = fieldSchema(schema, name);
    return strategyOf(field) === 'replace' ? value : mergedMap(current, value, field);
  }
  return withoutDirectives(withoutNulls(value));
}

interface OrderedList {
  readonly original: unknown;
  readonly patch: unknown;
  readonly order: unknown;
  readonly schema: Schema;
}

function orderedList(name: string, { original, patch, order, schema }: OrderedList): readonly unknown[] | undefined {
  const [theirs, mine, wanted] = [original, patch, order].map((list) => {
    if (list !== undefined && !Array.isArray(list)) throw wrongType(list);
    return list;
  });
  const merge = listMergeOf(schema, name);
  return inOrder({ theirs, mine: mine && withoutDirectivesIn(mine, theirs), order: wanted ?? [] }, merge);
}

function withoutDirectivesIn(mine: readonly unknown[], theirs: readonly unknown[] | undefined): readonly unknown[] {
  return theirs === undefined ? mine.filter((entry) => !isDirective(entry)).map(withoutDirectives) : mine;
}

function wrongType(value: unknown): StatusError {
  return unclassified(`expected a []interface {}, but received a ${value === null ? '%!s(<nil>)' : goTypeName(value)}`);
}

function listName(key: string, prefix: string, problem: string): string {
  const [directive, ...rest] = key.split('/');
  if (directive !== prefix || rest.length === 0) throw badRequest(problem);
  return rest.join('/');
}

function listMergeOf(schema: Schema, name: string): ListMerge {
  const field = fieldSchema(schema, name);
  const { items = {} } = field;
  return {
    strategy: strategyOf(field),
    key: field['x-kubernetes-patch-merge-key'] ?? '',
    merged: (original, patch) => mergedMap(original, patch, items),
  };
}

function fieldSchema(schema: Schema, name: string): Schema {
  const { properties = {} } = schema;
  if (Object.hasOwn(properties, name)) return properties[name] ?? {};
  if (schema.go?.struct === undefined) throw unclassified('merging an object in json but data type is not struct, instead is: map');
  throw unclassified(`unable to find api field in struct ${schema.go.struct} for the json field "${name}"`);
}

function strategyOf(schema: Schema): string {
  return (schema['x-kubernetes-patch-strategy'] ?? '').split(',').find((strategy) => strategy !== 'retainKeys') ?? '';
}

function isDirective(value: unknown): boolean {
  return isFields(value) && value['$patch'] !== undefined;
}

function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((entry) => !isDirective(entry)).map(withoutDirectives);
  if (!isFields(value)) return value;
  const kept = Object.entries(value).filter(([, field]) => !isDirective(field));
  return Object.fromEntries(kept.map(([name, field]) => [name, withoutDirectives(field)]));
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isFields(value)) return value;
  const present = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(present.map(([name, field]) => [name, withoutNulls(field)]));
}
