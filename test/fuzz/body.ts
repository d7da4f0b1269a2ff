// Bodies of token requests: a tree of fields that is mutated, and encoded as JSON or YAML.

import { pick } from '../support/random.ts';

/** Text of a scalar, a list, or fields in order, so that fields can be repeated. */
type Tree = string | Tree[] | Fields;

interface Fields {
  entries: [name: string, value: Tree][];
}

export type BodyFormat = 'json' | 'yaml';

type Random = () => number;

/** Returns the body of a valid request with this many mutations. */
export function randomBody(random: Random, format: BodyFormat, mutations: number): string {
  const tree = validTree(random);
  for (let count = 0; count < mutations; count += 1) mutate(random, format, tree);
  return format === 'json' ? toJson(tree, pick(random, JSON_SPACES)) : toYaml(random, tree);
}

/** Returns the text with a few characters inserted, replaced or removed. */
export function garbleText(random: Random, text: string): string {
  const chars = Array.from(text);
  const count = pick(random, [1, 1, 2, 3]);
  for (let index = 0; index < count; index += 1) {
    const removed = random() < 0.5 ? 1 : 0;
    const inserted = removed === 1 && random() < 0.5 ? [] : [pick(random, CHARS)];
    chars.splice(Math.floor(random() * chars.length), removed, ...inserted);
  }
  return chars.join('');
}

const CHARS = Array.from('{}[],:"\'\\/ \t\n\r-+.0159eEnul#&*!|>%@`~?=<é😀\u0001\u007f\u0085\u2028\ufeff');

/** Returns the body of a valid request, with an oddity of the whole text. */
export function randomText(random: Random, format: BodyFormat): string {
  const valid = randomBody(random, format, 0);
  const [before, after] = [valid.slice(0, Math.floor(random() * valid.length)), valid.slice(Math.floor(random() * valid.length))];
  return pick(random, [
    '',
    ' ',
    'null',
    '[]',
    '{}',
    '"text"',
    '1',
    'true',
    '{',
    '}',
    `[${valid}]`,
    before,
    after,
    `${before}${after}`,
    `\ufeff${valid}`,
    `${valid}{}`,
    `${valid} x`,
    `${valid}\n---\n${valid}`,
    `---\n${valid}`,
    `# comment\n${valid}`,
    `\n\n${valid}\n`,
    `${valid}\0`,
    valid.replace('"', "'"),
    valid.replace(':', '::'),
    valid.replace(',', ',,'),
    valid.replace('TokenRequest', 'Token\\u0052equest'),
    valid.replace('{', '{/* comment */'),
    valid.replace(/[}\n]/, (end) => `,${end}`),
    valid.replaceAll(' ', '\t'),
    'x'.repeat(9_000),
    `${valid}${' '.repeat(9_000)}`,
    '{"a":'.repeat(20) + '1' + '}'.repeat(20),
  ]);
}

const JSON_SPACES = ['', '', '', ' ', '\n'];
const TEXT = JSON.stringify;

function validTree(random: Random): Fields {
  const spec = fields(['audiences', list(...pick(random, AUDIENCES).map((each) => TEXT(each)))]);
  if (random() < 0.4) spec.entries.push(['expirationSeconds', pick(random, ['600', '3600', '7200', '3607'])]);
  if (random() < 0.25) spec.entries.push(['boundObjectRef', boundObject(random)]);
  const tree = fields(['apiVersion', TEXT('authentication.k8s.io/v1')], ['kind', TEXT('TokenRequest')]);
  if (random() < 0.3) tree.entries.push(['metadata', metadata(random)]);
  tree.entries.push(['spec', spec]);
  return tree;
}

const AUDIENCES = [['vault'], ['vault', 'https://hub.test'], ['a', 'b', 'c'], ['é✓'], ['']];

function metadata(random: Random): Fields {
  const all: [string, Tree][] = [
    ['name', pick(random, ['"builder"', '"builder"', '"other"', '""'])],
    ['namespace', pick(random, ['"team-a"', '"team-a"', '"default"', '""'])],
    ['labels', fields(['app', '"web"'])],
    ['annotations', fields(['note', '"<&>"'])],
    ['generateName', '"b-"'],
    ['uid', pick(random, ['""', '"2f6ad0a6-0000-4000-8000-000000000000"'])],
    ['resourceVersion', pick(random, ['"1"', '"x"', '""'])],
    ['generation', pick(random, ['1', '0', '-5'])],
    ['creationTimestamp', pick(random, ['null', '"2024-01-01T00:00:00Z"', '"2024-01-01T00:00:00.5+02:00"', '"yesterday"'])],
    ['deletionTimestamp', pick(random, ['null', '"2024-01-01T00:00:00Z"'])],
    ['deletionGracePeriodSeconds', pick(random, ['0', '30', '1.5'])],
    ['finalizers', list('"a/b"', '"x"')],
    ['ownerReferences', list(fields(['apiVersion', '"v1"'], ['kind', '"Pod"'], ['name', '"web"'], ['uid', '"u"'], ['controller', 'true']))],
    ['managedFields', list(fields(['manager', '"m"'], ['operation', '"Update"'], ['apiVersion', '"v1"'], ['time', 'null']))],
    ['selfLink', '"/x"'],
  ];
  return { entries: all.filter(() => random() < 0.2) };
}

function boundObject(random: Random): Fields {
  return {
    entries: [
      ['kind', pick(random, ['"Pod"', '"Pod"', '"Secret"', '"Secret"', '"Node"', '"ConfigMap"', '"pod"', '""'])],
      ['apiVersion', pick(random, ['"v1"', '"v1"', '"v1"', '"v2"', '"apps/v1"', '"a/b/c"', '""'])],
      ['name', pick(random, ['"web"', '"bindme"', '"other"', '"missing"', '""', '"../x"', '"A b"'])],
      ...(random() < 0.3 ? [['uid', pick(random, ['""', '"u"', '"2f6ad0a6-0000-4000-8000-000000000000"'])] as [string, Tree]] : []),
    ],
  };
}

/** Scalars, lists and objects with which mutations replace the value of a field, mostly of another type. */
const ODD_VALUES: readonly string[] = [
  'null',
  'true',
  'false',
  '0',
  '-0',
  '1',
  '-1',
  '599',
  '600',
  '601',
  '1.5',
  '1.0',
  '1e3',
  '1E400',
  '-1e-7',
  '4294967296',
  '4294967297',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775809',
  '1'.repeat(40),
  '0.1',
  '3600',
  '86401',
  '100000',
  '""',
  '"text"',
  '"600"',
  '"vault"',
  '"true"',
  '"null"',
  '"é"',
  '"😀"',
  String.raw`"\u0000"`,
  String.raw`"\ud83d\ude00"`,
  String.raw`"\ud800"`,
  String.raw`"\udc00x"`,
  String.raw`"a\nb"`,
  String.raw`"\u2028"`,
  '"<script>&"',
  '"a/b"',
  '"v1"',
  '"v9"',
  '"Pod"',
  '"Status"',
  '"TokenReview"',
  '"Lease"',
  '"authentication.k8s.io/v1beta1"',
  '"authentication.k8s.io/__internal"',
  '"/v1"',
  '"a/b/c"',
  '"2024-01-01T00:00:00Z"',
  '"https://hub.test"',
  `"${'l'.repeat(300)}"`,
  '[]',
  '{}',
  '[null]',
  '[1]',
  '["vault"]',
  '["a",1]',
  '[[]]',
  '[{}]',
  '["a","a"]',
  '{"a":1}',
  '{"a":"b"}',
  '{"a":null}',
  '{"a":{"b":[1]}}',
];
const BAD_JSON: readonly string[] = [
  '01',
  '+1',
  '.5',
  '1.',
  'NaN',
  'Infinity',
  '0x10',
  "'a'",
  'nil',
  'True',
  '"\\x"',
  '"\\u12"',
  '"a',
  '[1,]',
  '{a:1}',
  '',
];
const YAML_SCALARS: readonly string[] = [
  '~',
  'yes',
  'No',
  'on',
  'True',
  'NULL',
  '0x1F',
  '0o17',
  '017',
  '1_000',
  '.5',
  '.inf',
  '.NaN',
  '1e3',
  '+1',
  '2024-01-01',
  "'it''s'",
  'plain text',
  'a: b',
  '!!str 12',
  '!!int "600"',
  '!!float 600',
  '!!binary aGk=',
  '!!null x',
  '!tag x',
  '&a x',
  '*a',
  '<<',
  '=',
  '?',
  '|',
  '>-',
  '@x',
  '`x`',
  '%x',
  '- x',
  '[a, b]',
  '{a: b}',
  '[a, b',
  '"a\\qb"',
  '"\\x41"',
  '12:30:45',
  '0b11',
  '-.5',
  '1.',
  '"multi\n  line"',
];
const ODD_NAMES: readonly string[] = [
  'unknown',
  'Kind',
  'KIND',
  'SPEC',
  'Audiences',
  'audience',
  'expirationseconds',
  '__proto__',
  'constructor',
  'toString',
  '',
  ' ',
  'a.b',
  'é',
  'status',
  'metadata',
  'apiVersion',
  'kind',
  'spec',
  'name',
  'a"b',
  '<<',
  '1',
  'null',
  'x'.repeat(40),
];
const KNOWN_FIELDS: readonly [string, string][] = [
  ['status', '{"token":"x","expirationTimestamp":"2024-01-01T00:00:00Z"}'],
  ['status', '{"token":1}'],
  ['status', '{"expirationTimestamp":"never"}'],
  ['metadata', '{"name":"builder"}'],
  ['metadata', '{"labels":{"a":1},"x":2}'],
  ['spec', '{"audiences":["b"]}'],
  ['expirationSeconds', '900'],
  ['audiences', '["b"]'],
  ['kind', '"TokenRequest"'],
];

/** Field of the tree, and a value of another type. */
interface Place {
  readonly random: Random;
  readonly parent: Fields;
  readonly index: number;
  readonly entry: Fields['entries'][number];
  readonly odd: Tree;
}

const replaceValue = ({ entry, odd }: Place) => void (entry[1] = odd);
const removeField = ({ parent, index }: Place) => void parent.entries.splice(index, 1);
const setNull = ({ entry }: Place) => void (entry[1] = 'null');
const repeatField = ({ random, parent, entry: [name, value], odd }: Place) => {
  const at = Math.floor(random() * (parent.entries.length + 1));
  parent.entries.splice(at, 0, [name, random() < 0.5 ? value : odd]);
};
const addUnknown = ({ random, parent, index, odd }: Place) => void parent.entries.splice(index, 0, [pick(random, ODD_NAMES), odd]);
const addKnown = ({ random, parent }: Place) => void parent.entries.push([...pick(random, KNOWN_FIELDS)]);
const renameField = ({ random, entry }: Place) => {
  entry[0] = random() < 0.5 ? entry[0].toUpperCase() : pick(random, ODD_NAMES);
};
const extendList = ({ parent, entry: [, value], odd }: Place) => {
  if (Array.isArray(value)) value.push(odd);
  else parent.entries.reverse();
};

const MUTATIONS: readonly ((place: Place) => void)[] = [
  replaceValue,
  replaceValue,
  replaceValue,
  removeField,
  removeField,
  setNull,
  repeatField,
  repeatField,
  addUnknown,
  addUnknown,
  addKnown,
  renameField,
  extendList,
];

function mutate(random: Random, format: BodyFormat, tree: Fields): void {
  const places = placesOf(tree);
  // Earlier mutations may have removed all fields.
  if (places.length === 0) return;
  const { parent, index } = pick(random, places);
  const entry = parent.entries[index] as Place['entry'];
  pick(random, MUTATIONS)({ random, parent, index, entry, odd: oddValue(random, format) });
}

function oddValue(random: Random, format: BodyFormat): Tree {
  const roll = random();
  if (format === 'yaml' && roll < 0.4) return pick(random, YAML_SCALARS);
  if (format === 'json' && roll < 0.08) return pick(random, BAD_JSON);
  return pick(random, ODD_VALUES);
}

/** Returns the position of every field in the tree. */
function placesOf(tree: Tree): { readonly parent: Fields; readonly index: number }[] {
  if (typeof tree === 'string') return [];
  if (Array.isArray(tree)) return tree.flatMap(placesOf);
  return tree.entries.flatMap(([, value], index) => [{ parent: tree, index }, ...placesOf(value)]);
}

function toJson(tree: Tree, space: string): string {
  if (typeof tree === 'string') return tree;
  if (Array.isArray(tree)) return `[${tree.map((each) => toJson(each, space)).join(`,${space}`)}]`;
  return `{${space}${tree.entries.map(([name, value]) => `${TEXT(name)}:${space}${toJson(value, space)}`).join(`,${space}`)}${space}}`;
}

/** Returns YAML in block style. About half of the strings without special characters are plain. */
function toYaml(random: Random, tree: Tree, indent = ''): string {
  if (typeof tree === 'string') return tree;
  if (Array.isArray(tree)) return tree.map((each) => `${indent}- ${toYaml(random, each, `${indent}  `).trimStart()}\n`).join('');
  return tree.entries.map(([name, value]) => `${indent}${yamlKey(name)}:${yamlValue(random, value, indent)}`).join('');
}

function yamlValue(random: Random, value: Tree, indent: string): string {
  if (typeof value === 'string') return ` ${random() < 0.5 ? value.replace(/^"([a-z][\w./-]*)"$/i, '$1') : value}\n`;
  const isEmpty = Array.isArray(value) ? value.length === 0 : value.entries.length === 0;
  return isEmpty ? ` ${toJson(value, '')}\n` : `\n${toYaml(random, value, `${indent}  `).replace(/\n*$/, '\n')}`;
}

function yamlKey(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : TEXT(name);
}

function fields(...entries: [string, Tree][]): Fields {
  return { entries };
}

function list(...items: Tree[]): Tree[] {
  return items;
}
