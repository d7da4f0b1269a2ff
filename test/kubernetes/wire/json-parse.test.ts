import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { findDuplicateFields, toNode, toValue } from '../../../src/kubernetes/wire/json-node.ts';
import { parseJson } from '../../../src/kubernetes/wire/json-parse.ts';
import { encodeGoJson } from '../../../src/std/go-text.ts';

function parse(text: string | Buffer) {
  return toValue(parseJson(Buffer.from(text)));
}

describe('parseJson', () => {
  it.each([
    ['', 'unexpected end of JSON input'],
    ['{"a":', 'unexpected end of JSON input'],
    ['"abc', 'unexpected end of JSON input'],
    ['[1,', 'unexpected end of JSON input'],
    ['{}xyz', "invalid character 'x' after top-level value"],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
    ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
    ['[1,]', "invalid character ']' looking for beginning of value"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b"', `invalid character '"' after object key:value pair`],
    ['[1 2]', "invalid character '2' after array element"],
    ['tap', "invalid character 'a' in literal true (expecting 'r')"],
    ['nul', "invalid character ' ' in literal null (expecting 'l')"],
    ['"a\nb"', String.raw`invalid character '\n' in string literal`],
    ['"\u0000"', String.raw`invalid character '\x00' in string literal`],
    [String.raw`"\q"`, "invalid character 'q' in string escape code"],
    [String.raw`"\u12g4"`, String.raw`invalid character 'g' in \u hexadecimal character escape`],
    ['"\\', "invalid character ' ' in string escape code"],
    ['-', "invalid character ' ' in numeric literal"],
    ['-a', "invalid character 'a' in numeric literal"],
    ['1.', "invalid character ' ' after decimal point in numeric literal"],
    ['1e+', "invalid character ' ' in exponent of numeric literal"],
    ['01', "invalid character '1' after top-level value"],
    ["'a'", String.raw`invalid character '\'' looking for beginning of value`],
    ['é', "invalid character 'Ã' looking for beginning of value"],
    ['\ufeff{}', "invalid character 'ï' looking for beginning of value"],
  ])("rejects %j with Go's message", (text, message) => {
    expect(() => parse(text)).toThrow(new Error(message));
  });

  it("accepts a depth of up to 1,000, and any depth in the server's own JSON", () => {
    const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    expect(() => parse(nested(1000))).not.toThrow();
    expect(() => parse(nested(1001))).toThrow("invalid character '[' exceeded max depth");
    expect(() => toValue(parseJson(Buffer.from(nested(20_000)), Number.POSITIVE_INFINITY))).not.toThrow();
  });

  it.each([
    [String.raw`"\ud83d\ude00"`, '😀'],
    [String.raw`"\ud83d"`, '\ufffd'],
    [String.raw`"\ude00\ud83d"`, '\ufffd\ufffd'],
    [String.raw`"\ud83dA"`, '\ufffdA'],
    [Buffer.from([0x22, 0xff, 0xe2, 0x82, 0x22]), '\ufffd\ufffd\ufffd'],
  ])('decodes surrogate pairs, and replaces invalid characters, in %s', (text, value) => {
    expect(parse(text)).toBe(value);
  });

  it('treats __proto__ and constructor as ordinary keys', () => {
    const value = parse('{"__proto__":{"x":1},"constructor":2}') as Record<string, unknown>;
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor']);
    expect(value['x']).toBeUndefined();
    expect(value['toString']).toBeUndefined();
  });

  it('agrees with JSON.parse on any document', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(0, 2), (document, indent) => {
        const text = JSON.stringify(document, null, indent);
        expect(encodeGoJson(parse(text))).toBe(encodeGoJson(normalize(JSON.parse(text))));
      }),
    );
  });

  it('accepts and rejects the same modified documents as JSON.parse', () => {
    const change = fc.record({
      at: fc.nat(200),
      remove: fc.nat(2),
      insert: fc.constantFrom('', '{', '}', '[', ']', '"', ',', ':', '\\', '1', '-', 'e', '.', ' ', 't', '\n'),
    });
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), fc.array(change, { maxLength: 3 }), (document, changes) => {
        const text = changes.reduce(
          (result, { at, remove, insert }) => `${result.slice(0, at)}${insert}${result.slice(at + remove)}`,
          JSON.stringify(document),
        );
        expect(isAccepted(() => parseJson(Buffer.from(text)))).toBe(isAccepted(() => JSON.parse(text)));
      }),
      { numRuns: 1000 },
    );
  });
});

describe('toValue', () => {
  it.each([
    ['9007199254740991', 9007199254740991],
    ['9007199254740993', 9007199254740993n],
    ['-9223372036854775808', -9223372036854775808n],
    ['9223372036854775808', 9223372036854775808],
    ['1.0', 1],
    ['-0', 0],
    ['1e3', 1000],
  ])('converts %s like Go', (text, value) => {
    expect(parse(text)).toBe(value);
  });

  it('returns the last value of a repeated key', () => {
    expect(parse('{"a":{"x":1},"b":2,"a":{"y":3}}')).toEqual({ a: { y: 3 }, b: 2 });
  });

  it('returns a value that toNode converts back', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (document) => {
        const value = parse(JSON.stringify(document));
        expect(encodeGoJson(toValue(toNode(value)))).toBe(encodeGoJson(value));
      }),
    );
  });
});

describe('findDuplicateFields', () => {
  it('returns repeated fields in the order of their second occurrence', () => {
    const text = '{"a":[{"b":1,"b":{"c":1,"c":2}}],"d":1,"d":{"e":1,"e":1,"e":1}}';
    expect(findDuplicateFields(parseJson(Buffer.from(text)))).toEqual(['a[0].b', 'a[0].b.c', 'd', 'd.e']);
  });

  it('returns no field for a list of 300,000 objects', () => {
    const text = `[${Array.from({ length: 300_000 }, () => '{}').join(',')}]`;
    expect(findDuplicateFields(parseJson(Buffer.from(text)))).toEqual([]);
  });
});

/** Removes the sign of zero. */
function normalize(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_, each) => (each === 0 ? 0 : each));
}

function isAccepted(parseIt: () => unknown): boolean {
  try {
    parseIt();
    return true;
  } catch {
    return false;
  }
}
