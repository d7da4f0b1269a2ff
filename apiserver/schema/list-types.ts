// Validation of x-kubernetes-list-type: items of sets and keys of maps are unique.

import { duplicateValue, type FieldError, invalidValue } from '../../src/kubernetes/field-error.ts';
import { type Fields, isFields, isList, type Value } from '../../src/kubernetes/object.ts';
import { type Schema, schemaOfField } from '../../src/kubernetes/schema/schema.ts';
import { encodeGoJson } from '../../src/std/go-text.ts';
import { formatFieldPath } from './field-path.ts';

/** Rejects repeated items in lists of type set, and repeated keys in lists of type map. */
export function validateListTypes(value: Value, schema: Schema | undefined, path = ''): readonly FieldError[] {
  if (schema === undefined) return [];
  if (isList(value)) {
    const nested = value.flatMap((item, index) => validateListTypes(item, schema.items, `${path}[${index}]`));
    return [...validateList(value, schema, path), ...nested];
  }
  if (!isFields(value)) return [];
  return Object.entries(value).flatMap(([key, field = null]) =>
    validateListTypes(field, schemaOfField(schema, key), formatFieldPath(path, key, schema)),
  );
}

function validateList(items: readonly Value[], schema: Schema, path: string): readonly FieldError[] {
  const type = schema['x-kubernetes-list-type'];
  if (type === 'set') return findRepeatedIndexes(items).map((index) => duplicateValue(`${path}[${index}]`, items[index]));
  if (type !== 'map') return [];
  const scalar = items.findIndex((item) => item !== null && !isFields(item));
  if (scalar !== -1) return [invalidValue(`${path}[${scalar}]`, items[scalar], 'must be an object for an array of list-type map')];
  const keys = items.map((item) => pickKeys(item, schema['x-kubernetes-list-map-keys'] ?? []));
  return findRepeatedIndexes(keys).map((index) => duplicateValue(`${path}[${index}]`, keys[index]));
}

function pickKeys(item: Value, names: readonly string[]): Fields {
  const keys = names.map((name) => [name, isFields(item) && Object.hasOwn(item, name) ? item[name] : undefined] as const);
  return Object.fromEntries(keys.filter(([, value]) => value !== undefined));
}

/** Returns the index of the second occurrence of each repeated value. */
function findRepeatedIndexes(values: readonly Value[]): readonly number[] {
  const times = new Map<string, number>();
  return values.flatMap((value, index) => {
    const text = encodeGoJson(value);
    const seen = times.get(text) ?? 0;
    times.set(text, seen + 1);
    return seen === 1 ? [index] : [];
  });
}
