import { describe, expect, it } from '@jest/globals';
import { fieldErrorText } from '../../../src/kubernetes/field-error.ts';
import type { Value } from '../../../src/kubernetes/object.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';
import { validateSchema, validateSchemaUpdate } from '../../schema/validate.ts';

type Case = readonly [Schema, Value, readonly string[]];

function errors(schema: Schema, value: Value): readonly string[] {
  return validateSchema({ v: value }, { type: 'object', properties: { v: schema } })
    .map(fieldErrorText)
    .sort();
}

describe('validateSchema', () => {
  it.each<Case>([
    [{ type: 'integer' }, 5, []],
    [
      { type: 'integer' },
      1.5,
      [
        '<nil>: Invalid value: "": Checked value must be of type integer (default format) in v',
        'v: Invalid value: "number": v in body must be of type integer: "number"',
      ],
    ],
    [{ type: 'integer' }, '5', ['v: Invalid value: "string": v in body must be of type integer: "string"']],
    [{ type: 'integer' }, true, ['v: Invalid value: "boolean": v in body must be of type integer: "boolean"']],
    [{ type: 'integer' }, null, ['v: Invalid value: "null": v in body must be of type integer: "null"']],
    [{ type: 'integer' }, [], ['v: Invalid value: "array": v in body must be of type integer: "array"']],
    [{ type: 'integer' }, {}, ['v: Invalid value: "object": v in body must be of type integer: "object"']],
    [{ type: 'number' }, 1, []],
    [{ type: 'number' }, 1.5, []],
    [{ type: 'number' }, 'x', ['v: Invalid value: "string": v in body must be of type number: "string"']],
    [{ type: 'boolean' }, true, []],
    [{ type: 'boolean' }, 'true', ['v: Invalid value: "string": v in body must be of type boolean: "string"']],
    [{ type: 'boolean' }, 1, ['v: Invalid value: "integer": v in body must be of type boolean: "integer"']],
    [{ type: 'string' }, '', []],
    [{ type: 'string' }, 5, ['v: Invalid value: "integer": v in body must be of type string: "integer"']],
    [{ type: 'string' }, null, ['v: Invalid value: "null": v in body must be of type string: "null"']],
    [{ type: 'string', nullable: true }, null, []],
    [{ type: 'array', items: { type: 'string' } }, {}, ['v: Invalid value: "object": v in body must be of type array: "object"']],
    [
      { type: 'array', items: { type: 'string' } },
      [1, 'a', null],
      [
        'v[0]: Invalid value: "integer": v[0] in body must be of type string: "integer"',
        'v[2]: Invalid value: "null": v[2] in body must be of type string: "null"',
      ],
    ],
    [{ type: 'object' }, [], ['v: Invalid value: "array": v in body must be of type object: "array"']],
    [{ type: 'object' }, 'x', ['v: Invalid value: "string": v in body must be of type object: "string"']],
    [{ 'x-kubernetes-int-or-string': true }, 'x', []],
    [{ 'x-kubernetes-int-or-string': true }, 5, []],
    [{ 'x-kubernetes-int-or-string': true }, 1.5, ['v: Invalid value: "number": v in body must be of type integer,string: "number"']],
    [{ 'x-kubernetes-int-or-string': true }, true, ['v: Invalid value: "boolean": v in body must be of type integer,string: "boolean"']],
    [{ 'x-kubernetes-preserve-unknown-fields': true }, 5, []],
    [{ 'x-kubernetes-preserve-unknown-fields': true }, [], []],
    [{ 'x-kubernetes-preserve-unknown-fields': true }, null, []],
  ])('judges types: %j takes %p', (schema, value, expected) => {
    expect(errors(schema, value)).toEqual(expected);
  });

  it.each<Case>([
    [{ type: 'integer', minimum: 1, maximum: 10 }, 0, ['v: Invalid value: 0: v in body should be greater than or equal to 1']],
    [{ type: 'integer', minimum: 1, maximum: 10 }, 11, ['v: Invalid value: 11: v in body should be less than or equal to 10']],
    [
      { type: 'integer', minimum: 1, maximum: 10 },
      10.5,
      [
        '<nil>: Invalid value: "": Checked value must be of type integer (default format) in v',
        'v: Invalid value: "number": v in body must be of type integer: "number"',
        'v: Invalid value: 10.5: v in body should be less than or equal to 10',
      ],
    ],
    [
      { type: 'integer', minimum: 1, maximum: 10 },
      99999999999999999999n,
      [
        '<nil>: Invalid value: "": Checked value must be of type integer (default format) in v',
        'v: Invalid value: "number": v in body must be of type integer: "number"',
        'v: Invalid value: 1e+20: v in body should be less than or equal to 10',
      ],
    ],
    [
      { type: 'integer', minimum: 1, exclusiveMinimum: true, maximum: 10, exclusiveMaximum: true },
      1,
      ['v: Invalid value: 1: v in body should be greater than 1'],
    ],
    [
      { type: 'integer', minimum: 1, exclusiveMinimum: true, maximum: 10, exclusiveMaximum: true },
      10,
      ['v: Invalid value: 10: v in body should be less than 10'],
    ],
    [{ type: 'integer', minimum: 1, exclusiveMinimum: true, maximum: 10, exclusiveMaximum: true }, 2, []],
    [
      { type: 'integer', maximum: 10.5 },
      11,
      [
        '<nil>: Invalid value: "": Maximum boundary value must be of type integer (default format) in v',
        'v: Invalid value: 11: v in body should be less than or equal to 10.5',
      ],
    ],
    [
      { type: 'integer', format: 'int32' },
      2147483648,
      ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in v'],
    ],
    [
      { type: 'integer', format: 'int32' },
      1.5,
      [
        '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in v',
        'v: Invalid value: "float64": v in body must be of type int32: "float64"',
      ],
    ],
    [{ type: 'integer', format: 'int32' }, true, ['v: Invalid value: "": v in body must be of type int32: ""']],
    [{ type: 'integer', format: 'int32' }, 'x', ['v: Invalid value: "string": v in body must be of type integer: "string"']],
    [{ type: 'integer', multipleOf: 3 }, 4, ['v: Invalid value: 4: v in body should be a multiple of 3']],
    [{ type: 'integer', multipleOf: 3 }, 6, []],
    [{ type: 'number', multipleOf: 0.5 }, 0.75, ['v: Invalid value: 0.75: v in body should be a multiple of 0.5']],
    [{ type: 'number', multipleOf: 0.5 }, 1.5, []],
    [{ type: 'number', minimum: 1000000 }, 5.5, ['v: Invalid value: 5.5: v in body should be greater than or equal to 1e+06']],
    [{ type: 'number', minimum: 1000000 }, 5, ['v: Invalid value: 5: v in body should be greater than or equal to 1000000']],
    [{ type: 'number', format: 'float' }, 1e39, ['<nil>: Invalid value: "": Checked value must be of type number with format float in v']],
  ])('judges numbers: %j takes %p', (schema, value, expected) => {
    expect(errors(schema, value)).toEqual(expected);
  });

  it.each<Case>([
    [
      { type: 'string', minLength: 2, maxLength: 4, pattern: '^[a-z]+$' },
      '',
      ['v: Invalid value: "": v in body should be at least 2 chars long'],
    ],
    [{ type: 'string', minLength: 2, maxLength: 4, pattern: '^[a-z]+$' }, 'abcde', ['v: Too long: may not be more than 4 bytes']],
    [
      { type: 'string', minLength: 2, maxLength: 4, pattern: '^[a-z]+$' },
      'AB',
      [`v: Invalid value: "AB": v in body should match '^[a-z]+$'`],
    ],
    [{ type: 'string', minLength: 2, maxLength: 4, pattern: '^[a-z]+$' }, 'ab', []],
    [
      { type: 'string', minLength: 2, maxLength: 4, pattern: '^[a-z]+$' },
      'éé',
      [`v: Invalid value: "éé": v in body should match '^[a-z]+$'`],
    ],
    [{ type: 'string', enum: ['a', 'b"c'] }, 'x', ['v: Unsupported value: "x": supported values: "a", "b\\"c"']],
    [{ type: 'string', enum: ['a', 'b"c'] }, 'a', []],
    [{ type: 'string', nullable: true, enum: ['a'] }, null, ['v: Unsupported value: null: supported values: "a"']],
    [{ type: 'integer', enum: [1, 2] }, 3, ['v: Unsupported value: 3: supported values: "1", "2"']],
    [{ type: 'integer', enum: [1, 2] }, 2, []],
    [{ type: 'string', pattern: '^(?i)x\\d+\\p{L}$' }, 'X1é', []],
    [
      { type: 'string', pattern: '^(a+)+$' },
      'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab',
      [`v: Invalid value: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab": v in body should match '^(a+)+$'`],
    ],
  ])('judges strings: %j takes %p', (schema, value, expected) => {
    expect(errors(schema, value)).toEqual(expected);
  });

  it.each<Case>([
    [
      { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 3 },
      [1],
      ['v: Invalid value: 1: v in body should have at least 2 items'],
    ],
    [{ type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 3 }, [1, 2, 3, 4], ['v: Too many: 4: must have at most 3 items']],
    [
      { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 3 },
      ['x', 1],
      ['v[0]: Invalid value: "string": v[0] in body must be of type integer: "string"'],
    ],
    [
      { type: 'object', properties: { a: { type: 'string' }, b: { type: 'integer' } }, required: ['a', 'b'] },
      {},
      ['v.a: Required value', 'v.b: Required value'],
    ],
    [
      { type: 'object', properties: { a: { type: 'string' }, b: { type: 'integer' } }, required: ['a', 'b'] },
      { a: 1, b: 2 },
      ['v.a: Invalid value: "integer": v.a in body must be of type string: "integer"'],
    ],
    [
      { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 1, maxProperties: 2 },
      {},
      ['v: Invalid value: 0: v in body should have at least 1 properties'],
    ],
    [
      { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 1, maxProperties: 2 },
      { a: 1, b: 2, c: 3 },
      ['v: Too many: 3: must have at most 2 items'],
    ],
    [
      { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 1, maxProperties: 2 },
      { 'a.b': 'x' },
      ['v.a.b: Invalid value: "string": v.a.b in body must be of type integer: "string"'],
    ],
  ])('judges lists and objects: %j takes %p', (schema, value, expected) => {
    expect(errors(schema, value)).toEqual(expected);
  });

  it.each<Case>([
    [{ type: 'string', format: 'date-time' }, 'x', ['v: Invalid value: "x": v in body must be of type date-time: "x"']],
    [{ type: 'string', format: 'date-time' }, '2026-01-01T00:00:00Z', []],
    [
      { type: 'string', format: 'date-time' },
      '2026-02-29T00:00:00Z',
      ['v: Invalid value: "2026-02-29T00:00:00Z": v in body must be of type date-time: "2026-02-29T00:00:00Z"'],
    ],
    [{ type: 'string', format: 'date-time' }, 5, ['v: Invalid value: "int64": v in body must be of type date-time: "int64"']],
    [{ type: 'string', format: 'date-time' }, true, ['v: Invalid value: "": v in body must be of type date-time: ""']],
    [{ type: 'string', format: 'date-time' }, [], []],
    [{ type: 'string', format: 'byte' }, '', ['v: Invalid value: "": v in body must be of type byte: ""']],
    [{ type: 'string', format: 'byte' }, 'YQ==', []],
    [{ type: 'string', format: 'byte' }, 'YQ', ['v: Invalid value: "YQ": v in body must be of type byte: "YQ"']],
    [{ type: 'string', format: 'uri' }, 'x', ['v: Invalid value: "x": v in body must be of type uri: "x"']],
    [{ type: 'string', format: 'uri' }, '/x', []],
    [{ type: 'string', format: 'uri' }, 'http://x y', ['v: Invalid value: "http://x y": v in body must be of type uri: "http://x y"']],
    [{ type: 'string', format: 'uri' }, 'http://x:y/', ['v: Invalid value: "http://x:y/": v in body must be of type uri: "http://x:y/"']],
    [{ type: 'string', format: 'uri' }, 'mailto:a', []],
    [{ type: 'string', format: 'email' }, 'a@b.c', []],
    [{ type: 'string', format: 'email' }, 'a', ['v: Invalid value: "a": v in body must be of type email: "a"']],
    [{ type: 'string', format: 'hostname' }, 'a.bc', []],
    [{ type: 'string', format: 'hostname' }, 'a_b', ['v: Invalid value: "a_b": v in body must be of type hostname: "a_b"']],
    [{ type: 'string', format: 'hostname' }, '-a', ['v: Invalid value: "-a": v in body must be of type hostname: "-a"']],
    [{ type: 'string', format: 'ipv4' }, '01.2.3.4', []],
    [{ type: 'string', format: 'ipv4' }, '::1', ['v: Invalid value: "::1": v in body must be of type ipv4: "::1"']],
    [{ type: 'string', format: 'ipv6' }, '::1', []],
    [{ type: 'string', format: 'ipv6' }, '1.2.3.4', ['v: Invalid value: "1.2.3.4": v in body must be of type ipv6: "1.2.3.4"']],
    [{ type: 'string', format: 'cidr' }, '1.2.3.4/8', []],
    [{ type: 'string', format: 'cidr' }, '1.2.3.4/33', ['v: Invalid value: "1.2.3.4/33": v in body must be of type cidr: "1.2.3.4/33"']],
    [{ type: 'string', format: 'mac' }, '0123.4567.89ab', []],
    [{ type: 'string', format: 'mac' }, '01:23', ['v: Invalid value: "01:23": v in body must be of type mac: "01:23"']],
    [{ type: 'string', format: 'uuid4' }, '9f1c1a3e-0c3a-4b7e-8d2f-3a4b5c6d7e8f', []],
    [
      { type: 'string', format: 'uuid4' },
      '9f1c1a3e-0c3a-1b7e-8d2f-3a4b5c6d7e8f',
      ['v: Invalid value: "9f1c1a3e-0c3a-1b7e-8d2f-3a4b5c6d7e8f": v in body must be of type uuid4: "9f1c1a3e-0c3a-1b7e-8d2f-3a4b5c6d7e8f"'],
    ],
    [{ type: 'string', format: 'duration' }, '1h30m', []],
    [{ type: 'string', format: 'duration' }, '3 days', []],
    [{ type: 'string', format: 'duration' }, '1x', ['v: Invalid value: "1x": v in body must be of type duration: "1x"']],
    [{ type: 'string', format: 'isbn' }, '978-0321751041', []],
    [{ type: 'string', format: 'isbn' }, '0321751044', ['v: Invalid value: "0321751044": v in body must be of type isbn: "0321751044"']],
    [{ type: 'string', format: 'creditcard' }, '4111 1111 1111 1111', []],
    [
      { type: 'string', format: 'creditcard' },
      '4111111111111112',
      ['v: Invalid value: "4111111111111112": v in body must be of type creditcard: "4111111111111112"'],
    ],
    [{ type: 'string', format: 'k8s-short-name' }, 'a', []],
    [{ type: 'string', format: 'k8s-short-name' }, 'a.b', ['v: Invalid value: "a.b": v in body must be of type k8s-short-name: "a.b"']],
    [{ type: 'string', format: 'made-up' }, 'x', []],
  ])('judges formats: %j takes %p', (schema, value, expected) => {
    expect(errors(schema, value)).toEqual(expected);
  });

  it.each<Case>([
    [
      { type: 'string', anyOf: [{ maxLength: 2 }, { pattern: '^x' }] },
      'abc',
      ['<nil>: Invalid value: "": "v" must validate at least one schema (anyOf)', 'v: Too long: may not be more than 2 bytes'],
    ],
    [{ type: 'string', anyOf: [{ maxLength: 2 }, { pattern: '^x' }] }, 'ab', []],
    [
      { type: 'string', oneOf: [{ maxLength: 2 }, { pattern: '^x' }] },
      'abc',
      [
        '<nil>: Invalid value: "": "v" must validate one and only one schema (oneOf). Found none valid',
        'v: Too long: may not be more than 2 bytes',
      ],
    ],
    [
      { type: 'string', oneOf: [{ maxLength: 2 }, { pattern: '^x' }] },
      'x',
      ['<nil>: Invalid value: "": "v" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
    ],
    [{ type: 'string', oneOf: [{ maxLength: 2 }, { pattern: '^x' }] }, 'ab', []],
    [
      { type: 'string', allOf: [{ maxLength: 2 }, { pattern: '^x' }] },
      'abc',
      [
        '<nil>: Invalid value: "": "v" must validate all the schemas (allOf). None validated',
        `v: Invalid value: "abc": v in body should match '^x'`,
        'v: Too long: may not be more than 2 bytes',
      ],
    ],
    [
      { type: 'string', allOf: [{ maxLength: 2 }, { pattern: '^x' }] },
      'ab',
      ['<nil>: Invalid value: "": "v" must validate all the schemas (allOf)', `v: Invalid value: "ab": v in body should match '^x'`],
    ],
    [{ type: 'string', allOf: [{ maxLength: 2 }, { pattern: '^x' }] }, 'x', []],
    [{ type: 'string', not: { pattern: '^x' } }, 'xa', ['<nil>: Invalid value: "": "v" must not validate the schema (not)']],
    [{ type: 'string', not: { pattern: '^x' } }, 'a', []],
    [
      {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'integer' } },
        anyOf: [
          { required: ['a'], properties: { a: { minLength: 3 } } },
          { required: ['b'], properties: { b: { minimum: 5 } } },
        ],
      },
      {},
      ['<nil>: Invalid value: "": "v" must validate at least one schema (anyOf)', 'v.a: Required value'],
    ],
    [
      {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'integer' } },
        anyOf: [
          { required: ['a'], properties: { a: { minLength: 3 } } },
          { required: ['b'], properties: { b: { minimum: 5 } } },
        ],
      },
      { a: 'x', b: 3 },
      [
        '<nil>: Invalid value: "": "v" must validate at least one schema (anyOf)',
        'v.b: Invalid value: 3: v.b in body should be greater than or equal to 5',
      ],
    ],
    [
      {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'integer' } },
        anyOf: [
          { required: ['a'], properties: { a: { minLength: 3 } } },
          { required: ['b'], properties: { b: { minimum: 5 } } },
        ],
      },
      { a: 'xxx' },
      [],
    ],
  ])('judges alternatives: %j takes %p', (schema, value, expected) => {
    expect(errors(schema, value)).toEqual(expected);
  });

  it('tells a duration from a long row of digits in no time', () => {
    expect(errors({ type: 'string', format: 'duration' }, '1'.repeat(200_000))).toHaveLength(1);
  });

  it('names fields relative to the value, and places them where the value stands', () => {
    const schema: Schema = { type: 'object', required: ['type'], properties: { phase: { type: 'string', minLength: 2 } } };
    expect(validateSchema({ phase: 'x' }, schema, 'status').map(fieldErrorText)).toEqual([
      'status.phase: Invalid value: "x": phase in body should be at least 2 chars long',
      'status.type: Required value',
    ]);
  });

  it('has no name for the root', () => {
    expect(validateSchema({}, { type: 'object', minProperties: 1 }).map(fieldErrorText)).toEqual([
      '<nil>: Invalid value: 0:  in body should have at least 1 properties',
    ]);
  });
});

describe('validateSchemaUpdate', () => {
  const small: Schema = { type: 'integer', minimum: 5 };
  const items: Schema = { type: 'object', required: ['k'], properties: { k: { type: 'string' }, v: small } };

  const byKey: Schema = { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'], items };
  const pair: Schema = { type: 'object', properties: { a: small, b: { type: 'string' } } };

  it.each<readonly [string, { schema: Schema; next: Value; old: Value; errors: number }]>([
    ['forgives an unchanged field', { schema: pair, next: { a: 1, b: 'x' }, old: { a: 1, b: 'y' }, errors: 0 }],
    ['checks a changed field', { schema: pair, next: { a: 2 }, old: { a: 1 }, errors: 1 }],
    ['forgives an unchanged list', { schema: { type: 'array', items: small }, next: [1], old: [1], errors: 0 }],
    ['checks all items of a changed list', { schema: { type: 'array', items: small }, next: [1, 7], old: [1], errors: 1 }],
    [
      'follows the items of a list of type map by their keys',
      {
        schema: byKey,
        next: [
          { k: 'new', v: 7 },
          { k: 'a', v: 1 },
        ],
        old: [{ k: 'a', v: 1 }],
        errors: 0,
      },
    ],
  ])('%s', (_, { schema, next, old, errors: count }) => {
    const root: Schema = { type: 'object', properties: { spec: schema } };
    expect(validateSchemaUpdate({ spec: next }, { spec: old }, root)).toHaveLength(count);
  });
});
