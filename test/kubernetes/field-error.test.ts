import { describe, expect, it } from '@jest/globals';
import {
  duplicateValue,
  type FieldError,
  forbiddenValue,
  formatFieldError,
  invalidOmitted,
  invalidStruct,
  invalidValue,
  requiredValue,
  tooLong,
  tooMany,
  typeInvalid,
  unsupportedValue,
} from '../../src/kubernetes/field-error.ts';

describe('field errors', () => {
  it.each<[string, FieldError, string]>([
    ['an invalid string', invalidValue('a.b', 'x"y', 'must be z'), 'a.b: Invalid value: "x\\"y": must be z'],
    ['an invalid number', invalidValue('a', 5, 'must be larger'), 'a: Invalid value: 5: must be larger'],
    ['an invalid fraction', invalidValue('a', 0.000_01, 'must be larger'), 'a: Invalid value: 1e-05: must be larger'],
    ['an invalid null', invalidValue('a', null, 'must be set'), 'a: Invalid value: null: must be set'],
    ['an invalid map, with sorted keys', invalidValue('a', { c: 1, b: '<' }, 'no'), 'a: Invalid value: {"b":"\\u003c","c":1}: no'],
    ['an invalid struct, with its declared key order', invalidStruct('a', { c: 1, b: 2 }, 'no'), 'a: Invalid value: {"c":1,"b":2}: no'],
    ['an invalid value that is not shown', invalidOmitted('a', 'too big'), 'a: Invalid value: too big'],
    ['a value of the wrong type', typeInvalid('a', 'x', 'must be integer'), 'a: Invalid value: "x": must be integer'],
    ['a missing value', requiredValue('a'), 'a: Required value'],
    ['a missing value with a detail', requiredValue('a', 'name it'), 'a: Required value: name it'],
    ['a forbidden value', forbiddenValue('a', 'may not change'), 'a: Forbidden: may not change'],
    ['a duplicate', duplicateValue('a[1]', 'x'), 'a[1]: Duplicate value: "x"'],
    ['an unsupported value', unsupportedValue('a', 'x', ['B', 'A']), 'a: Unsupported value: "x": supported values: "B", "A"'],
    ['an unsupported value without supported ones', unsupportedValue('a', 'x', []), 'a: Unsupported value: "x"'],
    ['a long value', tooLong('a', 64), 'a: Too long: may not be more than 64 bytes'],
    ['a value of more than one byte', tooLong('a', 1), 'a: Too long: may not be more than 1 byte'],
    ['a long list', tooMany('a', 3, 2), 'a: Too many: 3: must have at most 2 items'],
    ['a list of more than one item', tooMany('a', 2, 1), 'a: Too many: 2: must have at most 1 item'],
  ])('formats %s', (_name, error, text) => {
    expect(formatFieldError(error)).toBe(text);
  });

  it('contains the reason and the message of a Status cause', () => {
    expect(invalidValue('spec.size', 5, 'must be larger')).toEqual({
      type: 'FieldValueInvalid',
      field: 'spec.size',
      body: 'Invalid value: 5: must be larger',
    });
  });
});
