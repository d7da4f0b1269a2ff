import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { formatTimestamp, parseTimestamp } from '../../src/std/timestamp.ts';
import { NOON } from '../support/builders.ts';

describe('parseTimestamp', () => {
  it.each([
    ['2026-03-01T12:00:00Z', NOON],
    ['2026-03-01T13:30:00+01:30', NOON],
    ['2026-03-01T12:00:00.789Z', NOON + 789],
    ['9999-12-31T23:59:59Z', 253_402_300_799_000],
  ])('parses %s', (text, at) => {
    expect(parseTimestamp(text)).toBe(at);
  });

  it.each([
    undefined,
    null,
    7,
    '',
    'now',
    '2026-03-01',
    '1772366400',
    '0001-01-01T00:00:00Z',
    '+275760-09-13T00:00:00Z',
    '2026-13-01T00:00:00Z',
  ])('returns undefined for %p', (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });
});

describe('formatTimestamp', () => {
  it.each([
    [NOON + 999, '2026-03-01T12:00:00Z'],
    [Number.NaN, '1970-01-01T00:00:00Z'],
    [-1, '1970-01-01T00:00:00Z'],
    [2 ** 53 * 1000, '9999-12-31T23:59:59Z'],
    [Infinity, '9999-12-31T23:59:59Z'],
  ])('formats %p as %s', (at, text) => {
    expect(formatTimestamp(at)).toBe(text);
  });

  it('returns text that parseTimestamp parses', () => {
    fc.assert(
      fc.property(fc.oneof(fc.double(), fc.integer({ min: 0, max: 4e12 })), (at) => {
        expect(formatTimestamp(parseTimestamp(formatTimestamp(at)) ?? -1)).toBe(formatTimestamp(at));
      }),
    );
  });
});
