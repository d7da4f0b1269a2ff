import { describe, expect, it } from '@jest/globals';
import { parseAccept, trimSpaces } from '../../../src/kubernetes/wire/accept.ts';

describe('parseAccept', () => {
  it('ignores media types after the first 64, because sorting them would take a long time', () => {
    const types = Array.from({ length: 70 }, (_, index) => `a/t${index};q=0.${index + 10}`);
    expect(parseAccept(types.join(',')).map(({ subtype }) => subtype)).toEqual(Array.from({ length: 64 }, (_, index) => `t${63 - index}`));
  });
});

describe('trimSpaces', () => {
  it.each([
    ['', ''],
    ['   ', ''],
    ['  a b  ', 'a b'],
    ['\ta', '\ta'],
  ])('trims %j to %j', (text, trimmed) => {
    expect(trimSpaces(text)).toBe(trimmed);
  });

  it('trims in linear time with spaces in the middle', () => {
    const clause = `a/b${' '.repeat(500_000)}x`;
    expect(parseAccept(clause)).toHaveLength(1);
  });
});
