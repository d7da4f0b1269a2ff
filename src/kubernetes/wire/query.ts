// Query parameters, converted as in Kubernetes; the first of repeated parameters applies.

import { quoteGoString } from '../../std/go-text.ts';
import { badRequest } from '../status.ts';

/** Returns a string parameter; empty if absent. */
export function readText(query: URLSearchParams, name: string): string {
  return query.get(name) ?? '';
}

/** Returns whether a flag is set: by any value except `0` and `false`, even by an empty one. */
export function readFlag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
}

/** Returns an int64 parameter; undefined if absent. Values above 2^53 are rounded. Throws a StatusError (400) if it is invalid. */
export function readInteger(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  if (!/^[+-]?\d+$/.test(value)) throw badRequest(`strconv.ParseInt: parsing ${quoteGoString(value)}: invalid syntax`);
  const exact = BigInt(value.replace(/^\+/, ''));
  if (BigInt.asIntN(64, exact) !== exact) throw badRequest(`strconv.ParseInt: parsing ${quoteGoString(value)}: value out of range`);
  return Number(exact);
}
