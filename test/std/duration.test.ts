import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { parseDuration } from '../../src/std/duration.ts';

describe('parseDuration', () => {
  it.each([
    ['0', 0],
    ['-0', 0],
    ['1h30m', 5_400_000],
    ['1.5h', 5_400_000],
    ['-1.5s', -1500],
    ['+250ms', 250],
    ['1us', 0.001],
    ['1µs', 0.001],
    ['1μs', 0.001],
    ['1ns', 0.000_001],
    ['.5s', 500],
    ['1.s', 1000],
    ['2562047h47m16.854s', 9_223_372_036_854],
  ])('parses %j', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it('parses the longest duration of Go', () => {
    expect(parseDuration('2562047h47m16.854775807s')).toBeCloseTo(9_223_372_036_854.775, 2);
    expect(parseDuration('-9223372036854775808ns')).toBeCloseTo(-9_223_372_036_854.775, 2);
  });

  it('parses milliseconds and nanoseconds exactly', () => {
    fc.assert(
      fc.property(fc.integer({ min: -9e12, max: 9e12 }), (ms) => {
        expect(parseDuration(`${ms}ms`)).toBe(ms);
      }),
    );
    fc.assert(
      fc.property(fc.integer({ min: -1e15, max: 1e15 }), (ns) => {
        expect(parseDuration(`${ns}ns`)).toBe(ns / 1e6);
      }),
    );
  });

  it.each([
    ['', 'time: invalid duration ""'],
    ['abc', 'time: invalid duration "abc"'],
    ['-', 'time: invalid duration "-"'],
    ['.s', 'time: invalid duration ".s"'],
    ['1 h', 'time: unknown unit " h" in duration "1 h"'],
    ['5', 'time: missing unit in duration "5"'],
    ['1h5', 'time: missing unit in duration "1h5"'],
    ['5d', 'time: unknown unit "d" in duration "5d"'],
    ['5é"\\\n', 'time: unknown unit "\\xc3\\xa9\\"\\\\\\x0a" in duration "5\\xc3\\xa9\\"\\\\\\x0a"'],
    ['9223372036854775808ns', 'time: invalid duration "9223372036854775808ns"'],
    ['2562048h', 'time: invalid duration "2562048h"'],
    ['99999999999999999999x', 'time: invalid duration "99999999999999999999x"'],
    ['9223372036854775808ns1us5d', 'time: invalid duration "9223372036854775808ns1us5d"'],
  ])('rejects %j', (text, message) => {
    expect(() => parseDuration(text)).toThrow(new SyntaxError(message));
  });
});
