import { describe, expect, it } from '@jest/globals';
import { toWarningHeaders } from '../../../src/kubernetes/wire/warning.ts';

describe('toWarningHeaders', () => {
  it('quotes each text, and omits empty and repeated texts', () => {
    expect(toWarningHeaders([String.raw`a "b" \c`, 'd', 'd', ''])).toEqual([String.raw`299 - "a \"b\" \\c"`, '299 - "d"']);
  });

  it('omits strings with control characters', () => {
    expect(toWarningHeaders(['a\nb', 'c\u0085', 'd'])).toEqual(['299 - "d"']);
  });

  it('encodes each byte of a non-ASCII text as one character', () => {
    expect(toWarningHeaders(['é'])).toEqual([`299 - "${Buffer.from('é').toString('latin1')}"`]);
  });

  it('truncates every string if the total length exceeds the limit', () => {
    expect(toWarningHeaders(['n'.repeat(6000)])).toEqual([`299 - "${'n'.repeat(256)}"`]);
    const texts = Array.from({ length: 5 }, (_, index) => `${index}${'n'.repeat(999)}`);
    expect(toWarningHeaders(texts)).toEqual(texts.map((text) => `299 - "${text.slice(0, 256)}"`));
  });

  it('omits strings above the total limit after truncation', () => {
    const texts = Array.from({ length: 40 }, (_, index) => `${index}`.padEnd(300, 'n'));
    expect(toWarningHeaders(texts)).toHaveLength(16);
  });

  it('measures strings in characters, not in bytes', () => {
    expect(toWarningHeaders(['😀'.repeat(4096)])[0]).toHaveLength(4 * 4096 + '299 - ""'.length);
  });
});
