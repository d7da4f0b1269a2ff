// JSONPath as CRDs use it: `.a.b`, `.a[0]`, `.a['key']`, `.a[?(@.type=="Ready")].status`, with `\.` for dots in names.

import { isFields, isList, type Value } from '../object.ts';

/**
 * Finds values in an object; a missing field has no values. Throws for an index out of bounds, and for an index, slice or filter on a value
 * that is neither a list nor null.
 */
export type JsonPath = (root: Value) => readonly Value[];

/** Parses a path; throws if it is invalid. */
export function parseJsonPath(text: string): JsonPath {
  const steps = parseSteps(text);
  return (root) => steps.reduce<readonly Value[]>((values, step) => values.flatMap(step), [root]);
}

type Step = (value: Value) => readonly Value[];

function parseSteps(text: string): readonly Step[] {
  const steps: Step[] = [];
  let rest = text.replace(/^[$@]/, '');
  while (rest !== '') {
    const filter = FILTER.exec(rest);
    const bracket = filter ?? BRACKET.exec(rest);
    const match = bracket ?? FIELD.exec(rest);
    if (match === null) throw new Error(`unrecognized JSONPath at ${JSON.stringify(rest)}`);
    if (filter !== null) steps.push(toFilterStep(filter[1]!));
    else if (bracket !== null) steps.push(...parseBracket(bracket[1]!));
    else steps.push(toFieldStep(match[1]!.replaceAll('\\', '')));
    rest = rest.slice(match[0].length);
  }
  return steps;
}

const FIELD = /^\.((?:\\.|[^\s.,[\]$@{}\\])+)/;
const BRACKET = /^\[([^\]]*)\]/;
const FILTER = /^\[\?\(((?:[^"')]|"[^"]*"|'[^']*')*)\)\]/;

function toFieldStep(name: string): Step {
  if (name === '*') return (value) => (isFields(value) ? withoutUndefined(Object.values(value)) : isList(value) ? value : []);
  return (value) => (isFields(value) && Object.hasOwn(value, name) ? withoutUndefined([value[name]]) : []);
}

function withoutUndefined(values: readonly (Value | undefined)[]): readonly Value[] {
  return values.filter((value) => value !== undefined);
}

function parseBracket(text: string): readonly Step[] {
  const key = /^'([^']*)'$/.exec(text);
  if (key !== null) return parseSteps(`.${key[1]}`);
  const slice = /^(-?\d+)?(:(-?\d+)?)?$/.exec(text === '*' ? ':' : text);
  if (slice === null || text === '') throw new Error(`invalid array index ${text}`);
  const [, from, range, to] = slice;
  return [range === undefined ? toItemStep(Number(from)) : toSliceStep(Number(from ?? 0), to === undefined ? undefined : Number(to))];
}

function toItemStep(index: number): Step {
  return (value) => {
    const item = toList(value).at(index);
    if (value !== null && item === undefined) throw new Error('array index out of bounds');
    return item === undefined ? [] : [item];
  };
}

function toSliceStep(from: number, to: number | undefined): Step {
  return (value) => toList(value).slice(from, to);
}

function toList(value: Value): readonly Value[] {
  if (value === null) return [];
  if (!isList(value)) throw new Error('not a list');
  return value;
}

function toFilterStep(condition: string): Step {
  const [, path = condition, operator, operand] = /^([^!<>=]+)([!<>=]+)(.+)$/.exec(condition) ?? [];
  const left = parseJsonPath(path.trim());
  if (operator === undefined || operand === undefined) return (value) => toList(value).filter((item) => left(item).length > 0);
  const right = parseOperand(operand.trim());
  const compare = COMPARISONS[operator];
  if (compare === undefined) throw new Error(`unrecognized filter operator ${operator}`);
  return (value) =>
    toList(value).filter((item) => {
      const [a] = left(item);
      const [b] = right(item);
      return isScalar(a) && isScalar(b) && compare(a, b);
    });
}

function parseOperand(text: string): JsonPath {
  if (/^[@$]/.test(text)) return parseJsonPath(text);
  const quoted = /^(["'])(.*)\1$/.exec(text);
  if (quoted !== null) return () => [quoted[2]!];
  if (text === 'true' || text === 'false') return () => [text === 'true'];
  if (!/^[+-]?[\d.]+$/.test(text)) throw new Error(`unrecognized operand ${text}`);
  return () => [Number(text)];
}

type Scalar = string | number | boolean;

function isScalar(value: Value | undefined): value is Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

const COMPARISONS: Readonly<Record<string, (a: Scalar, b: Scalar) => boolean>> = {
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
};
