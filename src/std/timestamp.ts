// Instants as Kubernetes writes them.

/** metav1.Time: RFC 3339 in UTC, whole seconds. */
export function rfc3339(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** metav1.MicroTime: RFC 3339 in UTC, exactly six digits of fraction. */
export function rfc3339Micro(at: number): string {
  return new Date(at).toISOString().replace('Z', '000Z');
}
