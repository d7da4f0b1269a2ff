// Why an expression cannot be compiled, drawn as Kubernetes' compiler draws it.

import type { Environment } from '@marcbachmann/cel-js';
import { described } from './errors.ts';
import { WIDE_HAS, withWideHas } from './has.ts';
import { type CelNode, nodeAt, nodesIn, offsetOf, type Range } from './nodes.ts';

/** What is wrong with an expression and where; undefined if nothing is. */
export function compilationProblem(expression: string, environment: Environment): string | undefined {
  const compilation = { expression, text: withWideHas(expression, environment), environment };
  const { valid, error } = environment.check(compilation.text);
  return valid ? absentField(compilation) : problemText(error, compilation);
}

interface Compilation {
  readonly expression: string;
  /** The same as the library reads it. */
  readonly text: string;
  readonly environment: Environment;
}

function problemText(error: unknown, compilation: Compilation): string {
  const { code, text } = described(error);
  const range = rangeOf(error);
  const { expression } = compilation;
  const [name = ''] = /[^ ]+$/.exec(text) ?? [];
  if (code === 'no_such_key') return drawn(`undefined field '${name}'`, expression, Math.max(range.start - 1, 0));
  if (code === 'unknown_variable') return drawn(undeclared(name), expression, range.start);
  if (code === 'invalid_macro_argument' && text.startsWith('has()'))
    return drawn('invalid argument to has() macro', expression, range.start);
  if (code === 'invalid_comprehension_range')
    return drawn(goTypes(text).replace('Expression', 'expression').replace(/\.$/, ''), expression, range.start);
  const node = nodeAt(syntaxTree(compilation), range);
  const fault = node && FAULTS[code]?.(text, node, compilation);
  return fault === undefined ? drawn(text, expression, range.start) : drawn(fault.text, expression, offsetOf(fault.node, expression));
}

interface Fault {
  readonly text: string;
  /** Where Kubernetes' compiler points to. */
  readonly node: CelNode;
}

/** Operators and functions that are not there for such types, or not at all; by the library's code. */
const FAULTS: Readonly<Record<string, (text: string, node: CelNode, compilation: Compilation) => Fault>> = {
  no_such_overload: (text, node) => {
    const [, left, operator = '', right = ''] = /^no such overload: (?:(.+?) )?(==|!=|<=?|>=?|[-+*/%!]|in) ?(.+)$/.exec(text) ?? [];
    const symbol = left === undefined ? `${operator}_` : operator === 'in' ? '@in' : `_${operator}_`;
    const types = left === undefined ? right : `${left}, ${right}`;
    return { text: `found no matching overload for '${symbol}' applied to '(${goTypes(types)})'`, node };
  },
  no_matching_overload: (text, node, { environment }) => {
    const [, receiver, name = '', types = ''] = /'(?:(.*)\.)?(\w+)\((.*)\)'$/.exec(text) ?? [];
    const isKnown = environment.getDefinitions().functions.some((each) => each.name === name);
    const applied = `${receiver === undefined ? '' : `${goTypes(receiver)}.`}(${goTypes(types)})`;
    return { text: isKnown ? `found no matching overload for '${name}' applied to '${applied}'` : undeclared(name), node };
  },
  invalid_logical_operand: (text, node, compilation) => {
    const [, found = ''] = /got '(.*)'/.exec(text) ?? [];
    const operand = nodesIn(node.args).find((each) => typeOf(each, compilation) === found);
    return { text: `expected type 'bool' but found '${goTypes(found)}'`, node: operand ?? node };
  },
};

/** `has` takes any field for the checker at hand; Kubernetes wants one that is declared. */
function absentField(compilation: Compilation): string | undefined {
  const { expression, text: read, environment } = compilation;
  for (const node of nodesIn(syntaxTree(compilation))) {
    const [name, fields] = Array.isArray(node.args) ? (node.args as readonly unknown[]) : [];
    const [field] = node.op === 'call' && (name === 'has' || name === WIDE_HAS) ? nodesIn(fields) : [];
    const { error } = field === undefined ? {} : environment.check(read.slice(field.start, field.end));
    const { code, text } = described(error);
    if (code === 'no_such_key') return drawn(`undefined field '${/[^ ]+$/.exec(text)?.[0] ?? ''}'`, expression, offsetOf(node, expression));
  }
  return undefined;
}

function typeOf({ start, end }: CelNode, { text, environment }: Compilation): string | undefined {
  return environment.check(text.slice(start, end)).type;
}

function syntaxTree({ text, environment }: Compilation): unknown {
  try {
    return environment.parse(text).ast;
  } catch {
    return undefined;
  }
}

function undeclared(name: string): string {
  return `undeclared reference to '${name}' (in container '')`;
}

/** Types as Kubernetes' compiler writes them; the names of our own object types mean nothing to anybody. */
function goTypes(text: string): string {
  return text
    .replaceAll(/\bObject\d+\b/g, 'object')
    .replaceAll('google.protobuf.Timestamp', 'timestamp')
    .replaceAll('google.protobuf.Duration', 'duration')
    .replaceAll('<', '(')
    .replaceAll('>', ')');
}

function rangeOf(error: unknown): Range {
  const range = error instanceof Error && 'range' in error ? error.range : undefined;
  const isRange = typeof range === 'object' && range !== null && 'start' in range && 'end' in range;
  return isRange ? { start: Number(range.start), end: Number(range.end) } : { start: 0, end: 0 };
}

function drawn(text: string, expression: string, offset: number): string {
  const before = expression.slice(0, offset).split('\n');
  const column = before.at(-1)?.length ?? 0;
  const line = expression.split('\n')[before.length - 1] ?? '';
  return `ERROR: <input>:${before.length}:${column + 1}: ${text}\n | ${line}\n | ${'.'.repeat(column)}^`;
}
