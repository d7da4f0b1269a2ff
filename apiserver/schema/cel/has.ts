// `has` for fields of whatever an expression yields, such as `has(self.list[0].name)`: the library's takes names and fields alone.

import type { Environment } from '@marcbachmann/cel-js';
import { isNode, nodesIn } from './nodes.ts';

/** What the library reads instead of `has` where that would be refused; as long as that, so that all offsets stay. */
export const WIDE_HAS = 'h_s';

/** The expression as the library can read it. */
export function withWideHas(expression: string, environment: Environment): string {
  let text = expression;
  for (const { start } of wideCalls(expression, environment)) text = text.slice(0, start) + WIDE_HAS + text.slice(start + WIDE_HAS.length);
  return text;
}

function wideCalls(expression: string, environment: Environment): readonly { readonly start: number }[] {
  try {
    return nodesIn(environment.parse(expression).ast).filter(({ op, args }) => op === 'call' && Array.isArray(args) && isWide(args));
  } catch {
    return [];
  }
}

function isWide([name, given]: readonly unknown[]): boolean {
  const [field] = name === 'has' && Array.isArray(given) && given.length === 1 ? (given as readonly unknown[]) : [];
  let source = field;
  while (isNode(source) && source.op === '.' && Array.isArray(source.args)) source = (source.args as readonly unknown[])[0];
  return source !== field && isNode(source) && source.op !== 'id' && source.op !== '.?';
}

/** A field selection as the parser makes it. */
interface Selection {
  readonly args: readonly [source: unknown, name: string];
}

interface Checker {
  check(node: unknown, context: unknown): unknown;
  getType(name: string): unknown;
}

interface Evaluator {
  run(node: unknown, context: unknown): unknown;
}

/** The macro behind the name. */
export function wideHas({ args: [field] }: { readonly args: readonly [Selection] }): object {
  const [source, name] = field.args;
  return {
    async: false,
    typeCheck: (checker: Checker, _: unknown, context: unknown) => {
      checker.check(source, context);
      return checker.getType('bool');
    },
    evaluate: (evaluator: Evaluator, _: unknown, context: unknown) => {
      const object = evaluator.run(source, context);
      return object instanceof Map && object.get(name) !== undefined;
    },
  };
}
