import { describe, expect, it } from '@jest/globals';
import { labelsKey, parseExposition } from './exposition.ts';

const HEAD = '# HELP a_total A.\n# TYPE a_total counter\n';

describe('parseExposition', () => {
  it('reads samples with their labels', () => {
    const { type, samples } = parseExposition(`${HEAD}a_total{x="q\\"\\\\\\n",y=""} 1.5e+3\n`).get('a_total') ?? {};

    expect(type).toBe('counter');
    expect([...(samples ?? [])]).toEqual([[labelsKey({ x: 'q"\\\n', y: '' }), 1500]]);
  });

  it.each([
    ['an incomplete line', `${HEAD}a_total 1`],
    ['a sample without a family', 'a_total 1\n'],
    ['a family without HELP', '# TYPE a_total counter\n'],
    ['a family that occurs twice', `${HEAD}${HEAD}`],
    ['a sample of another family', `${HEAD}b_total 1\n`],
    ['duplicate samples', `${HEAD}a_total{x="1",y="2"} 1\na_total{y="2",x="1"} 2\n`],
    ['a duplicate label', `${HEAD}a_total{x="1",x="2"} 1\n`],
    ['a label value without escapes', `${HEAD}a_total{x="""} 1\n`],
    ['a value that is not a number', `${HEAD}a_total one\n`],
    ['a counter without the suffix _total', '# HELP a A.\n# TYPE a counter\na 1\n'],
  ])('rejects %s', (_name, text) => {
    expect(() => parseExposition(text)).toThrow(Error);
  });
});
