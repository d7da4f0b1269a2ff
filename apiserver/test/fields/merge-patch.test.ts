import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { mergePatch } from '../../fields/json-patch.ts';

describe('mergePatch', () => {
  it.each([
    ['sets and replaces', { a: 1, b: 2 }, { b: 3, c: 4 }, { a: 1, b: 3, c: 4 }],
    ['deletes by null', { a: 1, b: 2 }, { b: null, c: null }, { a: 1 }],
    ['merges objects', { a: { b: 1, c: 2 } }, { a: { c: null, d: 3 } }, { a: { b: 1, d: 3 } }],
    ['replaces lists', { a: [1, 2] }, { a: [3] }, { a: [3] }],
    ['has no nulls in what it adds', {}, { a: { b: null, c: [{ d: null, e: 1 }] } }, { a: { c: [{ e: 1 }] } }],
    ['has no nulls in what replaces a list', { a: [1] }, { a: [{ b: null }] }, { a: [{}] }],
    ['keeps nulls in a list that replaces an object', { a: {} }, { a: [{ b: null }] }, { a: [{ b: null }] }],
    ['replaces null', { a: null }, { a: { b: 1 } }, { a: { b: 1 } }],
    ['keeps a field named constructor', { constructor: 1 }, { a: 1 }, { constructor: 1, a: 1 }],
  ])('%s', (_, document, patch, result) => {
    expect(mergePatch(document, patch)).toEqual(result);
  });

  it.each([
    [[], 'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}'],
    [true, 'error decoding patch: json: cannot unmarshal bool into Go value of type map[string]interface {}'],
    [null, 'Invalid JSON Patch'],
  ] as const)('rejects %j', (patch, message) => {
    expect(() => mergePatch({}, patch)).toThrow(message);
  });

  it('changes nothing when it is applied a third time', () => {
    // The first may replace an object by a list, which keeps its nulls; the second replaces a list, and drops them.
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()), (document, patch) => {
        const twice = mergePatch(mergePatch(document, patch) as Record<string, unknown>, patch) as Record<string, unknown>;
        expect(mergePatch(twice, patch)).toEqual(twice);
      }),
    );
  });
});
