// Lists of type set hold every item once, lists of type map every combination of keys once.

import { duplicateValue, type FieldError, invalidValue } from '../../src/kubernetes/field-error.ts';
import { type Fields, isFields, isList, type Value } from '../../src/kubernetes/object.ts';
import { fieldPath } from '../../src/kubernetes/schema/field-path.ts';
import { type Schema, schemaOfField } from '../../src/kubernetes/schema/schema.ts';
import { goJson } from '../../src/std/go-text.ts';

/** Returns the items that stand a second time in a list of type set or map. */
export function validateListTypes(value: Value, schema: Schema | undefined, path = ''): readonly FieldError[] {
  if (schema === undefined) return [];
  if (isList(value)) {
    const nested = value.flatMap((item, index) => validateListTypes(item, schema.items, `${path}[${index}]`));
    return [...validateList(value, schema, path), ...nested];
  }
  if (!isFields(value)) return [];
  return Object.entries(value).flatMap(([key, field = null]) =>
    validateListTypes(field, schemaOfField(schema, key), fieldPath(path, key, schema)),
  );
}

function validateList(items: readonly Value[], schema: Schema, path: string): readonly FieldError[] {
  const type = schema['x-kubernetes-list-type'];
  if (type === 'set') return repeated(items).map((index) => duplicateValue(`${path}[${index}]`, items[index]));
  if (type !== 'map') return [];
  const odd = items.findIndex((item) => item !== null && !isFields(item));
  if (odd !== -1) return [invalidValue(`${path}[${odd}]`, items[odd], 'must be an object for an array of list-type map')];
  const keys = items.map((item) => keysOf(item, schema['x-kubernetes-list-map-keys'] ?? []));
  return repeated(keys).map((index) => duplicateValue(`${path}[${index}]`, keys[index]));
}

function keysOf(item: Value, names: readonly string[]): Fields {
  const keys = names.map((name) => [name, isFields(item) && Object.hasOwn(item, name) ? item[name] : undefined] as const);
  return Object.fromEntries(keys.filter(([, value]) => value !== undefined));
}

/** Returns the index of the second occurrence of each repeated value. */
function repeated(values: readonly Value[]): readonly number[] {
  const times = new Map<string, number>();
  return values.flatMap((value, index) => {
    const text = goJson(value);
    const seen = times.get(text) ?? 0;
    times.set(text, seen + 1);
    return seen === 1 ? [index] : [];
  });
}

/** Returns the object with every default of its schema filled in; defaults inside an absent object do not conjure it up. */
export function withDefaults<T extends object>(object: T, schema: Schema): T;
export function withDefaults(object: Fields, schema: Schema): Fields {
  const fields: [string, Value][] = [];
  for (const [key, value] of Object.entries(object)) {
    if (value !== undefined) fields.push([key, childWithDefaults(value, schemaOfField(schema, key))]);
  }
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const missing = property.default ?? null;
    if (missing !== null && !Object.hasOwn(object, key)) fields.push([key, valueWithDefaults(missing, property)]);
  }
  return Object.fromEntries(fields);
}

function childWithDefaults(value: Value, schema: Schema | undefined): Value {
  const isMissing = value === null && schema !== undefined && !schema.nullable;
  return valueWithDefaults(isMissing ? (schema.default ?? null) : value, schema);
}

function valueWithDefaults(value: Value, schema: Schema | undefined): Value {
  if (schema === undefined) return value;
  if (isList(value)) return value.map((item) => childWithDefaults(item, schema.items));
  return isFields(value) ? withDefaults(value, schema) : value;
}
