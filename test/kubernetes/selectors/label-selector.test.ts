import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  LABEL_SELECTOR_PATTERN,
  type LabelSelector,
  type LabelSelectorObject,
  matchesLabels,
  parseLabelSelector,
  toLabelSelector,
} from '../../../src/kubernetes/selectors/label-selector.ts';
import { isEverything, SelectorError } from '../../../src/kubernetes/selectors/selector.ts';

const KEY =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

describe('parseLabelSelector', () => {
  it.each<[string, LabelSelector]>([
    ['', []],
    [' \t\r\n', []],
    ['a', [{ key: 'a', operator: 'exists', values: [] }]],
    ['!a', [{ key: 'a', operator: '!', values: [] }]],
    ['a=b', [{ key: 'a', operator: '=', values: ['b'] }]],
    ['a==b', [{ key: 'a', operator: '==', values: ['b'] }]],
    ['a != b', [{ key: 'a', operator: '!=', values: ['b'] }]],
    ['a=', [{ key: 'a', operator: '=', values: [''] }]],
    ['a>5', [{ key: 'a', operator: 'gt', values: ['5'] }]],
    ['a<5', [{ key: 'a', operator: 'lt', values: ['5'] }]],
    ['a in (c,b,c)', [{ key: 'a', operator: 'in', values: ['b', 'c'] }]],
    ['a notin(b)', [{ key: 'a', operator: 'notin', values: ['b'] }]],
    ['a in ()', [{ key: 'a', operator: 'in', values: [''] }]],
    ['a in (,b)', [{ key: 'a', operator: 'in', values: ['', 'b'] }]],
    ['a in (b,)', [{ key: 'a', operator: 'in', values: ['', 'b'] }]],
    ['a in (b,,c)', [{ key: 'a', operator: 'in', values: ['', 'b', 'c'] }]],
    ['in in (in,notin)', [{ key: 'in', operator: 'in', values: ['in', 'notin'] }]],
    ['a=notin', [{ key: 'a', operator: '=', values: ['notin'] }]],
    ['example.com/A=b', [{ key: 'example.com/A', operator: '=', values: ['b'] }]],
    [
      'b, a =c',
      [
        { key: 'a', operator: '=', values: ['c'] },
        { key: 'b', operator: 'exists', values: [] },
      ],
    ],
    ['\0a', []],
    ['a=b\0', [{ key: 'a', operator: '=', values: ['b'] }]],
  ])('parses %j', (text, selector) => {
    expect(parseLabelSelector(text)).toEqual(selector);
  });

  it.each([
    ['=x', "found '=', expected: !, identifier, or 'end of string'"],
    ['(a)', "found '(', expected: !, identifier, or 'end of string'"],
    ['env in prod', "unable to parse requirement: found 'prod' expected: '('"],
    ['a in', "unable to parse requirement: found '' expected: '('"],
    ['env=a b', "found 'b', expected: ',' or 'end of string'"],
    ['a\0b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    ['!!a', "unable to parse requirement: found '!', expected: identifier"],
    ['!a=b', "found '=', expected: ',' or 'end of string'"],
    ['!a in (b)', "found 'in', expected: ',' or 'end of string'"],
    ['x y', "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt"],
    ['a!', "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"],
    ['a=!b', "unable to parse requirement: found '!', expected: identifier"],
    ['a===b', "unable to parse requirement: found '=', expected: identifier"],
    ['env=prod,', "found '', expected: identifier after ','"],
    ['a=b,,c', "found ',', expected: identifier after ','"],
    ['env in (prod', "unable to parse requirement: found '', expected: ',' or ')'"],
    ['a in (b c)', "unable to parse requirement: found 'c', expected: ',' or ')'"],
    ['a in (b,', "unable to parse requirement: found '', expected: ',', or identifier"],
    ['a in (=', "unable to parse requirement: found '=', expected: ',', ')' or identifier"],
    ['a in (', "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ['-k=v', `unable to parse requirement: <nil>: Invalid value: "-k": name part ${KEY}`],
    [
      '/=v',
      `unable to parse requirement: <nil>: Invalid value: "/": prefix part must be non-empty; name part must be non-empty; name part ${KEY}`,
    ],
    [
      'a/b/c=d',
      `unable to parse requirement: <nil>: Invalid value: "a/b/c": a valid label key ${KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ],
    ['bad_value=-x', `unable to parse requirement: values[0][bad_value]: Invalid value: "-x": ${VALUE}`],
    [
      'k in (-x,-y)',
      `unable to parse requirement: [values[0][k]: Invalid value: "-x": ${VALUE}, values[1][k]: Invalid value: "-y": ${VALUE}]`,
    ],
    ['k>x', `unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`],
    [
      'k>9223372036854775808',
      `unable to parse requirement: values[0]: Invalid value: "9223372036854775808": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
    [
      'k>-x',
      `unable to parse requirement: [values[0]: Invalid value: "-x": for 'Gt', 'Lt' operators, the value must be an integer, values[0][k]: Invalid value: "-x": ${VALUE}]`,
    ],
    ['a'.repeat(64), `unable to parse requirement: <nil>: Invalid value: "${'a'.repeat(64)}": name part must be no more than 63 bytes`],
  ])('rejects %j', (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(expect.objectContaining({ name: 'SelectorError', message }));
  });

  it('parses any string or throws a SelectorError', () => {
    const piece = fc.constantFrom('a', 'b', 'in', 'notin', '(', ')', ',', '=', '!', '<', '>', ' ', '5', '\0', 'é');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        try {
          parseLabelSelector(pieces.join(''));
        } catch (error) {
          expect(error).toBeInstanceOf(SelectorError);
        }
      }),
    );
  });
});

describe('matchesLabels', () => {
  it.each([
    ['', undefined, true],
    ['a', { a: '' }, true],
    ['a', {}, false],
    ['!a', {}, true],
    ['!a', { a: 'b' }, false],
    ['a=b', { a: 'b' }, true],
    ['a=b', { a: 'c' }, false],
    ['a=', { a: '' }, true],
    ['a=', undefined, false],
    ['a!=b', undefined, true],
    ['a!=b', { a: 'b' }, false],
    ['a notin (b,c)', { a: 'd' }, true],
    ['a notin (b,c)', {}, true],
    ['a in (b,)', { a: '' }, true],
    ['a>5', { a: '6' }, true],
    ['a>5', { a: '5' }, false],
    ['a>5', { a: 'six' }, false],
    ['a>5', {}, false],
    ['a<5', { a: '4' }, true],
    ['a>9007199254740992', { a: '9007199254740993' }, true],
    ['a,b', { a: '1' }, false],
    ['toString', {}, false],
  ])('matches %j against the labels %j: %j', (text, labels, expected) => {
    expect(matchesLabels(parseLabelSelector(text), labels)).toBe(expected);
  });

  it('agrees with a naive model of every operator, for all requirements together', () => {
    const word = fc.constantFrom('a', 'b', 'c', '1', '2', '10', '');
    const key = fc.constantFrom('x', 'y', 'z');
    const requirement = fc.oneof(
      key.map((k) => ({ text: k, test: (v?: string) => v !== undefined })),
      key.map((k) => ({ text: `!${k}`, test: (v?: string) => v === undefined })),
      fc.tuple(key, word).map(([k, w]) => ({ text: `${k}=${w}`, test: (v?: string) => v === w })),
      fc.tuple(key, word).map(([k, w]) => ({ text: `${k} != ${w}`, test: (v?: string) => v !== w })),
      fc.tuple(key, fc.array(word)).map(([k, ws]) => ({
        text: `${k} in (${ws.join(',')})`,
        test: (v?: string) => v !== undefined && (ws.length === 0 ? [''] : ws).includes(v),
      })),
      fc.tuple(key, fc.array(word)).map(([k, ws]) => ({
        text: `${k} notin (${ws.join(', ')})`,
        test: (v?: string) => v === undefined || !(ws.length === 0 ? [''] : ws).includes(v),
      })),
      fc.tuple(key, fc.nat(20)).map(([k, n]) => ({ text: `${k}>${n}`, test: (v?: string) => /^\d+$/.test(v ?? '') && Number(v) > n })),
      fc.tuple(key, fc.nat(20)).map(([k, n]) => ({ text: `${k}<${n}`, test: (v?: string) => /^\d+$/.test(v ?? '') && Number(v) < n })),
    );
    fc.assert(
      fc.property(fc.array(requirement), fc.dictionary(key, word), (requirements, labels) => {
        const selector = parseLabelSelector(requirements.map(({ text }) => text).join(','));
        const expected = requirements.every(({ text, test }) => test(labels[/[xyz]/.exec(text)?.[0] ?? '']));
        expect(matchesLabels(selector, labels)).toBe(expected);
        expect(isEverything(selector)).toBe(requirements.length === 0);
      }),
    );
  });
});

describe('toLabelSelector', () => {
  it('selects everything for an empty selector', () => {
    expect(isEverything(toLabelSelector({}))).toBe(true);
  });

  it('matches only objects that match all labels and all expressions', () => {
    const selector = toLabelSelector({
      matchLabels: { app: 'purser' },
      matchExpressions: [
        { key: 'tier', operator: 'In', values: ['web', 'api'] },
        { key: 'env', operator: 'NotIn', values: ['test'] },
        { key: 'team', operator: 'Exists' },
        { key: 'legacy', operator: 'DoesNotExist' },
      ],
    });
    const labels = { app: 'purser', tier: 'api', team: 'a' };
    expect(matchesLabels(selector, labels)).toBe(true);
    expect(matchesLabels(selector, { ...labels, app: 'other' })).toBe(false);
    expect(matchesLabels(selector, { ...labels, tier: 'db' })).toBe(false);
    expect(matchesLabels(selector, { ...labels, env: 'test' })).toBe(false);
    expect(matchesLabels(selector, { ...labels, legacy: '' })).toBe(false);
    expect(matchesLabels(selector, { app: 'purser', tier: 'api' })).toBe(false);
  });

  it.each<[LabelSelectorObject, string]>([
    [{ matchExpressions: [{ key: 'a', operator: 'Near' }] }, '"Near" is not a valid label selector operator'],
    [
      { matchExpressions: [{ key: 'a', operator: 'In' }] },
      "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
    ],
    [
      { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] },
      'values: Invalid value: ["b"]: values set must be empty for exists and does not exist',
    ],
    [{ matchLabels: { '-a': 'b' } }, `key: Invalid value: "-a": name part ${KEY}`],
    [{ matchLabels: { a: '-b' } }, `values[0][a]: Invalid value: "-b": ${VALUE}`],
  ])('rejects %j', (object, message) => {
    expect(() => toLabelSelector(object)).toThrow(expect.objectContaining({ name: 'SelectorError', message }));
  });
});

describe('LABEL_SELECTOR_PATTERN', () => {
  const pattern = new RegExp(LABEL_SELECTOR_PATTERN);
  const token = fc.constantFrom(
    'a',
    'B-c',
    'x.io/y',
    'in',
    'notin',
    '1',
    '=',
    '==',
    '!=',
    '!',
    '<',
    '>',
    '(',
    ')',
    ',',
    ' ',
    '\t',
    '-',
    '/',
  );

  it('matches exactly the strings that can be parsed', () => {
    fc.assert(
      fc.property(fc.array(token, { maxLength: 9 }), (tokens) => {
        const text = tokens.join('');
        expect([text, pattern.test(text)]).toEqual([text, isParsable(text)]);
      }),
      { numRuns: 3_000 },
    );
  });

  it('matches only strings that can be parsed', () => {
    fc.assert(fc.property(fc.stringMatching(pattern), isParsable));
  });

  it.each([
    ['a'.repeat(63), true],
    ['a'.repeat(64), false],
    [`a=${'b'.repeat(63)}`, true],
    [`a=${'b'.repeat(64)}`, false],
  ])('limits the length of %s', (text, expected) => {
    expect([pattern.test(text), isParsable(text)]).toEqual([expected, expected]);
  });

  function isParsable(text: string): boolean {
    try {
      parseLabelSelector(text);
      return true;
    } catch {
      return false;
    }
  }
});
