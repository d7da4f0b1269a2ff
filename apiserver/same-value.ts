// Equality of JSON values: numbers by amount, objects regardless of the order of their fields.

import { isFields } from '../src/kubernetes/object.ts';

/** A JSON object of any kind. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Reports if two values are equal. An undefined field equals an absent one. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isNumeric(a) && isNumeric(b)) return Number(a) === Number(b) && (typeof a === 'number' || typeof b === 'number');
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, index) => sameValue(item, b[index]));
  return isFields(a) && isFields(b) && sameFields(a, b);
}

/** A field of an object; names such as `constructor` are no exception. */
export function fieldOf(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function isNumeric(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

function sameFields(a: JsonObject, b: JsonObject): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => sameValue(fieldOf(a, name), fieldOf(b, name)));
}
