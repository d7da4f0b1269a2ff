import { describe, expect, it } from '@jest/globals';
import { warningHeaders } from '../../../src/kubernetes/wire/warning.ts';

describe('warningHeaders', () => {
  it('quotes each text once', () => {
    expect(warningHeaders([String.raw`a "b" \c`, 'd', 'd', ''])).toEqual([String.raw`299 - "a \"b\" \\c"`, '299 - "d"']);
  });

  it('leaves out texts with control characters', () => {
    expect(warningHeaders(['a\nb', 'c\u0085', 'd'])).toEqual(['299 - "d"']);
  });

  it('writes one character per byte', () => {
    expect(warningHeaders(['é'])).toEqual([`299 - "${Buffer.from('é').toString('latin1')}"`]);
  });

  it('cuts every text once all together are too long', () => {
    expect(warningHeaders(['n'.repeat(6000)])).toEqual([`299 - "${'n'.repeat(256)}"`]);
    const texts = Array.from({ length: 5 }, (_, index) => `${index}${'n'.repeat(999)}`);
    expect(warningHeaders(texts)).toEqual(texts.map((text) => `299 - "${text.slice(0, 256)}"`));
  });

  it('leaves out what then exceeds the budget', () => {
    const texts = Array.from({ length: 40 }, (_, index) => `${index}`.padEnd(300, 'n'));
    expect(warningHeaders(texts)).toHaveLength(16);
  });

  it('counts characters, not bytes', () => {
    expect(warningHeaders(['😀'.repeat(4096)])[0]).toHaveLength(4 * 4096 + '299 - ""'.length);
  });
});
