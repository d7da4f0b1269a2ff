// Single query parameters, as Kubernetes converts them: of repeated ones the first counts.

import { goQuote } from '../../std/go-text.ts';
import { badRequest } from '../status.ts';

/** A text; empty if absent. */
export function text(query: URLSearchParams, name: string): string {
  return query.get(name) ?? '';
}

/** Reports whether a flag is set: any value but `0` and `false` sets it, even none at all. */
export function flag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
}

/** An int64, undefined if absent, or throws a StatusError (400). Beyond 2^53 it is only as exact as a double. */
export function integer(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  if (!/^[+-]?\d+$/.test(value)) throw badRequest(`strconv.ParseInt: parsing ${goQuote(value)}: invalid syntax`);
  const exact = BigInt(value.replace(/^\+/, ''));
  if (BigInt.asIntN(64, exact) !== exact) throw badRequest(`strconv.ParseInt: parsing ${goQuote(value)}: value out of range`);
  return Number(exact);
}
