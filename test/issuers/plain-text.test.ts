import { describe, expect, it } from '@jest/globals';
import { plainText } from '../../src/issuers/plain-text.ts';
import { jwt } from './wire-target.ts';

describe('plain text', () => {
  it.each([
    ['escape sequences of terminals', 'a\u001b[31mred\u001b[0m', 'a[31mred[0m'],
    ['NUL', 'a\0b', 'ab'],
    ['line breaks', 'one\r\ntwo\n\n three\u2028four', 'one two threefour'],
    ['text that turns around', 'user\u202Egpj.exe', 'usergpj.exe'],
    ['invisible characters', 'a\u200bb\ufeffc', 'abc'],
    ['half characters', 'a\ud800b', 'ab'],
    ['a JWT', `token ${jwt({ sub: 'somebody-important-who-is-long' })} refused`, /^token \S*\[redacted\]\S* refused$/],
    [
      'a JWT cut by invisible characters',
      jwt({ sub: 'somebody-important-who-is-long' }).replace(/(.{9})/g, '$1\u200b'),
      /^\S{0,24}\[redacted\]\S{0,24}$/,
    ],
    ['any long run in two cases', `x ${'aB3'.repeat(20)}`, 'x [redacted]'],
  ])('C-13: has no %s', (_, text, expected) => {
    expect(plainText(text)).toEqual(typeof expected === 'string' ? expected : expect.stringMatching(expected));
  });

  it('keeps names, UIDs and quotes', () => {
    const text = 'serviceaccounts "a-name-of-more-than-thirty-two-characters" (ab92bebf-09c1-471d-81fe-84e584411bac) not found';
    expect(plainText(text)).toBe(text);
  });

  it('has no secret that is known, whatever it looks like', () => {
    expect(plainText('Bearer s3cret, s3\u200bcret', 's3cret')).toBe('Bearer [redacted], [redacted]');
  });

  it('C-13: is at most 256 characters long, and soon done with a long text', () => {
    const text = plainText('x y '.repeat(2_500_000));
    expect(text).toHaveLength(256);
    expect(text.endsWith('…')).toBe(true);
    expect(plainText('😀'.repeat(500)).isWellFormed()).toBe(true);
  });
});
