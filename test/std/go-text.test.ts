import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  compareUtf8,
  encodeGoJson,
  encodeGoJsonNumber,
  encodeGoJsonString,
  encodeGoStructJson,
  formatGoFloat,
  formatGoNumber,
  isGoPrintable,
  quoteGoString,
} from '../../src/std/go-text.ts';

describe('quoteGoString', () => {
  it.each([
    ['', '""'],
    ['a b', '"a b"'],
    ['"\\', '"\\"\\\\"'],
    ['\u0007\b\f\n\r\t\v', '"\\a\\b\\f\\n\\r\\t\\v"'],
    ['\0\u001b\u007f', '"\\x00\\x1b\\x7f"'],
    ['é😀', '"é😀"'],
    ['\u0080\u00a0\u00ad\u200b\ufeff', '"\\u0080\\u00a0\\u00ad\\u200b\\ufeff"'],
    ['\u{e0001}', '"\\U000e0001"'],
    ["'<>&", '"\'<>&"'],
  ])('quotes %j', (text, quoted) => {
    expect(quoteGoString(text)).toBe(quoted);
  });
});

describe('isGoPrintable', () => {
  it.each([
    [' ', true],
    ['a', true],
    ['\u0301', true],
    ['\u3000', false],
    ['\n', false],
    ['\u00ad', false],
  ])('classifies %j as printable: %j', (char, printable) => {
    expect(isGoPrintable(char)).toBe(printable);
  });
});

describe('encodeGoJson', () => {
  it.each([
    [null, 'null'],
    [undefined, 'null'],
    [true, 'true'],
    [7, '7'],
    [9007199254740993n, '9007199254740993'],
    ['<a & b>', '"\\u003ca \\u0026 b\\u003e"'],
    [[], '[]'],
    [{}, '{}'],
    [{ b: 1, a: { d: [null], c: undefined } }, '{"a":{"d":[null]},"b":1}'],
    [{ '\ufffd': 1, '😀': 2 }, '{"\ufffd":1,"😀":2}'],
  ])('encodes %j', (value, json) => {
    expect(encodeGoJson(value)).toBe(json);
  });

  it('returns JSON with the same meaning', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        expect(JSON.parse(encodeGoJson(value))).toEqual(value);
      }),
    );
  });
});

describe('encodeGoStructJson', () => {
  it('keeps the order of the keys', () => {
    expect(encodeGoStructJson({ b: [{ d: '<', c: 1 }], a: undefined })).toBe('{"b":[{"d":"\\u003c","c":1}]}');
  });
});

describe('encodeGoJsonString', () => {
  it.each([
    ['\u2028\u2029', '"\\u2028\\u2029"'],
    ['\u0001\n\t\b\f', '"\\u0001\\n\\t\\b\\f"'],
    ['\u007f', '"\u007f"'],
    ['\ud800', String.raw`"\ufffd"`],
  ])('encodes %j', (text, json) => {
    expect(encodeGoJsonString(text)).toBe(json);
  });
});

describe('encodeGoJsonNumber', () => {
  it.each([
    [0, '0'],
    [-0, '-0'],
    [1.5, '1.5'],
    [1e20, '100000000000000000000'],
    [1e21, '1e+21'],
    [0.000_001, '0.000001'],
    [1e-7, '1e-7'],
    [1.5e-10, '1.5e-10'],
    [1e300, '1e+300'],
  ])('encodes %d', (value, json) => {
    expect(encodeGoJsonNumber(value)).toBe(json);
  });
});

describe('formatGoNumber', () => {
  it.each([
    [5, '5'],
    [-5, '-5'],
    [12_345_678, '12345678'],
    [9007199254740993n, '9007199254740993'],
    [0.5, '0.5'],
    [123_456.5, '123456.5'],
    [1_234_567.5, '1.2345675e+06'],
    [0.0001, '0.0001'],
    [0.000_01, '1e-05'],
    [1e300, '1e+300'],
    [Infinity, '+Inf'],
    [-Infinity, '-Inf'],
    [Number.NaN, 'NaN'],
  ])('formats %d', (value, text) => {
    expect(formatGoNumber(value)).toBe(text);
  });
});

describe('formatGoFloat', () => {
  it.each([
    [5, '5'],
    [123_456, '123456'],
    [1_000_000, '1e+06'],
    [12_345_678, '1.2345678e+07'],
    [-0.5, '-0.5'],
  ])('formats %d', (value, text) => {
    expect(formatGoFloat(value)).toBe(text);
  });
});

describe('compareUtf8', () => {
  it('orders by UTF-8 bytes where the UTF-16 order differs', () => {
    expect(compareUtf8('\uff5e', '😀')).toBe(-1);
    expect(['\uff5e', '😀'].sort()).toEqual(['😀', '\uff5e']);
  });

  it('agrees with the order of the encoded bytes', () => {
    const text = fc.string({ unit: 'binary', maxLength: 4 });
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareUtf8(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
  });
});
