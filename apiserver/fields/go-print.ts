// Values in the formats of Go's fmt package, for messages of Kubernetes.

import { isFields } from '../../src/kubernetes/object.ts';
import { compareUtf8 } from '../../src/std/go-text.ts';

/** Formats a value as `%v`: `map[a:1 b:[x y]]`. */
export function formatGoValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatGoValue).join(' ')}]`;
  if (isFields(value)) {
    return `map[${sortEntries(value)
      .map(([name, field]) => `${name}:${formatGoValue(field)}`)
      .join(' ')}]`;
  }
  return printScalar(value) ?? '<nil>';
}

function sortEntries(value: object): readonly (readonly [string, unknown])[] {
  return Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => compareUtf8(a, b));
}

function printScalar(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' ? `${value}` : undefined;
}

/** Returns the type of a value in messages of Go's JSON decoder: `object`, `array`, `string`, `number`, `bool` or `null`. */
export function jsonTypeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'bigint' ? 'number' : typeof value;
}
