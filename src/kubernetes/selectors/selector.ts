// What label selectors and field selectors have in common.

/** A selector that cannot be understood; the message is Kubernetes' own. */
export class SelectorError extends Error {
  override readonly name = 'SelectorError';
}

/** Whether the selector asks for nothing, and so selects every object. */
export function isEverything(selector: readonly unknown[]): boolean {
  return selector.length === 0;
}
