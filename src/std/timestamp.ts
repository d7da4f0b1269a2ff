// Timestamps in the formats of Kubernetes.

/** Formats a metav1.Time: RFC 3339 in UTC, whole seconds. */
export function rfc3339(at: number): string {
  const second = Math.floor(at / 1000);
  const known = TEXTS.get(second);
  if (known !== undefined) return known;
  const text = `${new Date(at).toISOString().slice(0, 19)}Z`;
  if (TEXTS.size >= MAX_TEXTS) TEXTS.clear();
  TEXTS.set(second, text);
  return text;
}

/** Cache of texts: the same few seconds are formatted many times. */
const TEXTS = new Map<number, string>();
const MAX_TEXTS = 64;

/** Formats a metav1.MicroTime: RFC 3339 in UTC, six fractional digits. */
export function rfc3339Micro(at: number): string {
  return new Date(at).toISOString().replace('Z', '000Z');
}
