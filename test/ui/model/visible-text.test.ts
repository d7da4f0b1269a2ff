import { describe, expect, it } from '@jest/globals';
import { escapeInvisible } from '../../../src/ui/model/visible-text.ts';

describe('escapeInvisible', () => {
  it.each([
    ['a direction override', 'a\u202eb', 'a\\u{202e}b'],
    ['an isolate', '\u2066a\u2069', '\\u{2066}a\\u{2069}'],
    ['a direction mark', 'a\u200fb', 'a\\u{200f}b'],
    ['a zero-width space', 'a\u200bb', 'a\\u{200b}b'],
    ['a control character', 'a\u0000\u001b[2J\u009b', 'a\\u{0}\\u{1b}[2J\\u{9b}'],
    ['a line separator', 'a\u2028b', 'a\\u{2028}b'],
    ['a blank Braille pattern', 'a\u2800b', 'a\\u{2800}b'],
    ['a filler', 'a\u3164b\u115f', 'a\\u{3164}b\\u{115f}'],
    ['a variation selector', 'a\ufe0f', 'a\\u{fe0f}'],
    ['a tag', 'a\u{e0041}', 'a\\u{e0041}'],
    ['a lone surrogate', 'a\ud800', 'a\\u{d800}'],
  ])('returns an escape for %s', (_name, text, visible) => {
    expect(escapeInvisible(text)).toBe(visible);
  });

  it.each([['größer 你好 שלום'], ['one\n\ttwo\r\n'], ['https://a.example:6443/x?y=z#1'], ['🚢']])('does not change %p', (text) => {
    expect(escapeInvisible(text)).toBe(text);
  });
});
