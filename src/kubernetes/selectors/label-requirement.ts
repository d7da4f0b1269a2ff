// One requirement of a label selector.

import { type FieldError, formatFieldError, invalidValue } from '../field-error.ts';
import { validateLabelValue, validateQualifiedName } from '../names.ts';
import { aggregate } from '../status.ts';
import { SelectorError } from './selector.ts';

/** The operators of Kubernetes' selection package. */
export type LabelOperator = 'exists' | '!' | '=' | '==' | '!=' | 'in' | 'notin' | 'gt' | 'lt';

/** A label key with the requirement for its value. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

/** Returns a requirement whose key and values are valid for its operator. Throws a SelectorError otherwise. */
export function createLabelRequirement(key: string, operator: LabelOperator, values: readonly string[]): LabelRequirement {
  const problems = [
    ...validateLabelKey(key, 'key'),
    ...validateCount(operator, values),
    ...validateIntegers(operator, values),
    ...values.flatMap((value, index) => validateValue(`values[${index}][${key}]`, value)),
  ];
  if (problems.length > 0) throw new SelectorError(aggregate(problems.map(formatFieldError)));
  return { key, operator, values };
}

/** Returns the problems of a label key as errors of `field`. */
export function validateLabelKey(key: string, field: string): readonly FieldError[] {
  return joinProblems(field, key, validateQualifiedName(key));
}

/** Returns whether a label value, or its absence, satisfies the requirement. */
export function isSatisfied({ operator, values }: LabelRequirement, value: string | undefined): boolean {
  return TESTS[operator](value, values);
}

type Test = (value: string | undefined, values: readonly string[]) => boolean;

const exists: Test = (value) => value !== undefined;
const isOneOf: Test = (value, values) => value !== undefined && values.includes(value);
const isGreater: Test = (value, [bound]) => compare(value, bound, (a, b) => a > b);
const isLess: Test = (value, [bound]) => compare(value, bound, (a, b) => a < b);

function not(test: Test): Test {
  return (value, values) => !test(value, values);
}

const TESTS: Readonly<Record<LabelOperator, Test>> = {
  exists,
  '!': not(exists),
  '=': isOneOf,
  '==': isOneOf,
  in: isOneOf,
  '!=': not(isOneOf),
  notin: not(isOneOf),
  gt: isGreater,
  lt: isLess,
};

function compare(value: string | undefined, bound: string | undefined, test: (a: bigint, b: bigint) => boolean): boolean {
  const left = parseInt64(value);
  const right = parseInt64(bound);
  return left !== undefined && right !== undefined && test(left, right);
}

const COUNTS: Readonly<Record<LabelOperator, { readonly fits: (count: number) => boolean; readonly problem: string }>> = (() => {
  const none = { fits: (count: number) => count === 0, problem: 'values set must be empty for exists and does not exist' };
  const one = { fits: (count: number) => count === 1, problem: 'exact-match compatibility requires one single value' };
  const some = { fits: (count: number) => count > 0, problem: "for 'in', 'notin' operators, values set can't be empty" };
  const bound = { fits: (count: number) => count === 1, problem: "for 'Gt', 'Lt' operators, exactly one value is required" };
  return { exists: none, '!': none, '=': one, '==': one, '!=': one, in: some, notin: some, gt: bound, lt: bound };
})();

function validateCount(operator: LabelOperator, values: readonly string[]): readonly FieldError[] {
  const { fits, problem } = COUNTS[operator];
  return fits(values.length) ? [] : [invalidValue('values', values.length === 0 ? null : values, problem)];
}

function validateIntegers(operator: LabelOperator, values: readonly string[]): readonly FieldError[] {
  if (operator !== 'gt' && operator !== 'lt') return [];
  return values.flatMap((value, index) =>
    parseInt64(value) === undefined
      ? [invalidValue(`values[${index}]`, value, "for 'Gt', 'Lt' operators, the value must be an integer")]
      : [],
  );
}

function validateValue(field: string, value: string): readonly FieldError[] {
  return joinProblems(field, value, validateLabelValue(value));
}

function joinProblems(field: string, value: string, problems: readonly string[]): readonly FieldError[] {
  return problems.length === 0 ? [] : [invalidValue(field, value, problems.join('; '))];
}

function parseInt64(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[+-]?\d+$/.test(text)) return undefined;
  const value = BigInt(text.replace(/^\+/, ''));
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
