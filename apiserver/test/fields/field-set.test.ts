import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  decodeFieldsV1,
  difference,
  encodeFieldsV1,
  type FieldSet,
  formatPath,
  intersection,
  pathsOf,
  recursiveDifference,
  toFieldSet,
  union,
} from '../../fields/field-set.ts';

const element = fc.constantFrom('f:a', 'f:b', 'k:{"name":"x"}', 'v:1');
const fields = fc.array(fc.array(element, { minLength: 1, maxLength: 3 }), { maxLength: 6 }).map(toFieldSet);
const textsOf = (set: FieldSet): ReadonlySet<string> => new Set([...pathsOf(set)].map((path) => path.join(' ')));

describe('field sets', () => {
  it('encodes fields in Kubernetes order', () => {
    const set = toFieldSet([
      ['v:"b"'],
      ['k:{"name":"b"}', 'f:note'],
      ['k:{"name":"a"}'],
      ['f:z'],
      ['f:a', 'f:c'],
      ['f:a'],
      ['f:a', 'f:B'],
      ['v:"a"'],
    ]);
    expect(JSON.stringify(encodeFieldsV1(set))).toBe(
      '{"f:a":{".":{},"f:B":{},"f:c":{}},"f:z":{},"k:{\\"name\\":\\"a\\"}":{},"k:{\\"name\\":\\"b\\"}":{"f:note":{}},"v:\\"a\\"":{},"v:\\"b\\"":{}}',
    );
  });

  it('formats paths for messages', () => {
    const set = toFieldSet([
      ['f:spec', 'k:{"port":80,"proto":"TCP"}', 'f:note'],
      ['f:x', 'i:0'],
      ['f:x', 'v:"y"'],
    ]);
    expect([...pathsOf(set)].map(formatPath)).toEqual(['.spec[port=80,proto="TCP"].note', '.x[0]', '.x[="y"]']);
  });

  it('decodes an encoded set to the same set', () => {
    fc.assert(fc.property(fields, (set) => expect(decodeFieldsV1(encodeFieldsV1(set))).toEqual(set)));
  });

  it('decodes keys in any order, and ignores unknown types of elements', () => {
    expect(decodeFieldsV1({ 'k:{"b":1,"a":2.0}': {}, 'z:x': { 'f:a': {} }, 'f:n': null })).toEqual(
      toFieldSet([['k:{"a":2,"b":1}'], ['f:n']]),
    );
  });

  it.each([
    [{ data: {} }, 'malformed key data'],
    [{ f: {} }, 'malformed key f'],
    [{ 'f:a': 'x' }, 'a set of fields must be an object'],
    [[], 'a set of fields must be an object'],
    [{ 'k:[1]': {} }, 'not an object: [1]'],
    [{ 'v:{': {} }, 'JSON'],
  ])('rejects the document %j', (document, message) => {
    expect(() => decodeFieldsV1(document)).toThrow(message);
  });

  it('computes union, intersection and difference', () => {
    fc.assert(
      fc.property(fields, fields, (a, b) => {
        expect(textsOf(union(a, b))).toEqual(textsOf(a).union(textsOf(b)));
        expect(textsOf(intersection(a, b))).toEqual(textsOf(a).intersection(textsOf(b)));
        expect(textsOf(difference(a, b))).toEqual(textsOf(a).difference(textsOf(b)));
      }),
    );
  });

  it('returns the fields that are neither in another set nor below its fields', () => {
    const inside = (path: string, other: ReadonlySet<string>): boolean =>
      other.values().some((parent) => path === parent || path.startsWith(`${parent} `));
    fc.assert(
      fc.property(fields, fields, (a, b) => {
        expect([...textsOf(recursiveDifference(a, b))]).toEqual([...textsOf(a)].filter((path) => !inside(path, textsOf(b))));
      }),
    );
  });
});
