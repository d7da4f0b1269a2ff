import { describe, expect, it } from '@jest/globals';
import { formatFieldError } from '../../../src/kubernetes/field-error.ts';
import type { Value } from '../../../src/kubernetes/object.ts';
import type { Schema, ValidationRule } from '../../../src/kubernetes/schema/schema.ts';
import { findRuleProblem, hasRules, validateRules } from '../../schema/rules.ts';

const text: Schema = { type: 'string' };
const int: Schema = { type: 'integer' };

function withRule(schema: Schema, rule: string, more: Partial<ValidationRule> = {}): Schema {
  return { ...schema, 'x-kubernetes-validations': [{ rule, ...more }] };
}

function errors(schema: Schema, value: Value, old?: Value): readonly string[] {
  const root: Schema = { type: 'object', properties: { v: schema } };
  return validateRules({ v: value }, root, old === undefined ? undefined : { v: old }).map(formatFieldError);
}

const pair: Schema = { type: 'object', properties: { a: int, b: int } };
const list: Schema = { type: 'array', items: text };

describe('validateRules', () => {
  it('treats a field with a name of Object.prototype as new only if the old object does not contain the field', () => {
    const values: Schema = { type: 'object', additionalProperties: withRule(text, 'self == oldSelf') };
    expect(errors(values, { a: '1', constructor: 'n', ['__proto__']: 'o' }, { a: '1' })).toEqual([]);
    expect(errors(values, { constructor: 'n' }, { constructor: 'o' })).toEqual([
      'v[constructor]: Invalid value: "n": failed rule: self == oldSelf',
    ]);
  });

  it.each<readonly [string, Schema, Value, readonly string[]]>([
    ['accepts a value that satisfies the rule', withRule(int, 'self < 3'), 2, []],
    ['reports the value of a scalar, and the rule', withRule(int, 'self < 3'), 5, ['v: Invalid value: 5: failed rule: self < 3']],
    [
      'reports no value for an object',
      withRule(pair, 'self.a <= self.b', { message: 'a first ' }),
      { a: 2, b: 1 },
      ['v: Invalid value: a first'],
    ],
    ['reports no value for a list', withRule(list, 'self.size() < 2'), ['a', 'b'], ['v: Invalid value: failed rule: self.size() < 2']],
    [
      'reports the reason FieldValueForbidden',
      withRule(text, 'self != "x"', { reason: 'FieldValueForbidden', message: 'no' }),
      'x',
      ['v: Forbidden: no'],
    ],
    [
      'reports the field of fieldPath',
      withRule(pair, 'self.a <= self.b', { message: 'm', fieldPath: '.a' }),
      { a: 2, b: 1 },
      ['v.a: Invalid value: m'],
    ],
    [
      'reports an absent key',
      withRule(pair, 'self.a <= self.b', { message: 'm' }),
      { a: 2 },
      ['v: Invalid value: "object": no such key: b evaluating rule: m'],
    ],
    [
      'reports a division by zero',
      withRule(pair, '1 / self.a > 0'),
      { a: 0 },
      ['v: Invalid value: "object": division by zero evaluating rule: 1 / self.a > 0'],
    ],
    [
      'reports operands of the wrong type',
      withRule({}, 'self < 10'),
      'x',
      [
        `v: Invalid value: "": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self < 10`,
      ],
    ],
    [
      'evaluates rules of list items',
      { type: 'array', items: withRule(text, 'self.startsWith("a")') },
      ['a', 'b'],
      ['v[1]: Invalid value: "b": failed rule: self.startsWith("a")'],
    ],
    [
      'evaluates rules of map values',
      { type: 'object', additionalProperties: withRule(int, 'self > 1') },
      { 'x.y': 1 },
      ['v[x.y]: Invalid value: 1: failed rule: self > 1'],
    ],
    [
      'treats null fields as absent',
      withRule({ type: 'object', properties: { b: { ...text, nullable: true } } }, 'has(self.b)'),
      { b: null },
      ['v: Invalid value: failed rule: has(self.b)'],
    ],
    ['skips null values', withRule({ ...pair, nullable: true }, 'has(self.a)'), null, []],
    ['compares integers with doubles', withRule({ type: 'number' }, 'self > 1.5'), 2, []],
    ['compares times', withRule({ ...text, format: 'date-time' }, 'self > timestamp("2026-01-01T00:00:00Z")'), '2027-01-01T00:00:00Z', []],
    ['compares bytes', withRule({ ...text, format: 'byte' }, 'self == b"PEM" && size(self) == 3'), 'UEVN', []],
    [
      'matches patterns in linear time',
      withRule(text, 'self.matches("^(a+)+$")', { message: 'm' }),
      `${'a'.repeat(60)}b`,
      [`v: Invalid value: "${'a'.repeat(60)}b": m`],
    ],
    [
      'treats names of Object.prototype as absent',
      withRule({ type: 'object', additionalProperties: int }, 'has(self.constructor)', { message: 'm' }),
      {},
      ['v: Invalid value: m'],
    ],
    ['compares integers that a double cannot represent', withRule(int, 'self == 9007199254740993'), 9007199254740993n, []],
  ])('%s', (_, schema, value, expected) => {
    expect(errors(schema, value)).toEqual(expected);
  });

  it.each<readonly [string, Schema, readonly [Value, Value?], readonly string[]]>([
    ['ignores transition rules on create', withRule(text, 'self == oldSelf'), ['a'], []],
    [
      'evaluates transition rules on update',
      withRule(text, 'self == oldSelf', { message: 'immutable' }),
      ['a', 'b'],
      ['v: Invalid value: "a": immutable'],
    ],
  ])('%s', (_, schema, [next, old], expected) => {
    expect(errors(schema, next, old)).toEqual(expected);
  });

  it('passes type and name of the resource to rules at the root', () => {
    const root = withRule({ type: 'object' }, 'self.metadata.name != "bad" && self.kind == "Widget"', { message: 'm' });
    expect(validateRules({ kind: 'Widget', metadata: { name: 'bad' } }, root).map(formatFieldError)).toEqual(['<nil>: Invalid value: m']);
  });
});

describe('hasRules', () => {
  it.each<readonly [boolean, string, Schema]>([
    [false, 'a schema without rules', { type: 'object', properties: { a: text } }],
    [true, 'rules at the root', withRule({ type: 'object' }, 'true')],
    [true, 'rules of items', { type: 'array', items: withRule(text, 'true') }],
    [true, 'rules of map values', { type: 'object', additionalProperties: withRule(text, 'true') }],
  ])('returns %s for %s', (expected, _, schema) => {
    expect(hasRules(schema)).toBe(expected);
  });
});

describe('findRuleProblem', () => {
  it('returns undefined for a supported rule', () => {
    expect(findRuleProblem({ rule: 'self.all(key, size(key) <= 3 && key.matches("^a"))', fieldPath: '.a.b' })).toBeUndefined();
  });

  it.each([
    [
      'a rule with a syntax error',
      { rule: 'self.' },
      /^the local API server does not support this rule, or the rule is invalid \(.*\); use a real cluster$/,
    ],
    ['an unknown function', { rule: 'isURL(self)' }, /does not support this rule/],
    ['messageExpression', { rule: 'true', messageExpression: '"a"' }, /does not support messageExpression;/],
    ['optionalOldSelf', { rule: 'true', optionalOldSelf: true }, /does not support optionalOldSelf;/],
    ['escaped names', { rule: 'self.a__dash__b' }, /does not support escaped field names in rules;/],
    [
      'a path with brackets',
      { rule: 'true', fieldPath: ".a['b']" },
      /does not support a fieldPath that is not a path of plain field names such as \.spec\.name;/,
    ],
  ])('returns the error text for %s', (_, rule, problem) => {
    expect(findRuleProblem(rule)).toMatch(problem);
  });
});
