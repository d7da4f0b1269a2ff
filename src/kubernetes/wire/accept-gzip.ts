// Negotiation of compression.

/** Returns whether `Accept-Encoding` names gzip. Like Kubernetes, it matches the bare word only, without a quality. */
export function acceptsGzip(acceptEncoding = ''): boolean {
  return acceptEncoding.split(',').some((encoding) => encoding.trim() === 'gzip');
}
