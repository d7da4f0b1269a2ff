// CustomResourceDefinitions: which are refused, and how they come, share names, change and go.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { askOf } from './asking.ts';
import { eventually } from './eventually.ts';
import { type Answer, outcome } from './objects.ts';
import { contractServer } from './server.ts';

const server = contractServer();
const ask = askOf(server);
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const text = { type: 'string' };
const struct = (properties: object, rest: object = {}) => ({ type: 'object', properties, ...rest });
const version = (name: string, schema: object, rest: object = {}) => ({
  name,
  served: true,
  storage: true,
  schema: { openAPIV3Schema: schema },
  ...rest,
});

interface Definition {
  readonly plural: string;
  readonly kind: string;
  readonly group?: string;
  readonly names?: object;
  readonly scope?: string;
  readonly versions?: readonly object[];
  readonly schema?: object;
}

function definition({
  plural,
  kind,
  group = 'defs.test',
  names = {},
  scope = 'Cluster',
  schema = struct({ spec: struct({ x: text }) }),
  ...rest
}: Definition): object {
  const { versions = [version('v1', schema)] } = rest;
  return { metadata: { name: `${plural}.${group}` }, spec: { group, scope, names: { plural, kind, ...names }, versions } };
}

function define(parts: Definition): Promise<Answer> {
  return ask(DEFINITIONS, { body: definition(parts) });
}

function change(path: string, body: object): Promise<Answer> {
  return ask(path, { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' }, body });
}

interface Status {
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string; readonly message: string }[];
  readonly acceptedNames: object;
  readonly storedVersions: readonly string[];
}

async function statusOf(plural: string, group = 'defs.test'): Promise<Status> {
  return (await ask(`${DEFINITIONS}/${plural}.${group}`)).body['status'] as Status;
}

/** `NamesAccepted=True NoConflicts: no conflicts found`. */
async function conditionsOf(plural: string, group?: string): Promise<readonly string[]> {
  const { conditions = [] } = await statusOf(plural, group);
  return conditions.map(({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`);
}

const ACCEPTED = [
  'NamesAccepted=True NoConflicts: no conflicts found',
  'Established=True InitialNamesAccepted: the initial names have been accepted',
];

describe('a definition is refused for', () => {
  const at = 'spec.validation.openAPIV3Schema';
  it.each([
    ['no type', struct({ a: {} }), `${at}.properties[a].type: Required value: must not be empty for specified object fields`],
    ['another root', text, `${at}.type: Invalid value: "string": must be object at the root`],
    [
      'an unknown type',
      struct({ a: { type: 'foo' } }),
      `${at}.properties[a].type: Unsupported value: "foo": supported values: "array", "boolean", "integer", "number", "object", "string"`,
    ],
    ['a list of nothing', struct({ a: { type: 'array' } }), `${at}.properties[a].items: Required value: must be specified`],
    [
      'rules on metadata',
      struct({ metadata: struct({ labels: { type: 'object' } }) }),
      `${at}.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified`,
    ],
    [
      'both names and any name',
      struct({ a: struct({ b: text }, { additionalProperties: text }) }),
      `${at}.properties[a].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`,
    ],
    [
      'a bad pattern',
      struct({ a: { type: 'string', pattern: '(' } }),
      `${at}.properties[a].pattern: Invalid value: "(": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): \`(\``,
    ],
    ['a reference', struct({ a: { type: 'string', $ref: '#/x' } }), `${at}.properties[a].$ref: Forbidden: $ref is not supported`],
    [
      'unique items',
      struct({ a: { type: 'array', items: text, uniqueItems: true } }),
      `${at}.properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic`,
    ],
    [
      'a default of another type',
      struct({ a: { type: 'string', default: 1 } }),
      `${at}.properties[a].default: Invalid value: "integer":  in body must be of type string: "integer"`,
    ],
    [
      'a default that is not allowed',
      struct({ a: { type: 'string', enum: ['a'], default: 'b' } }),
      `${at}.properties[a].default: Unsupported value: "b": supported values: "a"`,
    ],
    [
      'a map list without keys',
      struct({ a: { type: 'array', items: struct({ k: text }), 'x-kubernetes-list-type': 'map' } }),
      `${at}.properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map`,
    ],
    [
      'a set of structs',
      struct({ a: { type: 'array', items: struct({ k: text }), 'x-kubernetes-list-type': 'set' } }),
      `${at}.properties[a].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set`,
    ],
    [
      'an empty embedded resource',
      struct({ a: { type: 'object', 'x-kubernetes-embedded-resource': true } }),
      `${at}.properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields`,
    ],
    [
      'types inside of anyOf',
      struct({ a: { type: 'object', anyOf: [{ type: 'object' }] } }),
      `${at}.properties[a].anyOf[0].type: Forbidden: must be empty to be structural`,
    ],
  ])('a schema with %s', async (_, schema, problem) => {
    const { status, body } = await define({ plural: 'bads', kind: 'Bad', schema });
    expect([status, body.message]).toEqual([422, expect.stringContaining(problem)]);
  });

  const rule = (expression: string, rest: object = {}) =>
    struct({
      spec: {
        ...struct({ a: { type: 'string', maxLength: 9 }, n: { type: 'integer' } }),
        'x-kubernetes-validations': [{ rule: expression, ...rest }],
      },
    });
  const drawn = (problem: string, expression: string, column: number) =>
    `compilation failed: ERROR: <input>:1:${column}: ${problem}\n | ${expression}\n | ${'.'.repeat(column - 1)}^`;
  it.each([
    ['self.b == "x"', {}, drawn("undefined field 'b'", 'self.b == "x"', 5)],
    ['other == "x"', {}, drawn("undeclared reference to 'other' (in container '')", 'other == "x"', 1)],
    ['self.a == 1', {}, drawn("found no matching overload for '_==_' applied to '(string, int)'", 'self.a == 1', 8)],
    ['!self.a', {}, drawn("found no matching overload for '!_' applied to '(string)'", '!self.a', 1)],
    ['self.a && true', {}, drawn("expected type 'bool' but found 'string'", 'self.a && true', 5)],
    [
      'self.a.startsWith(1)',
      {},
      drawn("found no matching overload for 'startsWith' applied to 'string.(int)'", 'self.a.startsWith(1)', 18),
    ],
    ['zap(self.a)', {}, drawn("undeclared reference to 'zap' (in container '')", 'zap(self.a)', 4)],
    ['has(self.b)', {}, drawn("undefined field 'b'", 'has(self.b)', 4)],
    ['has([self][0].b)', {}, drawn("undefined field 'b'", 'has([self][0].b)', 4)],
    ['has(self)', {}, drawn('invalid argument to has() macro', 'has(self)', 5)],
    ['self.a', {}, 'cel expression must evaluate to a bool'],
    ['self.a', { message: 'x' }, 'cel expression must evaluate to a bool'],
    ['', {}, 'rule: Required value: rule is not specified'],
    ['true', { message: 'a\nb' }, 'message: Invalid value: "a\\nb": must not contain line breaks'],
    ['true', { messageExpression: 'self.n' }, 'messageExpression: Invalid value: '],
    ['true', { fieldPath: '.zz' }, 'fieldPath: Invalid value: ".zz": must be a valid path'],
    ['true', { fieldPath: 'a' }, 'fieldPath: Invalid value: "a": must be a valid path'],
    [
      'true',
      { reason: 'Because' },
      'reason: Unsupported value: "Because": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
    ],
    ['true', { optionalOldSelf: true }, 'optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule'],
  ])('the rule %j with %j', async (expression, rest, problem) => {
    const { status, body } = await define({ plural: 'bads', kind: 'Bad', schema: rule(expression, rest) });
    expect([status, body.message]).toEqual([422, expect.stringContaining(problem)]);
  });

  const fine = struct({ spec: struct({ color: text, parts: { type: 'array', items: text } }) });
  it.each([
    ['a group without a dot', { group: 'nodots' }, 'spec.group: Invalid value: "nodots": should be a domain with at least one dot'],
    ['an unknown scope', { scope: 'World' }, 'spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"'],
    [
      'a bad kind',
      { names: { kind: 'Bad Kind' } },
      'spec.names.kind: Invalid value: "Bad Kind": may have mixed case, but should otherwise match: ',
    ],
    ['bad short names', { names: { shortNames: ['OK'] } }, 'spec.names.shortNames[0]: Invalid value: "OK": '],
    ['no version', { versions: [] }, 'spec.versions: Invalid value: []: must have exactly one version marked as storage version'],
    [
      'no stored version',
      { versions: [version('v1', fine, { storage: false })] },
      'must have exactly one version marked as storage version',
    ],
    [
      'a version without schema',
      { versions: [{ name: 'v1', served: true, storage: true }] },
      'spec.versions[0].schema.openAPIV3Schema: Required value',
    ],
    [
      'a column without a path',
      { versions: [version('v1', fine, { additionalPrinterColumns: [{ name: 'A', type: 'text' }] })] },
      'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
    ],
    [
      'selection by a list',
      { versions: [version('v1', fine, { selectableFields: [{ jsonPath: '.spec.parts' }] })] },
      'spec.selectableFields[0].jsonPath: Invalid value: ".spec.parts": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
    ],
    [
      'a warning without deprecation',
      { versions: [version('v1', fine, { deprecationWarning: 'x' })] },
      'deprecationWarning: Invalid value: "x": can only be set for deprecated versions',
    ],
  ])('%s', async (_, parts, problem) => {
    const { status, body } = await define({ plural: 'bads', kind: 'Bad', ...parts });
    expect([status, body.message]).toEqual([422, expect.stringContaining(problem)]);
  });

  it('another name than that of plural and group', async () => {
    const { status, body } = await ask(DEFINITIONS, {
      body: { ...definition({ plural: 'bads', kind: 'Bad' }), metadata: { name: 'bads' } },
    });
    expect([status, body.message]).toEqual([
      422,
      expect.stringContaining('metadata.name: Invalid value: "bads": must be spec.names.plural+"."+spec.group'),
    ]);
  });
});

describe('a definition', () => {
  it.each(['namespace', 'package', 'for', 'as'])('may have rules about a field called %s', async (name) => {
    const rule = `self.${name} == "x" && self.__${name}__ == "x"`;
    const schema = struct({ spec: { ...struct({ [name]: { type: 'string', maxLength: 9 } }), 'x-kubernetes-validations': [{ rule }] } });
    const plural = `${name}words`;
    await define({ plural, kind: `Word${name}`, group: 'reserved.test', schema });
    const path = `/apis/reserved.test/v1/${plural}`;
    await eventually(async () => expect((await ask(path)).status).toBe(200));
    const word = (value: string) => ({
      apiVersion: 'reserved.test/v1',
      kind: `Word${name}`,
      metadata: { name: value },
      spec: { [name]: value },
    });
    expect([(await ask(path, { body: word('x') })).status, (await ask(path, { body: word('y') })).status]).toEqual([201, 422]);
  });

  it('is accepted, established, served and discovered', async () => {
    const group = 'born.test';
    await define({ plural: 'births', kind: 'Birth', group, names: { shortNames: ['bi'], categories: ['all'] } });
    await eventually(async () => expect(await conditionsOf('births', group)).toEqual(ACCEPTED));
    const { acceptedNames, storedVersions } = await statusOf('births', group);
    expect(acceptedNames).toEqual({
      plural: 'births',
      singular: 'birth',
      shortNames: ['bi'],
      kind: 'Birth',
      listKind: 'BirthList',
      categories: ['all'],
    });
    expect(storedVersions).toEqual(['v1']);
    await eventually(async () => expect((await ask(`/apis/${group}/v1/births`)).body).toMatchObject({ kind: 'BirthList', items: [] }));
    await eventually(async () => {
      const { body } = await ask(`/apis/${group}/v1`);
      expect(body['resources']).toMatchObject([
        { name: 'births', singularName: 'birth', kind: 'Birth', shortNames: ['bi'], categories: ['all'], namespaced: false },
      ]);
    });
  });

  it('waits for names that others have, serves nothing meanwhile, and gets them when they are free', async () => {
    const group = 'names.test';
    await define({ plural: 'firsts', kind: 'Thing', group, names: { shortNames: ['th'] } });
    await eventually(async () => expect(await conditionsOf('firsts', group)).toEqual(ACCEPTED));
    await define({ plural: 'seconds', kind: 'Thing', group, names: { singular: 'second' } });
    const refused = [
      'NamesAccepted=False ListKindConflict: "ThingList" is already in use',
      'Established=False NotAccepted: not all names are accepted',
    ];
    await eventually(async () => expect(await conditionsOf('seconds', group)).toEqual(refused));
    expect(outcome(await ask(`/apis/${group}/v1/seconds`))).toBe('404: 404 page not found');
    await ask(`${DEFINITIONS}/firsts.${group}`, { method: 'DELETE' });
    await eventually(async () => expect(await conditionsOf('seconds', group)).toEqual(ACCEPTED));
    await eventually(async () => expect((await ask(`/apis/${group}/v1/seconds`)).status).toBe(200));
  });

  describe('that is there', () => {
    const path = `${DEFINITIONS}/changes.change.test`;
    beforeAll(async () => {
      await define({ plural: 'changes', kind: 'Change', group: 'change.test' });
      await eventually(async () => expect((await ask('/apis/change.test/v1/changes')).status).toBe(200));
    });

    it.each([
      ['its group', { spec: { group: 'other.test' } }, 'spec.group: Invalid value: "other.test": field is immutable'],
      ['its plural', { spec: { names: { plural: 'others' } } }, 'spec.names.plural: Invalid value: "others": field is immutable'],
      ['its scope', { spec: { scope: 'Namespaced' } }, 'spec.scope: Invalid value: "Namespaced": field is immutable'],
      ['its kind', { spec: { names: { kind: 'Other' } } }, 'spec.names.kind: Invalid value: "Other": field is immutable'],
      [
        'the version that is stored',
        { spec: { versions: [version('v2', struct({}))] } },
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions',
      ],
    ])('cannot change %s', async (_, patch, problem) => {
      const { status, body } = await change(path, patch);
      expect([status, body.message]).toEqual([422, expect.stringContaining(problem)]);
    });

    it('fills new defaults into what is stored, and forgives old faults that stay as they are', async () => {
      const objects = '/apis/change.test/v1/changes';
      await ask(objects, { body: { apiVersion: 'change.test/v1', kind: 'Change', metadata: { name: 'old' }, spec: { x: 'a' } } });
      const stricter = struct({ spec: struct({ x: { type: 'string', minLength: 3 }, z: { type: 'string', default: 'Z' } }) });
      await change(path, { spec: { versions: [version('v1', stricter)] } });
      await eventually(async () => expect((await ask(`${objects}/old`)).body['spec']).toEqual({ x: 'a', z: 'Z' }));
      expect((await change(`${objects}/old`, { metadata: { labels: { a: 'b' } } })).status).toBe(200);
      expect(outcome(await change(`${objects}/old`, { spec: { x: 'b' } }))).toContain('spec.x in body should be at least 3 chars long');
    });
  });

  it('shows each version what its schema knows', async () => {
    const old = version('v1', struct({ spec: struct({ x: text }) }), { storage: false, deprecated: true });
    const current = version('v2', struct({ spec: struct({ x: text, w: { type: 'string', default: 'W' } }) }));
    const hidden = version('v3', struct({}), { storage: false, served: false });
    await define({ plural: 'views', kind: 'View', group: 'views.test', versions: [old, current, hidden] });
    const path = (name: string) => `/apis/views.test/${name}/views`;
    await eventually(async () => expect((await ask(path('v2'))).status).toBe(200));
    const made = await ask(path('v2'), {
      body: { apiVersion: 'views.test/v2', kind: 'View', metadata: { name: 'a' }, spec: { x: 'x', w: 'w' } },
    });
    expect(made.body['spec']).toEqual({ x: 'x', w: 'w' });
    const seen = await ask(`${path('v1')}/a`);
    expect([seen.body.apiVersion, seen.body['spec'], seen.warnings]).toEqual([
      'views.test/v1',
      { x: 'x' },
      ['views.test/v1 View is deprecated; use views.test/v2 View'],
    ]);
    expect((await ask(path('v3'))).status).toBe(404);
    const { body } = await ask('/apis/views.test');
    expect(body['versions']).toEqual([
      { groupVersion: 'views.test/v2', version: 'v2' },
      { groupVersion: 'views.test/v1', version: 'v1' },
    ]);
  });

  it('shows its rules in one order, wherever they are', async () => {
    const ruled = struct({}, { 'x-kubernetes-validations': [{ messageExpression: "'a'", message: 'm', rule: 'true' }] });
    const documented = { type: 'string', externalDocs: { url: 'u', description: '' } };
    const schema = struct({ spec: struct({ list: { type: 'array', items: ruled }, texts: { type: 'array', items: documented } }) });
    const { body } = await ask(`${DEFINITIONS}?dryRun=All`, { body: definition({ plural: 'orders', kind: 'Order', schema }) });
    const shown = JSON.stringify(body['spec']);
    expect(shown).toContain(`{"type":"object","x-kubernetes-validations":[{"rule":"true","message":"m","messageExpression":"'a'"}]}`);
    expect(shown).toContain('{"type":"string","externalDocs":{"url":"u"}}');
  });

  it('shows a dry run as what is stored would be read', async () => {
    const status = struct({ phase: { type: 'string', default: 'New' } }, { default: {} });
    const parts = { subresources: { status: {} } };
    const served = version('v1', struct({ spec: struct({ x: text, lost: text }), status }), { ...parts, storage: false });
    const stored = version('v2', struct({ spec: struct({ x: text }), status }), parts);
    await define({ plural: 'drafts', kind: 'Draft', group: 'drafts.test', versions: [served, stored] });
    const path = '/apis/drafts.test/v1/drafts';
    await eventually(async () => expect((await ask(path)).status).toBe(200));
    const shown = ({ body }: Answer) => [body.apiVersion, body['spec'], body['status']];
    const expected = (x: string) => ['drafts.test/v1', { x }, { phase: 'New' }];
    const body = { apiVersion: 'drafts.test/v1', kind: 'Draft', metadata: { name: 'a' }, spec: { x: 'x', lost: 'l' } };
    expect(shown(await ask(`${path}?dryRun=All`, { body }))).toEqual(expected('x'));
    expect(shown(await ask(path, { body }))).toEqual(expected('x'));
    expect(shown(await change(`${path}/a?dryRun=All`, { spec: { x: 'y', lost: 'm' } }))).toEqual(expected('y'));
  });

  it('lets fields be selected, and columns be shown', async () => {
    const schema = struct({ spec: struct({ color: text, size: { type: 'integer' }, list: { type: 'array', items: text } }) });
    const additionalPrinterColumns = [
      { name: 'Color', type: 'string', jsonPath: '.spec.color', description: 'Its color.' },
      { name: 'Size', type: 'integer', jsonPath: '.spec.size', priority: 1 },
      { name: 'First', type: 'string', jsonPath: '.spec.list[0]' },
      { name: 'All', type: 'string', jsonPath: '.spec.list' },
      { name: 'Team', type: 'string', jsonPath: '.metadata.labels.acme\\.io/team' },
    ];
    const selectableFields = [{ jsonPath: '.spec.color' }, { jsonPath: '.spec.size' }];
    await define({
      plural: 'paints',
      kind: 'Paint',
      group: 'paint.test',
      versions: [version('v1', schema, { additionalPrinterColumns, selectableFields })],
    });
    const paints = '/apis/paint.test/v1/paints';
    await eventually(async () => expect((await ask(paints)).status).toBe(200));
    const paint = (name: string, spec: object, labels: object = {}) =>
      ask(paints, { body: { apiVersion: 'paint.test/v1', kind: 'Paint', metadata: { name, labels }, spec } });
    await paint('a', { color: 'red', size: 1, list: ['x', 'y'] }, { 'acme.io/team': 't' });
    await paint('b', { color: 'blue', size: 2 });
    await paint('c', {});
    const selected = async (selector: string) => {
      const { body } = await ask(`${paints}?fieldSelector=${encodeURIComponent(selector)}`);
      return body['items'] === undefined
        ? body.message
        : (body['items'] as readonly { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
    };
    expect(await selected('spec.color=red')).toEqual(['a']);
    expect(await selected('spec.color!=red,spec.size!=2')).toEqual(['c']);
    expect(await selected('spec.size=2')).toEqual(['b']);
    expect(await selected('spec.color=')).toEqual(['c']);
    expect(await selected('spec.other=1')).toBe('field label not supported: spec.other');
    const { body } = await ask(paints, { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } });
    const columns = body['columnDefinitions'] as readonly {
      readonly name: string;
      readonly description: string;
      readonly priority: number;
    }[];
    expect(columns.slice(0, 3)).toMatchObject([
      { name: 'Name', format: 'name' },
      { name: 'Color', description: 'Its color.', priority: 0 },
      { name: 'Size', description: 'Custom resource definition column (in JSONPath format): .spec.size', priority: 1 },
    ]);
    expect((body['rows'] as readonly { readonly cells: readonly unknown[] }[]).map(({ cells }) => cells)).toEqual([
      ['a', 'red', 1, 'x', '["x","y"]', 't'],
      ['b', 'blue', 2, null, null, null],
      ['c', null, null, null, null, null],
    ]);
  });

  it('takes its objects along when it goes, and waits for those that are held', async () => {
    const path = '/apis/gone.test/v1/goners';
    await define({ plural: 'goners', kind: 'Goner', group: 'gone.test' });
    await eventually(async () => expect((await ask(path)).status).toBe(200));
    const goner = (name: string, metadata: object = {}) => ({
      body: { apiVersion: 'gone.test/v1', kind: 'Goner', metadata: { name, ...metadata } },
    });
    await ask(path, goner('free'));
    await ask(path, goner('held', { finalizers: ['a.b/c'] }));
    const { body } = await ask(`${DEFINITIONS}/goners.gone.test`, { method: 'DELETE' });
    expect(body.metadata['deletionTimestamp']).toBeDefined();
    await eventually(async () => expect((await ask(`${path}/free`)).status).toBe(404));
    await eventually(async () => expect((await ask(`${path}/held`)).body.metadata['deletionTimestamp']).toBeDefined());
    expect(outcome(await ask(path, goner('late')))).toBe(
      '403 Forbidden: goners.gone.test "late" is forbidden: create not allowed while custom resource definition is terminating',
    );
    await change(`${path}/held`, { metadata: { finalizers: null } });
    await eventually(async () => expect((await ask(`${DEFINITIONS}/goners.gone.test`)).status).toBe(404));
    await eventually(async () => expect((await ask(path)).status).toBe(404));
  }, 30_000);
});
