import { describe, expect, it } from '@jest/globals';
import { cleanMessage } from '../../src/std/clean-message.ts';
import { jwt } from '../support/builders.ts';

describe('cleanMessage', () => {
  it.each([
    ['escape sequences of terminals', 'a\u001b[31mred\u001b[0m', 'a[31mred[0m'],
    ['NUL', 'a\0b', 'ab'],
    ['line breaks', 'one\r\ntwo\n\n three\u2028four', 'one two threefour'],
    ['characters that change the direction of text', 'user\u202Egpj.exe', 'usergpj.exe'],
    ['invisible characters', 'a\u200bb\ufeffc', 'abc'],
    ['unpaired surrogates', 'a\ud800b', 'ab'],
    ['a JWT', `token ${jwt({ sub: 'service-account-with-a-long-name' })} refused`, /^token \S*\[redacted\]\S* refused$/],
    [
      'a JWT cut by invisible characters',
      jwt({ sub: 'service-account-with-a-long-name' }).replace(/(.{9})/g, '$1\u200b'),
      /^\S{0,24}\[redacted\]\S{0,24}$/,
    ],
    ['long words of uppercase and lowercase letters', `x ${'aB3'.repeat(20)}`, 'x [redacted]'],
  ])('removes or replaces %s', (_, text, expected) => {
    expect(cleanMessage(text)).toEqual(typeof expected === 'string' ? expected : expect.stringMatching(expected));
  });

  it('keeps names, UIDs and quotes', () => {
    const text = 'serviceaccounts "a-name-of-more-than-thirty-two-characters" (ab92bebf-09c1-471d-81fe-84e584411bac) not found';
    expect(cleanMessage(text)).toBe(text);
  });

  it('returns at most as many characters as the caller allows', () => {
    expect(cleanMessage('x y '.repeat(100), 300)).toHaveLength(300);
    expect(cleanMessage('x y '.repeat(70), 300)).toHaveLength(279);
  });

  it('truncates a long text to 256 characters, with an ellipsis and without splitting a character', () => {
    const text = cleanMessage('x y '.repeat(2_500_000));
    expect(text).toHaveLength(256);
    expect(text.endsWith('…')).toBe(true);
    expect(cleanMessage('😀'.repeat(500)).isWellFormed()).toBe(true);
  });
});
