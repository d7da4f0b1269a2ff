// Timestamps in Kubernetes formats.

/** Latest whole second that RFC 3339 can express, in milliseconds since 1970. */
export const LATEST_TIMESTAMP = Date.parse('9999-12-31T23:59:59Z');

/** Parses an RFC 3339 string to milliseconds; returns undefined for any other value and for times outside 1970 to 9999. */
export function parseTimestamp(text: unknown): number | undefined {
  if (typeof text !== 'string' || !RFC_3339.test(text)) return undefined;
  const at = Date.parse(text);
  return at >= 0 && at <= LATEST_TIMESTAMP ? at : undefined;
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[-+]\d\d:\d\d)$/i;

/** Formats a metav1.Time: RFC 3339 in UTC, whole seconds, clamped to 1970 to 9999. */
export function formatTimestamp(at: number): string {
  const secondAt = toWholeSecond(at);
  const known = TEXTS.get(secondAt);
  if (known !== undefined) return known;
  const text = `${new Date(secondAt).toISOString().slice(0, 19)}Z`;
  if (TEXTS.size >= MAX_TEXTS) TEXTS.clear();
  TEXTS.set(secondAt, text);
  return text;
}

/** Cache of formatted times: the same few seconds are formatted many times. */
const TEXTS = new Map<number, string>();
const MAX_TEXTS = 64;

/** Formats a metav1.MicroTime: RFC 3339 in UTC, six fractional digits. */
export function formatMicroTimestamp(at: number): string {
  return new Date(at).toISOString().replace('Z', '000Z');
}

/** Truncates a time to whole seconds, clamped to 1970 to 9999. */
export function toWholeSecond(at: number): number {
  return Number.isNaN(at) ? 0 : Math.floor(Math.min(Math.max(at, 0), LATEST_TIMESTAMP) / 1000) * 1000;
}
