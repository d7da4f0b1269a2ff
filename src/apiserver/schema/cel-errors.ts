// What went wrong while a rule ran, in the words of Kubernetes' CEL.

/** The detail of the error that a failing rule becomes. */
export function ruleFailure(error: unknown, rule: string): string {
  const { code, text } = described(error);
  if (code === 'no_such_overload' || code === 'no_matching_overload') {
    return `'no such overload': call arguments did not match a supported operator, function or macro signature for rule: ${rule}`;
  }
  return `${text} evaluating rule: ${rule}`;
}

function described(error: unknown): { readonly code: string; readonly text: string } {
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

/** What is wrong with an expression and where, drawn as Kubernetes draws it. */
export function compilationText(error: unknown, expression: string): string {
  const { code, text } = described(error);
  const start = startOf(error);
  const [name = ''] = /[^ ]+$/.exec(text) ?? [];
  if (code === 'no_such_key') return drawn(`undefined field '${name}'`, expression, Math.max(start - 1, 0));
  if (code === 'unknown_variable') return drawn(`undeclared reference to '${name}' (in container '')`, expression, start);
  return drawn(text, expression, start);
}

function startOf(error: unknown): number {
  if (!(error instanceof Error) || !('range' in error)) return 0;
  const { range } = error;
  return typeof range === 'object' && range !== null && 'start' in range && typeof range.start === 'number' ? range.start : 0;
}

function drawn(text: string, expression: string, offset: number): string {
  const before = expression.slice(0, offset).split('\n');
  const column = before.at(-1)?.length ?? 0;
  const line = expression.split('\n')[before.length - 1] ?? '';
  return `ERROR: <input>:${before.length}:${column + 1}: ${text}\n | ${line}\n | ${'.'.repeat(column)}^`;
}
