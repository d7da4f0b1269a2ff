import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { toValue } from '../../../../src/kubernetes/wire/json-node.ts';
import { parseJson } from '../../../../src/kubernetes/wire/json-parse.ts';
import { encodeYaml } from '../../../../src/kubernetes/wire/yaml/encode.ts';
import { parseYaml } from '../../../../src/kubernetes/wire/yaml/parse.ts';
import { encodeGoJson } from '../../../../src/std/go-text.ts';

function read(text: string): string {
  return encodeGoJson(toValue(parseYaml(Buffer.from(text)).node));
}

/** Returns lines that each nest the previous line more deeply. */
function deepAliases(lines: number, depth: number): string {
  const nested = (inner: string) => `${'['.repeat(depth)}${inner}${']'.repeat(depth)}`;
  return Array.from({ length: lines }, (_, line) => `l${line}: &l${line} ${nested(line === 0 ? '1' : `*l${line - 1}`)}\n`).join('');
}

describe('parseYaml', () => {
  it.each([
    ['', 'null'],
    ['a: y\nb: n\nc: "yes"\nd: On\ne: NULL\nf: ~', '{"a":true,"b":false,"c":"yes","d":true,"e":null,"f":null}'],
    [
      'a: 0x1F\nb: 017\nc: 1_000\nd: 1e3\ne: 08\nf: 1:30\ng: .5\nh: 0b11\ni: 0o17\n',
      '{"a":31,"b":15,"c":1000,"d":1000,"e":8,"f":"1:30","g":0.5,"h":3,"i":15}',
    ],
    ['a: 2026-11-15\nb: 2026-11-15T00:00:00Z', '{"a":"2026-11-15","b":"2026-11-15T00:00:00Z"}'],
    ['a: 600.0\nb: -0\nc: 1e999', '{"a":600,"b":0,"c":"1e999"}'],
    ['1: a\n2.5: b\ntrue: c', '{"1":"a","2.5":"b","true":"c"}'],
    ['a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  e: 2', '{"a":{"b":1},"c":{"b":1},"d":{"b":1,"e":2}}'],
    ['<<: [{a: 1},{a: 2, b: 3}]\nb: 4', '{"a":1,"b":4}'],
    ['a: 2\n<<: {a: 1}', '{"a":1}'],
    ['a: !!int "5"\nb: !!str 5\nc: !!float 5\nd: !!binary aGk=\ne: !foo bar', '{"a":5,"b":"5","c":5,"d":"hi","e":"bar"}'],
    ['---\na: 1\n---\nb: 2\n', '{"a":1}'],
    ['a: |\n  x\n  y\nb: >\n  folded\n  text\n', '{"a":"x\\ny\\n","b":"folded text\\n"}'],
    ['{"b":1e3,"a":600.0}', '{"a":600,"b":1000}'],
    ['a: é😀\n', '{"a":"é😀"}'],
    ['a: {b: 1, "c":[2]}\r\nd: 3\r\n', '{"a":{"b":1,"c":[2]},"d":3}'],
    ['a: :x\n', '{"a":":x"}'],
    ['a: .NaN\na: 1\n', '{"a":1}'],
    [String.raw`a: "\\ud83d"`, String.raw`{"a":"\\ud83d"}`],
  ])('parses %j like Kubernetes', (text, json) => {
    expect(read(text)).toBe(json);
  });

  it('sorts the keys of a mapping', () => {
    const { node } = parseYaml(Buffer.from('b: 1\na: 2\n'));
    expect(node.type === 'object' && node.entries.map(({ key }) => key)).toEqual(['a', 'b']);
  });

  it.each([
    ['a: 1\na: 2\n', 'line 2: key "a" already set in map'],
    ['a:\n  b: 1\n  b:\n    c: 2\n', 'line 4: key "b" already set in map'],
    ['{"a":1,"a":2}', 'line 1: key "a" already set in map'],
    ['5: a\n5: b\n', 'line 2: key 5 already set in map'],
  ])('reports repeated keys of %j', (text, duplicate) => {
    expect(parseYaml(Buffer.from(text)).duplicates).toBe(`yaml: unmarshal errors:\n  ${duplicate}`);
  });

  it.each([
    ['a: b\u2028c', 'yaml: line breaks other than LF and CR LF are not supported'],
    ['a: b\rc: d', 'yaml: line breaks other than LF and CR LF are not supported'],
    ['{"a\u2028": 1}', 'yaml: line breaks other than LF and CR LF are not supported'],
    ['{a: 1, "b\n": 1}', "yaml: line 2: did not find expected ',' or '}'"],
    ['a: &b"c d', 'yaml: did not find expected alphabetic or numeric character'],
    ['a: "b\\"\nc: "d"', 'yaml: found unexpected end of stream'],
    ['a:\n  b: "c\nd"', 'yaml: line 2: found unexpected end of stream'],
    ['{?a: 1}', 'yaml: found character that cannot start any token'],
    ['{a:[1]}', "yaml: did not find expected ',' or '}'"],
    ['{a: [:x]}', 'yaml: found character that cannot start any token'],
    ['{"a"::"b"}', 'yaml: found character that cannot start any token'],
    ['a: .inf', 'json: unsupported value: +Inf'],
    [String.raw`a: "\ud800"`, 'yaml: found invalid Unicode character escape code'],
    [String.raw`{"a":"\ud83d\ude00"}`, 'yaml: found invalid Unicode character escape code'],
    ['a: b: c', 'yaml: mapping values are not allowed in this context'],
    ['a: "x', 'yaml: found unexpected end of stream'],
    ['x: 1\na: @x\n', 'yaml: line 2: found character that cannot start any token'],
    ['a: [1, 2\n', "yaml: line 1: did not find expected ',' or ']'"],
    ['a: 1\nb\n', "yaml: line 3: could not find expected ':'"],
    ['a: - b', 'yaml: block sequence entries are not allowed in this context'],
    ['a: *x', "yaml: unknown anchor 'x' referenced"],
    ['a: &x\n  b: *x\n', "yaml: anchor 'x' value contains itself"],
    ['<<: 5', 'yaml: map merge requires map or sequence of maps as the value'],
    ['a: !!int x', 'yaml: cannot decode !!str `x` as a !!int'],
    ['a: \u0001', 'yaml: control characters are not allowed'],
  ])('rejects %j', (text, message) => {
    expect(() => parseYaml(Buffer.from(text))).toThrow(new Error(message));
  });

  it('resolves thousands of aliases', () => {
    const aliases = Array.from({ length: 20_000 }, () => '*x').join(',');
    expect(read(`a: &x 1\nb: &x 2\nc: [${aliases}]`)).toBe(`{"a":1,"b":2,"c":[${aliases.replaceAll('*x', '2')}]}`);
  });

  it.each([
    ['brackets', `a:\n  ${'['.repeat(11_000)}${']'.repeat(11_000)}`, 'yaml: line 2: exceeded max depth of 500'],
    ['lists', '- '.repeat(501), 'yaml: exceeded max depth of 500'],
    ['aliases', deepAliases(30, 200), 'yaml: exceeded max depth of 500'],
    ['brackets that fill the body', '['.repeat(3 << 20), 'yaml: exceeded max depth of 500'],
  ])('rejects a body nested too deeply by %s', (_, text, message) => {
    expect(() => parseYaml(Buffer.from(text))).toThrow(new Error(message));
  });

  it('parses lists nested 490 levels deep', () => {
    expect(parseYaml(Buffer.from(`a: ${'['.repeat(490)}b${']'.repeat(490)}`)).node).toMatchObject({ type: 'object' });
  });

  it('rejects YAML above the size limit, and accepts JSON of any size', () => {
    const LIMITS = { maxBytes: 100, allowAliases: true };
    const padding = ' '.repeat(100);
    expect(() => parseYaml(Buffer.from(`a: b${padding}`), LIMITS)).toThrow('Request entity too large: limit is 100');
    expect(() => parseYaml(Buffer.from(`{"a":1,"a":2}${padding}`), LIMITS)).toThrow('Request entity too large: limit is 100');
    expect(parseYaml(Buffer.from(`{"a":1}${padding}`), LIMITS).node).toMatchObject({ type: 'object' });
    expect(parseYaml(Buffer.from('a: b'), LIMITS).node).toMatchObject({ type: 'object' });
  });

  it('rejects a small document that expands into a huge one', () => {
    const levels = Array.from(
      { length: 9 },
      (_, level) => `a${level + 1}: &a${level + 1} [${Array.from({ length: 9 }, () => `*a${level}`).join(', ')}]`,
    );
    expect(() => parseYaml(Buffer.from(['a0: &a0 [x]', ...levels].join('\n')))).toThrow('yaml: document contains excessive aliasing');
  });
});

describe('encodeYaml', () => {
  it.each([
    ['yes', '"yes"'],
    ['1', '"1"'],
    ['null', '"null"'],
    ['', '""'],
    ['~', '"~"'],
    ['0x1F', '"0x1F"'],
    ['1e3', '"1e3"'],
    ['2026-11-15', '"2026-11-15"'],
    ['1:30', '"1:30"'],
    ['a: b', "'a: b'"],
    ['- x', "'- x'"],
    ['#c', "'#c'"],
    ['a #b', "'a #b'"],
    ['  lead', "'  lead'"],
    ['trail ', "'trail '"],
    ["it's", "it's"],
    ["'it'", "'''it'''"],
    ['<<', '<<'],
    ['=', '='],
    ['é', 'é'],
    ['😀', String.raw`"\U0001F600"`],
    ['a\tb', String.raw`"a\tb"`],
    ['a\nb', '|-\n  a\n  b'],
    ['a\nb\n', '|\n  a\n  b'],
    ['a\n\n', '|+\n  a\n'],
    [' a\nb', '|2-\n   a\n  b'],
    ['a \nb', String.raw`"a \nb"`],
    ['word '.repeat(20).trim(), `${'word '.repeat(16).trim()}\n  ${'word '.repeat(4).trim()}`],
  ])('writes %j', (text, yaml) => {
    expect(encodeYaml({ k: text })).toBe(`k: ${yaml}\n`);
  });

  it('does not indent lists, and encodes empty ones inline', () => {
    expect(encodeYaml({ a: [{ b: 1, c: [2, [3, 4]] }, 'd'], e: [], f: {} })).toBe(
      'a:\n- b: 1\n  c:\n  - 2\n  - - 3\n    - 4\n- d\ne: []\nf: {}\n',
    );
  });

  it('sorts numbers in keys by value, and letters last', () => {
    expect(encodeYaml({ a10: 1, a2: 2, B: 3, b: 4, _c: 5, '0': 6 })).toBe('_c: 5\n"0": 6\nB: 3\na2: 2\na10: 1\nb: 4\n');
  });

  it('compares long numbers in keys in linear time', () => {
    const digits = '7'.repeat(100_000);
    const keys = encodeYaml({ [`${digits}1`]: 1, [`${digits}0`]: 0 }).match(/\d(?=\n:)/g);
    expect(keys).toEqual(['0', '1']);
  });

  it.each([
    [2 ** 63, '9223372036854776000'],
    [1e19, '10000000000000000000'],
    [-(2 ** 63) * 2, '-1.8446744073709552e+19'],
    [1e20, '1e+20'],
    [10_000_000, '10000000'],
    [-0, '0'],
    [1.5, '1.5'],
  ])('encodes the number %d like Kubernetes', (value, text) => {
    expect(encodeYaml(value)).toBe(`${text}\n`);
  });

  it('encodes long keys with a question mark', () => {
    const key = 'k'.repeat(129);
    expect(encodeYaml({ [key]: { a: [1] } })).toBe(`? ${key}\n: a:\n  - 1\n`);
  });

  it.each([
    [1_000_000, '1000000'],
    [1_234_567.5, '1.2345675e+06'],
    [0.00001, '1e-05'],
    [9007199254740993n, '9007199254740993'],
    [true, 'true'],
    [null, 'null'],
  ])('writes %s as %s', (value, yaml) => {
    expect(encodeYaml({ k: value })).toBe(`k: ${yaml}\n`);
  });

  it('encodes text that parseYaml decodes', () => {
    const text = fc
      .string({ unit: 'grapheme', maxLength: 120 })
      .filter((each) => !/[\u007f-\u009f\ufffe\uffff\ufeff\u2028\u2029]/.test(each));
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        text,
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(text, tie('tree'), { maxKeys: 3 }),
      ),
    }));
    fc.assert(
      fc.property(tree, (document) => {
        const value = toValue(parseJson(Buffer.from(encodeGoJson({ document }))));
        expect(read(encodeYaml(value))).toBe(encodeGoJson(value));
      }),
    );
  });
});
