// Negotiation of compression.

/** Returns whether `Accept-Encoding` names gzip. Like Kubernetes, ignores gzip with a quality, such as `gzip;q=1`. */
export function acceptsGzip(acceptEncoding = ''): boolean {
  return acceptEncoding.split(',').some((encoding) => encoding.trim() === 'gzip');
}
