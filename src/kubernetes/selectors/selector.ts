// Common part of label selectors and field selectors.

/** An invalid selector; the message is that of Kubernetes. */
export class SelectorError extends Error {
  override readonly name = 'SelectorError';
}

/** Returns whether the selector has no requirements and selects every object. */
export function isEverything(selector: readonly unknown[]): boolean {
  return selector.length === 0;
}
