import { describe, expect, it } from '@jest/globals';
import { formatCount, formatDuration, formatQuantity, formatRelative, formatTime } from '../../../src/ui/model/times.ts';
import { DAY, HOUR, MINUTE, NOW } from './tokens.ts';

describe('formatDuration', () => {
  it.each([
    [0, '0 s'],
    [-5, '0 s'],
    [59_999, '59 s'],
    [MINUTE, '1 min'],
    [HOUR - 1, '59 min'],
    [HOUR, '1 h 00 min'],
    [3 * HOUR + 5 * MINUTE, '3 h 05 min'],
    [DAY, '1 d'],
    [2 * DAY + 4 * HOUR, '2 d 4 h'],
    [365 * DAY, '1 y'],
    [385 * DAY, '1 y 20 d'],
  ])('writes %d ms as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });
});

describe('formatRelative', () => {
  it.each([
    [NOW + 12 * MINUTE, 'in 12 min'],
    [NOW - 3 * HOUR, '3 h 00 min ago'],
    [NOW + 400, 'now'],
  ])('writes %d as %s', (at, text) => {
    expect(formatRelative(at, NOW)).toBe(text);
  });
});

describe('formatTime', () => {
  it('writes a time in UTC', () => {
    expect(formatTime(NOW)).toBe('2026-11-17 12:00:00 UTC');
  });
});

describe('formatCount', () => {
  it.each([
    [0, '0'],
    [999, '999'],
    [10_000, '10,000'],
    [1_234_567, '1,234,567'],
  ])('writes %d as %s', (count, text) => {
    expect(formatCount(count)).toBe(text);
  });
});

describe('formatQuantity', () => {
  it.each([
    [0, '0 tokens'],
    [1, '1 token'],
    [10_000, '10,000 tokens'],
  ])('writes %d as %s', (count, text) => {
    expect(formatQuantity(count, 'token')).toBe(text);
  });

  it('uses an irregular plural', () => {
    expect(formatQuantity(2, 'expiry', 'expiries')).toBe('2 expiries');
  });
});
