// What went wrong while a rule ran, in the words of Kubernetes' CEL.

/** The detail of the error that a failing rule becomes. */
export function ruleFailure(error: unknown, rule: string): string {
  const { code, text } = described(error);
  if (code === 'no_such_overload' || code === 'no_matching_overload') {
    return `'no such overload': call arguments did not match a supported operator, function or macro signature for rule: ${rule}`;
  }
  return `${text} evaluating rule: ${rule}`;
}

/** The library's code of an error, and its text in Kubernetes' words. */
export function described(error: unknown): { readonly code: string; readonly text: string } {
  if (!(error instanceof Error)) return { code: '', text: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const summary = 'summary' in error && typeof error.summary === 'string' ? error.summary : error.message;
  return { code, text: WORDS[code]?.(summary) ?? summary };
}

const WORDS: Readonly<Record<string, (summary: string) => string>> = {
  no_such_key: (summary) => summary.replace(/^No such key/, 'no such key'),
  index_out_of_bounds: (summary) => `index out of bounds: ${/index (-?\d+)/.exec(summary)?.[1] ?? ''}`,
  modulo_by_zero: () => 'modulus by zero',
  numeric_overflow: () => 'integer overflow',
};
