import { describe, expect, it } from '@jest/globals';
import { parseAccept, trimSpaces } from '../../../src/kubernetes/wire/accept.ts';

describe('trimSpaces', () => {
  it.each([
    ['', ''],
    ['   ', ''],
    ['  a b  ', 'a b'],
    ['\ta', '\ta'],
  ])('trims %j to %j', (text, trimmed) => {
    expect(trimSpaces(text)).toBe(trimmed);
  });

  it('takes linear time for spaces in the middle', () => {
    const clause = `a/b${' '.repeat(500_000)}x`;
    expect(parseAccept(clause)).toHaveLength(1);
  });
});
