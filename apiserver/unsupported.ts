// The sentence by which the embedded server rejects requests outside its contract.

/** Returns the detail of a rejection: `the local API server does not support conversion webhooks`. */
export function notServed(what: string): string {
  return `the local API server does not support ${what}; use a real cluster`;
}
