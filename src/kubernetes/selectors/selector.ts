// Common part of label selectors and field selectors.

/** An invalid selector, with Kubernetes' message. */
export class SelectorError extends Error {
  override readonly name = 'SelectorError';
}

/** Returns whether the selector has no requirements and selects every object. */
export function isEverything(selector: readonly unknown[]): boolean {
  return selector.length === 0;
}
