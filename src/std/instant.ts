// Instants and lifetimes that come from elsewhere: damaged, absurd, or a thousand years ahead.

import { rfc3339 } from './timestamp.ts';

/** The last instant that has four digits for its year, which is as far as RFC 3339 goes. */
export const LATEST_AT = Date.parse('9999-12-31T23:59:59Z');

/** The instant that an RFC 3339 text names; undefined for anything else, and for years that cannot be written again. */
export function instantOf(text: unknown): number | undefined {
  if (typeof text !== 'string' || !RFC_3339.test(text)) return undefined;
  const at = Date.parse(text);
  return at >= 0 && at <= LATEST_AT ? at : undefined;
}

/** An instant as text, cut to whole seconds; what RFC 3339 cannot say becomes the nearest that it can. */
export function instantText(at: number): string {
  return rfc3339(wholeSecond(at));
}

/** The instant without its fraction of a second, within what `instantText` can write. */
export function wholeSecond(at: number): number {
  return Number.isNaN(at) ? 0 : Math.floor(Math.min(Math.max(at, 0), LATEST_AT) / 1000) * 1000;
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[-+]\d\d:\d\d)$/i;
