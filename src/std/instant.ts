// Timestamps from untrusted sources.

import { rfc3339 } from './timestamp.ts';

/** Latest time that RFC 3339 can express. */
export const LATEST_AT = Date.parse('9999-12-31T23:59:59Z');

/** Parses an RFC 3339 text to milliseconds; returns undefined for other texts and for times outside 1970 to 9999. */
export function instantOf(text: unknown): number | undefined {
  if (typeof text !== 'string' || !RFC_3339.test(text)) return undefined;
  const at = Date.parse(text);
  return at >= 0 && at <= LATEST_AT ? at : undefined;
}

/** Formats a time as RFC 3339 in whole seconds, clamped to 1970 to 9999. */
export function instantText(at: number): string {
  return rfc3339(wholeSecond(at));
}

/** Truncates a time to whole seconds, clamped to 1970 to 9999. */
export function wholeSecond(at: number): number {
  return Number.isNaN(at) ? 0 : Math.floor(Math.min(Math.max(at, 0), LATEST_AT) / 1000) * 1000;
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[-+]\d\d:\d\d)$/i;
