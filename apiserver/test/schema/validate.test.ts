import { describe, expect, it } from '@jest/globals';
import { formatFieldError } from '../../../src/kubernetes/field-error.ts';
import type { Value } from '../../../src/kubernetes/object.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';
import { filterNewErrors, validateSchema } from '../../schema/validate.ts';

type Case = readonly [Schema, Value, readonly string[]];

function errors(schema: Schema, value: Value): readonly string[] {
  return validateSchema({ v: value }, { type: 'object', properties: { v: schema } })
    .map(formatFieldError)
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
  ])('validates types: %j with %p', (schema, value, expected) => {
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
    [{ type: 'number', minimum: 1000000 }, 5.5, ['v: Invalid value: 5.5: v in body should be greater than or equal to 1e+06']],
    [{ type: 'number', minimum: 1000000 }, 5, ['v: Invalid value: 5: v in body should be greater than or equal to 1000000']],
  ])('validates numbers: %j with %p', (schema, value, expected) => {
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
  ])('validates strings: %j with %p', (schema, value, expected) => {
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
      { type: 'object', additionalProperties: { type: 'integer' }, maxProperties: 2 },
      { a: 1, b: 2, c: 3 },
      ['v: Too many: 3: must have at most 2 items'],
    ],
    [
      { type: 'object', additionalProperties: { type: 'integer' }, maxProperties: 2 },
      { 'a.b': 'x' },
      ['v.a.b: Invalid value: "string": v.a.b in body must be of type integer: "string"'],
    ],
  ])('validates lists and objects: %j with %p', (schema, value, expected) => {
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
    [{ type: 'string', format: 'byte' }, 'UEVN', []],
    [{ type: 'string', format: 'byte' }, 'UA==', []],
    [{ type: 'string', format: 'byte' }, '', ['v: Invalid value: "": v in body must be of type byte: ""']],
    [{ type: 'string', format: 'byte' }, 'UEV', ['v: Invalid value: "UEV": v in body must be of type byte: "UEV"']],
    [{ type: 'string', format: 'byte' }, 'U===', ['v: Invalid value: "U===": v in body must be of type byte: "U==="']],
    [{ type: 'string', format: 'byte' }, 'UE-N', ['v: Invalid value: "UE-N": v in body must be of type byte: "UE-N"']],
  ])('validates formats: %j with %p', (schema, value, expected) => {
    expect(errors(schema, value)).toEqual(expected);
  });

  it('reports relative paths in messages and absolute paths as fields', () => {
    const schema: Schema = { type: 'object', required: ['type'], properties: { phase: { type: 'string', minLength: 2 } } };
    expect(validateSchema({ phase: 'x' }, schema, 'status').map(formatFieldError)).toEqual([
      'status.phase: Invalid value: "x": phase in body should be at least 2 chars long',
      'status.type: Required value',
    ]);
  });

  it('reports errors of the root with the field <nil>', () => {
    expect(validateSchema({ a: '' }, { type: 'object', maxProperties: 0 }).map(formatFieldError)).toEqual([
      '<nil>: Too many: 1: must have at most 0 items',
    ]);
  });
});

describe('filterNewErrors', () => {
  const root: Schema = { type: 'object', properties: { spec: { type: 'object', properties: { a: { type: 'integer', minimum: 5 } } } } };
  const errorsOf = (a: number) => validateSchema({ spec: { a } }, root);

  it('drops the errors of an unchanged field', () => {
    expect(filterNewErrors(errorsOf(1), () => errorsOf(1))).toEqual([]);
  });

  it('keeps the errors of a changed field', () => {
    expect(filterNewErrors(errorsOf(2), () => errorsOf(1))).toHaveLength(1);
  });
});
