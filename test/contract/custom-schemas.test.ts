// Structural schemas of custom resources: messages of validation, defaulting, pruning and the status subresource.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { createAdmin, definition } from './admin.ts';
import { createSender, outcome } from './requests.ts';
import { contractServer } from './server.ts';

const server = contractServer();
const send = createSender(server);
const WORDS = '/apis/words.test/v1/words';

const text = { type: 'string' };
const struct = (properties: object, rest: object = {}) => ({ type: 'object', properties, ...rest });
const SPEC = {
  text,
  integer: { type: 'integer' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  list: { type: 'array', items: text },
  object: struct({ x: text }),
  short: { type: 'string', maxLength: 3, minLength: 2 },
  pattern: { type: 'string', pattern: '^a+$' },
  enum: { type: 'string', enum: ['a', 'b'] },
  numbers: { type: 'integer', enum: [1, 2] },
  range: { type: 'integer', minimum: 5, maximum: 6 },
  two: { type: 'array', items: text, minItems: 2, maxItems: 2 },
  one: { type: 'object', additionalProperties: text, maxProperties: 1 },
  required: struct({ x: text, y: text }, { required: ['x', 'y'] }),
  nullable: { type: 'string', nullable: true },
  set: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
  map: {
    type: 'array',
    items: struct({ k: text, p: { type: 'integer', default: 1 } }, { required: ['k'] }),
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['k', 'p'],
  },
  small: { type: 'integer', format: 'int32' },
  deep: struct({
    list: {
      type: 'array',
      items: struct({
        name: { type: 'string', minLength: 1 },
        counts: { type: 'object', additionalProperties: { type: 'integer', minimum: 0 } },
      }),
    },
  }),
  defaults: struct({
    a: { type: 'string', default: 'A' },
    b: struct({ c: { type: 'integer', default: 7 } }),
    d: struct({ e: { type: 'boolean', default: true } }, { default: {} }),
    f: { type: 'array', items: struct({ g: { type: 'string', default: 'G' } }) },
    h: { type: 'string', nullable: true, default: 'H' },
  }),
  free: struct({ known: struct({ x: text }) }, { 'x-kubernetes-preserve-unknown-fields': true }),
  time: { type: 'string', format: 'date-time' },
};

beforeAll(async () => {
  const schema = { openAPIV3Schema: struct({ spec: struct(SPEC), status: struct({ x: { type: 'integer' } }) }) };
  const version = { name: 'v1', served: true, storage: true, subresources: { status: {} }, schema };
  await createAdmin(server).define(definition('words.test', 'Word', 'Cluster', [version]), WORDS);
});

let count = 0;

function word(content: object, metadata: object = {}): { readonly name: string; readonly body: object } {
  count += 1;
  const name = `w${count}`;
  return { name, body: { apiVersion: 'words.test/v1', kind: 'Word', metadata: { name, ...metadata }, ...content } };
}

describe('validation of a custom resource', () => {
  const type = (field: string, expected: string, found: string) =>
    `spec.${field}: Invalid value: "${found}": spec.${field} in body must be of type ${expected}: "${found}"`;
  const value = (field: string, quoted: string, rest: string) => `spec.${field}: Invalid value: ${quoted}: spec.${field} in body ${rest}`;

  it.each([
    [{ text: 1 }, type('text', 'string', 'integer')],
    [{ text: 1.5 }, type('text', 'string', 'number')],
    [{ text: true }, type('text', 'string', 'boolean')],
    [{ text: [] }, type('text', 'string', 'array')],
    [{ text: {} }, type('text', 'string', 'object')],
    [{ integer: '1' }, type('integer', 'integer', 'string')],
    [
      { integer: 1.5 },
      `[${type('integer', 'integer', 'number')}, <nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.integer]`,
    ],
    [{ number: '1' }, type('number', 'number', 'string')],
    [{ boolean: 'true' }, type('boolean', 'boolean', 'string')],
    [{ list: 'x' }, type('list', 'array', 'string')],
    [{ list: ['x', 1] }, type('list[1]', 'string', 'integer')],
    [{ object: 'x' }, type('object', 'object', 'string')],
    [{ short: 'a' }, value('short', '"a"', 'should be at least 2 chars long')],
    [{ short: 'abcd' }, 'spec.short: Too long: may not be more than 3 bytes'],
    [{ pattern: 'b' }, value('pattern', '"b"', "should match '^a+$'")],
    [{ enum: 'c' }, 'spec.enum: Unsupported value: "c": supported values: "a", "b"'],
    [{ numbers: 3 }, 'spec.numbers: Unsupported value: 3: supported values: "1", "2"'],
    [{ range: 4 }, value('range', '4', 'should be greater than or equal to 5')],
    [{ range: 7 }, value('range', '7', 'should be less than or equal to 6')],
    [{ two: ['a'] }, value('two', '1', 'should have at least 2 items')],
    [{ two: ['a', 'b', 'c'] }, 'spec.two: Too many: 3: must have at most 2 items'],
    [{ one: { a: 'a', b: 'b' } }, 'spec.one: Too many: 2: must have at most 1 item'],
    [{ required: {} }, '[spec.required.x: Required value, spec.required.y: Required value]'],
    [{ required: { x: null, y: 'y' } }, 'spec.required.x: Required value'],
    [{ nullable: 1 }, type('nullable', 'string', 'integer')],
    [{ set: ['a', 'b', 'a'] }, 'spec.set[2]: Duplicate value: "a"'],
    [{ map: [{ k: 'a' }, { k: 'a', p: 1 }] }, 'spec.map[1]: Duplicate value: {"k":"a","p":1}'],
    [{ map: [{ p: 1 }] }, 'spec.map[0].k: Required value'],
    [{ small: 2_147_483_648 }, '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.small'],
    [{ time: 'x' }, value('time', '"x"', 'must be of type date-time: "x"')],
    [{ deep: { list: [{ name: '' }] } }, value('deep.list[0].name', '""', 'should be at least 1 chars long')],
    [{ deep: { list: [{ counts: { 'a/b': -1 } }] } }, value('deep.list[0].counts.a/b', '-1', 'should be greater than or equal to 0')],
  ])('rejects %j', async (spec, problem) => {
    const { name, body } = word({ spec });
    const { status, body: response } = await send(WORDS, { body });
    expect([status, response.message]).toEqual([422, expect.stringContaining(`Word.words.test "${name}" is invalid: ${problem}`)]);
  });

  it.each([
    [
      'another kind',
      { kind: 'Sentence' },
      /^422 Invalid: Sentence\.words\.test "w\d+" is invalid: kind: Invalid value: "Sentence": must be Word$/,
    ],
    [
      'no kind',
      { kind: '' },
      /^400 BadRequest: the object provided is unrecognized \(must be of type Word\): Object 'Kind' is missing in '\{/,
    ],
    [
      'another version',
      { apiVersion: 'words.test/v2' },
      /^400 BadRequest: the API version in the data \(words\.test\/v2\) does not match the expected API version \(words\.test\/v1\)$/,
    ],
    [
      'a bad name',
      { metadata: { name: 'Bad_Name' } },
      /^422 Invalid: .*metadata\.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of/,
    ],
    ['no name', { metadata: {} }, /^422 Invalid: .*metadata\.name: Required value: name or generateName is required$/],
    [
      'metadata of another type',
      { metadata: { name: 'x', labels: { a: 1 } } },
      /^400 BadRequest: Word in version "v1" cannot be handled as a Word: json: cannot unmarshal number into Go struct field ObjectMeta\.labels of type string$/,
    ],
  ])('rejects %s', async (_, content, expected) => {
    expect(outcome(await send(WORDS, { body: { ...word({}).body, ...content } }))).toMatch(expected);
  });

  it('rejects unknown and duplicate fields with fieldValidation=Strict, ignores them with Ignore, and warns about them by default', async () => {
    const body =
      '{"apiVersion":"words.test/v1","kind":"Word","metadata":{"name":"strict","zz":1},"spec":{"text":"a","text":"b","yy":1},"xx":1}';
    const problems = ['duplicate field "spec.text"', 'unknown field "metadata.zz"', 'unknown field "spec.yy"', 'unknown field "xx"'];
    expect(outcome(await send(`${WORDS}?fieldValidation=Strict`, { body }))).toBe(
      `400 BadRequest: Word in version "v1" cannot be handled as a Word: strict decoding error: ${problems.join(', ')}`,
    );
    expect((await send(`${WORDS}?fieldValidation=Ignore&dryRun=All`, { body })).warnings).toEqual([]);
    expect((await send(WORDS, { body })).warnings).toEqual(problems);
  });
});

describe('accepted custom resource', () => {
  it.each([
    ['sets defaults', { defaults: {} }, { defaults: { a: 'A', d: { e: true }, h: 'H' } }],
    [
      'sets defaults in existing objects and items',
      { defaults: { b: {}, f: [{}, { g: 'x' }] } },
      { defaults: { a: 'A', b: { c: 7 }, d: { e: true }, f: [{ g: 'G' }, { g: 'x' }], h: 'H' } },
    ],
    [
      'replaces null with the default unless the field is nullable',
      { defaults: { a: null, b: { c: null }, h: null } },
      { defaults: { a: 'A', b: { c: 7 }, d: { e: true }, h: null } },
    ],
    ['sets no defaults in absent objects', {}, {}],
    [
      'prunes fields that the schema does not specify',
      { text: 'x', unknown: 1, object: { x: 'x', y: 'y' } },
      { text: 'x', object: { x: 'x' } },
    ],
    ['prunes null unless the field is nullable', { text: null, nullable: null }, { nullable: null }],
    ['keeps integers and fractions', { integer: 3, number: 3.25 }, { integer: 3, number: 3.25 }],
  ])('%s', async (_, spec, expected) => {
    const { status, body } = await send(`${WORDS}?fieldValidation=Ignore`, { body: word({ spec }).body });
    expect([status, body['spec']]).toEqual([201, expected]);
  });

  it('separates status writes from spec writes', async () => {
    const { name, body } = word({ spec: { text: 'a' }, status: { x: 'invalid' } });
    expect((await send(WORDS, { body })).body).not.toHaveProperty('status');
    const headers = { 'content-type': 'application/merge-patch+json' };
    const patch = (path: string, content: object) => send(`${WORDS}/${name}${path}`, { method: 'PATCH', headers, body: content });
    const changed = await patch('/status', { status: { x: 1 }, spec: { text: 'b' }, metadata: { labels: { a: 'b' } } });
    expect(changed.body).toMatchObject({ spec: { text: 'a' }, status: { x: 1 }, metadata: { generation: 1 } });
    expect(changed.body.metadata['labels']).toBeUndefined();
    const updated = await patch('', { status: { x: 2 }, spec: { text: 'b' } });
    expect(updated.body).toMatchObject({ spec: { text: 'b' }, status: { x: 1 }, metadata: { generation: 2 } });
    expect(outcome(await patch('/status', { status: { x: 'one' } }))).toBe(
      `422 Invalid: Word.words.test "${name}" is invalid: status.x: Invalid value: "string": x in body must be of type integer: "string"`,
    );
  });
});
