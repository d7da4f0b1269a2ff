// Common part of label selectors and field selectors.

/** A selector that cannot be understood; the message is Kubernetes' own. */
export class SelectorError extends Error {
  override readonly name = 'SelectorError';
}

/** Reports whether the selector has no requirements and selects every object. */
export function isEverything(selector: readonly unknown[]): boolean {
  return selector.length === 0;
}
