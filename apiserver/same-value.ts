// Equality of JSON values: numbers by value, objects regardless of the order of their fields.

import { isFields } from '../src/kubernetes/object.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** Returns true for equal values. An undefined field equals an absent one. */
export function isSameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isNumeric(a) && isNumeric(b)) return Number(a) === Number(b) && (typeof a === 'number' || typeof b === 'number');
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, index) => isSameValue(item, b[index]));
  return isFields(a) && isFields(b) && hasSameFields(a, b);
}

/** Returns an own field of an object; undefined for a missing field, even if its name is inherited, such as `constructor`. */
export function fieldOf(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function isNumeric(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

function hasSameFields(a: JsonObject, b: JsonObject): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => isSameValue(fieldOf(a, name), fieldOf(b, name)));
}
