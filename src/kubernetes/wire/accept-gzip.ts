// Whether a client takes its answer compressed.

/** Whether `Accept-Encoding` names gzip. Kubernetes knows the bare word only, without a quality. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  return (acceptEncoding ?? '').split(',').some((encoding) => encoding.trim() === 'gzip');
}
