import { describe, expect, it } from '@jest/globals';
import { fieldErrorText } from '../../../../src/kubernetes/field-error.ts';
import type { Value } from '../../../../src/kubernetes/object.ts';
import type { Schema, ValidationRule } from '../../../../src/kubernetes/schema/schema.ts';
import { hasRules, validateRules } from '../../../schema/cel/rules.ts';

const text: Schema = { type: 'string' };
const int: Schema = { type: 'integer' };

function ruled(schema: Schema, rule: string, more: Partial<ValidationRule> = {}): Schema {
  return { ...schema, 'x-kubernetes-validations': [{ rule, ...more }] };
}

function errors(schema: Schema, value: Value, old?: Value): readonly string[] {
  const root: Schema = { type: 'object', properties: { v: schema } };
  return validateRules({ v: value }, root, old === undefined ? undefined : { v: old }).map(fieldErrorText);
}

const pair: Schema = { type: 'object', properties: { a: int, b: int } };
const list: Schema = { type: 'array', items: text };
const names: Schema = { type: 'object', properties: { namespace: text, 'a-b': text, 'a.b': text, 'a/b': text, a__b: text } };
const keyed: Schema = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['k'],
  items: { type: 'object', properties: { k: text, v: ruled(int, 'self >= oldSelf') } },
};

describe('validateRules', () => {
  it('takes fields with the names of inherited ones for new when they are', () => {
    const values: Schema = { type: 'object', additionalProperties: ruled(text, 'self == oldSelf') };
    expect(errors(values, { a: '1', constructor: 'n', ['__proto__']: 'o' }, { a: '1' })).toEqual([]);
    expect(errors(values, { constructor: 'n' }, { constructor: 'o' })).toEqual([
      'v[constructor]: Invalid value: "n": failed rule: self == oldSelf',
    ]);
  });

  it('follows the items of a long list', () => {
    const items = (first: number) => Array.from({ length: 20_000 }, (_, k) => ({ k: `${k}`, v: k === 19_999 ? first : 0 }));
    expect(errors(keyed, items(1), items(2))).toEqual(['v[19999].v: Invalid value: 1: failed rule: self >= oldSelf']);
  });

  it.each<readonly [string, Schema, Value, readonly string[]]>([
    ['passes what holds', ruled(int, 'self < 3'), 2, []],
    ['shows scalars and the rule', ruled(int, 'self < 3'), 5, ['v: Invalid value: 5: failed rule: self < 3']],
    ['leaves out objects', ruled(pair, 'self.a <= self.b', { message: 'a first ' }), { a: 2, b: 1 }, ['v: Invalid value: a first']],
    ['leaves out lists', ruled(list, 'self.size() < 2'), ['a', 'b'], ['v: Invalid value: failed rule: self.size() < 2']],
    [
      'lets an expression make the message',
      ruled(text, 'self != "x"', { messageExpression: '"bad: " + self', message: 'm' }),
      'x',
      ['v: Invalid value: "x": bad: x'],
    ],
    [
      'falls back when that expression fails',
      ruled(pair, 'self.a > 5', { messageExpression: 'string(self.b)', message: 'm' }),
      { a: 1 },
      ['v: Invalid value: m'],
    ],
    [
      'falls back when it says nothing',
      ruled(text, 'self != "x"', { messageExpression: '" "', message: 'm' }),
      'x',
      ['v: Invalid value: "x": m'],
    ],
    ['forbids', ruled(text, 'self != "x"', { reason: 'FieldValueForbidden', message: 'no' }), 'x', ['v: Forbidden: no']],
    ['requires', ruled(text, 'self != "x"', { reason: 'FieldValueRequired', message: 'no' }), 'x', ['v: Required value: no']],
    ['tells duplicates', ruled(text, 'self != "x"', { reason: 'FieldValueDuplicate', message: 'no' }), 'x', ['v: Duplicate value: "x"']],
    ['points at a field', ruled(pair, 'self.a <= self.b', { message: 'm', fieldPath: '.a' }), { a: 2, b: 1 }, ['v.a: Invalid value: m']],
    [
      'reports missing keys',
      ruled(pair, 'self.a <= self.b', { message: 'm' }),
      { a: 2 },
      ['v: Invalid value: "object": no such key: b evaluating rule: m'],
    ],
    [
      'reports bad indices',
      ruled(list, 'self[2] == "a"'),
      ['a'],
      ['v: Invalid value: "array": index out of bounds: 2 evaluating rule: self[2] == "a"'],
    ],
    [
      'reports divisions by zero',
      ruled(pair, '1 / self.a > 0'),
      { a: 0 },
      ['v: Invalid value: "object": division by zero evaluating rule: 1 / self.a > 0'],
    ],
    [
      'reports operands of the wrong type',
      ruled({ 'x-kubernetes-int-or-string': true }, 'self < 10'),
      'x',
      [
        `v: Invalid value: "": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self < 10`,
      ],
    ],
    [
      'checks list items',
      { type: 'array', items: ruled(text, 'self.startsWith("a")') },
      ['a', 'b'],
      ['v[1]: Invalid value: "b": failed rule: self.startsWith("a")'],
    ],
    [
      'checks map values',
      { type: 'object', additionalProperties: ruled(int, 'self > 1') },
      { 'x.y': 1 },
      ['v[x.y]: Invalid value: 1: failed rule: self > 1'],
    ],
    [
      'finds escaped names',
      ruled(names, 'self.__namespace__ + self.a__dash__b + self.a__dot__b + self.a__slash__b + self.a__underscores__b == "12345"'),
      { namespace: '1', 'a-b': '2', 'a.b': '3', 'a/b': '4', a__b: '5' },
      [],
    ],
    [
      'takes null fields for absent',
      ruled({ type: 'object', properties: { b: { ...text, nullable: true } } }, 'has(self.b)'),
      { b: null },
      ['v: Invalid value: failed rule: has(self.b)'],
    ],
    ['skips null values', ruled({ ...pair, nullable: true }, 'has(self.a)'), null, []],
    ['compares numbers of both kinds', ruled({ type: 'number' }, 'self > 1.5'), 2, []],
    ['compares times', ruled({ ...text, format: 'date-time' }, 'self > timestamp("2026-01-01T00:00:00Z")'), '2027-01-01T00:00:00Z', []],
    ['compares durations', ruled({ ...text, format: 'duration' }, 'self > duration("1h")'), '2h', []],
    [
      'matches patterns in linear time',
      ruled(text, 'self.matches("^(a+)+$")', { message: 'm' }),
      `${'a'.repeat(60)}b`,
      [`v: Invalid value: "${'a'.repeat(60)}b": m`],
    ],
    ['knows Kubernetes list functions', ruled(list, 'self.isSorted() && self.indexOf("b") == 1 && self.max() == "b"'), ['a', 'b'], []],
    ['knows Kubernetes text functions', ruled(text, 'self.find("[0-9]+") == "12" && self.replace("a", "b").charAt(0) == "b"'), 'a12', []],
    [
      'formats messages',
      ruled(list, 'self.size() == 0', { messageExpression: "'%d: %s'.format([self.size(), self.join(',')])" }),
      ['a', 'b'],
      ['v: Invalid value: 2: a,b'],
    ],
    [
      'is not confused by names of Object.prototype',
      ruled({ type: 'object', additionalProperties: int }, 'has(self.constructor)', { message: 'm' }),
      {},
      ['v: Invalid value: m'],
    ],
    ['sees integers that doubles cannot hold', ruled(int, 'self == 9007199254740993'), 9007199254740993n, []],
  ])('%s', (_, schema, value, expected) => {
    expect(errors(schema, value)).toEqual(expected);
  });

  it.each<readonly [string, Schema, readonly [Value, Value?], readonly string[]]>([
    ['leaves transition rules alone on create', ruled(text, 'self == oldSelf'), ['a'], []],
    [
      'holds changes against transition rules',
      ruled(text, 'self == oldSelf', { message: 'immutable' }),
      ['a', 'b'],
      ['v: Invalid value: "a": immutable'],
    ],
    [
      'runs optional transition rules on create, too',
      ruled(text, 'oldSelf.hasValue()', { optionalOldSelf: true, message: 'm' }),
      ['a'],
      ['v: Invalid value: "a": m'],
    ],
    [
      'gives optional transition rules the old value',
      ruled(text, 'self == oldSelf.orValue("b")', { optionalOldSelf: true }),
      ['b', 'b'],
      [],
    ],
    [
      'follows list items by their keys',
      keyed,
      [
        [
          { k: 'new', v: 0 },
          { k: 'a', v: 1 },
        ],
        [{ k: 'a', v: 2 }],
      ],
      ['v[1].v: Invalid value: 1: failed rule: self >= oldSelf'],
    ],
    ['forgives what has not changed', ruled(int, 'self > 1'), [0, 0], []],
    [
      'does not forgive items of a changed list',
      { type: 'array', items: ruled(int, 'self > 1') },
      [[0, 5], [0]],
      ['v[0]: Invalid value: 0: failed rule: self > 1'],
    ],
  ])('%s', (_, schema, [next, old], expected) => {
    expect(errors(schema, next, old)).toEqual(expected);
  });

  it('shows rules at the root the type and the name of the resource', () => {
    const root = ruled({ type: 'object' }, 'self.metadata.name != "bad" && self.kind == "Widget"', { message: 'm' });
    expect(validateRules({ kind: 'Widget', metadata: { name: 'bad' } }, root).map(fieldErrorText)).toEqual(['<nil>: Invalid value: m']);
  });
});

describe('hasRules', () => {
  it.each<readonly [string, Schema, boolean]>([
    ['no rules', { type: 'object', properties: { a: text } }, false],
    ['rules at the root', ruled({ type: 'object' }, 'true'), true],
    ['rules of items', { type: 'array', items: ruled(text, 'true') }, true],
    ['rules of map values', { type: 'object', additionalProperties: ruled(text, 'true') }, true],
  ])('finds %s', (_, schema, expected) => {
    expect(hasRules(schema)).toBe(expected);
  });
});
