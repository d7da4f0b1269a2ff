// The error text for requests outside the contract of the embedded server.

/** Returns the error text for an unsupported feature: `the local API server does not support conversion webhooks; use a real cluster`. */
export function notSupported(feature: string): string {
  return `the local API server does not support ${feature}; use a real cluster`;
}
