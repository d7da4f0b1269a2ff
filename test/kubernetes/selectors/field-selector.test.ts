import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  createFieldSelectorPattern,
  type FieldSelector,
  findRequiredName,
  matchesFields,
  parseFieldSelector,
} from '../../../src/kubernetes/selectors/field-selector.ts';
import { isEverything } from '../../../src/kubernetes/selectors/selector.ts';

describe('parseFieldSelector', () => {
  it.each<[string, FieldSelector]>([
    ['', []],
    [',,', []],
    ['metadata.name=a', [{ field: 'metadata.name', operator: '=', value: 'a' }]],
    ['metadata.name==a', [{ field: 'metadata.name', operator: '=', value: 'a' }]],
    ['metadata.name!=a', [{ field: 'metadata.name', operator: '!=', value: 'a' }]],
    ['=x', [{ field: '', operator: '=', value: 'x' }]],
    ['f=', [{ field: 'f', operator: '=', value: '' }]],
    ['f=\\,\\=\\\\', [{ field: 'f', operator: '=', value: ',=\\' }]],
    [' f= a', [{ field: ' f', operator: '=', value: ' a' }]],
    [
      'b=1,,a!=2',
      [
        { field: 'a', operator: '!=', value: '2' },
        { field: 'b', operator: '=', value: '1' },
      ],
    ],
  ])('parses %j', (text, selector) => {
    expect(parseFieldSelector(text)).toEqual(selector);
  });

  it.each([
    ['metadata.name', "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
    ['metadata.name=a,b', "invalid selector: 'metadata.name=a,b'; can't understand 'b'"],
    ['z,a', "invalid selector: 'z,a'; can't understand 'a'"],
    ['!x', "invalid selector: '!x'; can't understand '!x'"],
    ['z\\,y', "invalid selector: 'z\\,y'; can't understand 'z\\,y'"],
    ['a=b\\x', 'invalid field selector: invalid escape sequence: \\x'],
    ['a=b\\', 'invalid field selector: invalid escape sequence: \\'],
    ['a=\\😀', 'invalid field selector: invalid escape sequence: \\😀'],
    ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
    ['a===b', 'invalid field selector: unescaped character in value: 61'],
    ['z,a=b=c', 'invalid field selector: unescaped character in value: 61'],
  ])('rejects %j', (text, message) => {
    expect(() => parseFieldSelector(text)).toThrow(expect.objectContaining({ name: 'SelectorError', message }));
  });

  it('parses any escaped values', () => {
    const term = fc.record({
      field: fc.constantFrom('metadata.name', 'status.phase', 'type'),
      operator: fc.constantFrom('=' as const, '!=' as const),
      value: fc.string({ unit: 'binary' }),
    });
    fc.assert(
      fc.property(fc.array(term), (terms) => {
        const text = terms.map(({ field, operator, value }) => `${field}${operator}${value.replace(/[\\,=]/g, '\\$&')}`).join(',');
        const selector = parseFieldSelector(text);
        const sortTerms = (list: FieldSelector) =>
          list.map(({ field, operator, value }) => JSON.stringify([field, operator, value])).sort();
        expect(sortTerms(selector)).toEqual(sortTerms(terms));
        expect(isEverything(selector)).toBe(terms.length === 0);
      }),
    );
  });
});

describe('matchesFields', () => {
  const namespace = (field: string) => ({ 'metadata.name': 'a', 'status.phase': 'Active' })[field] ?? '';

  it.each([
    ['', true],
    ['metadata.name=a', true],
    ['metadata.name=b', false],
    ['metadata.name!=b', true],
    ['metadata.name=a,status.phase!=Active', false],
    ['metadata.name=a,metadata.name=b', false],
    ['spec.missing=', true],
  ])('matches the object against %j: %j', (text, expected) => {
    expect(matchesFields(parseFieldSelector(text), namespace)).toBe(expected);
  });
});

describe('findRequiredName', () => {
  it.each([
    ['', undefined],
    ['metadata.name=a', 'a'],
    ['metadata.name=', ''],
    ['metadata.name!=a', undefined],
    ['metadata.name=b,metadata.name=a', 'a'],
    ['status.phase=Active,metadata.name=a', 'a'],
  ])('parses %j and finds the name %j', (text, name) => {
    expect(findRequiredName(parseFieldSelector(text))).toBe(name);
  });
});

describe('createFieldSelectorPattern', () => {
  const fields = ['metadata.name', 'spec.a'];
  const pattern = new RegExp(createFieldSelectorPattern(fields));
  const token = fc.constantFrom('metadata.name', 'spec.a', 'spec.b', '=', '==', '!=', ',', '\\', '\\\\', '\\,', '\\=', 'x', ' ', '\n');

  function isAccepted(text: string): boolean {
    try {
      return parseFieldSelector(text).every(({ field }) => fields.includes(field));
    } catch {
      return false;
    }
  }

  it('matches exactly the selectors by the given fields that can be parsed', () => {
    fc.assert(
      fc.property(fc.array(token, { maxLength: 9 }), (tokens) => {
        const text = tokens.join('');
        expect([text, pattern.test(text)]).toEqual([text, isAccepted(text)]);
      }),
      { numRuns: 3_000 },
    );
  });

  it('matches only selectors that can be parsed', () => {
    fc.assert(fc.property(fc.stringMatching(pattern), isAccepted));
  });
});
