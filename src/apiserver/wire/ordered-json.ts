// JSON with keys in the order in which they stand, for values that were built in the order of their Go structs.

import { goJsonNumber, goJsonString } from '../../std/go-text.ts';

/** The compact JSON of a value, with Go's escaping. Fields that are undefined are left out. */
export function orderedJson(value: unknown): string {
  if (typeof value === 'string') return goJsonString(value);
  if (Array.isArray(value)) return `[${value.map(orderedJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, field]) => field !== undefined);
    return `{${entries.map(([key, field]) => `${goJsonString(key)}:${orderedJson(field)}`).join(',')}}`;
  }
  if (typeof value === 'number') return goJsonNumber(value);
  return typeof value === 'boolean' || typeof value === 'bigint' ? String(value) : 'null';
}

/** The same JSON, indented by two spaces as Go does it. */
export function indentJson(compact: string): string {
  let margin = '\n';
  return compact.replace(TOKENS, (token) => {
    switch (token) {
      case '{':
      case '[':
        margin += '  ';
        return `${token}${margin}`;
      case '}':
      case ']':
        margin = margin.slice(0, -2);
        return `${margin}${token}`;
      case ',':
        return `,${margin}`;
      case ':':
        return ': ';
      default:
        return token;
    }
  });
}

/** Strings and empty containers stay as they are. */
const TOKENS = /"(?:[^"\\]|\\.)*"|\{\}|\[\]|[{}[\],:]/g;
