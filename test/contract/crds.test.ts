// CustomResourceDefinitions: validation, establishment, changes and deletion.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from './eventually.ts';
import { createSender, type KubeResponse, outcome } from './requests.ts';
import { contractServer } from './server.ts';

const server = contractServer();
const send = createSender(server);
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

function define(parts: Definition): Promise<KubeResponse> {
  return send(DEFINITIONS, { body: definition(parts) });
}

function change(path: string, body: object): Promise<KubeResponse> {
  return send(path, { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' }, body });
}

interface Status {
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string; readonly message: string }[];
  readonly acceptedNames: object;
  readonly storedVersions: readonly string[];
}

async function getStatus(plural: string, group = 'defs.test'): Promise<Status> {
  return (await send(`${DEFINITIONS}/${plural}.${group}`)).body['status'] as Status;
}

/** Returns the conditions of a CRD, each as `NamesAccepted=True NoConflicts: no conflicts found`. */
async function getConditions(plural: string, group?: string): Promise<readonly string[]> {
  const { conditions = [] } = await getStatus(plural, group);
  return conditions.map(({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`);
}

const ACCEPTED = [
  'NamesAccepted=True NoConflicts: no conflicts found',
  'Established=True InitialNamesAccepted: the initial names have been accepted',
];

describe('validation of a CRD', () => {
  it.each([
    ['a group without a dot', { group: 'nodots' }, 'spec.group: Invalid value: "nodots": should be a domain with at least one dot'],
    ['an unknown scope', { scope: 'World' }, 'spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"'],
    [
      'a version without schema',
      { versions: [{ name: 'v1', served: true, storage: true }] },
      'spec.versions[0].schema.openAPIV3Schema: Required value',
    ],
  ])('rejects %s', async (_, parts, problem) => {
    const { status, body } = await define({ plural: 'bads', kind: 'Bad', ...parts });
    expect([status, body.message]).toEqual([422, expect.stringContaining(problem)]);
  });

  it('rejects a name other than <plural>.<group>', async () => {
    const { status, body } = await send(DEFINITIONS, {
      body: { ...definition({ plural: 'bads', kind: 'Bad' }), metadata: { name: 'bads' } },
    });
    expect([status, body.message]).toEqual([
      422,
      expect.stringContaining('metadata.name: Invalid value: "bads": must be spec.names.plural+"."+spec.group'),
    ]);
  });
});

describe('CRD', () => {
  it('establishes and serves a new kind, and adds it to discovery', async () => {
    const group = 'born.test';
    await define({ plural: 'births', kind: 'Birth', group, names: { shortNames: ['bi'], categories: ['all'] } });
    await eventually(async () => expect(await getConditions('births', group)).toEqual(ACCEPTED));
    const { acceptedNames, storedVersions } = await getStatus('births', group);
    expect(acceptedNames).toEqual({
      plural: 'births',
      singular: 'birth',
      shortNames: ['bi'],
      kind: 'Birth',
      listKind: 'BirthList',
      categories: ['all'],
    });
    expect(storedVersions).toEqual(['v1']);
    await eventually(async () => expect((await send(`/apis/${group}/v1/births`)).body).toMatchObject({ kind: 'BirthList', items: [] }));
    await eventually(async () => {
      const { body } = await send(`/apis/${group}/v1`);
      expect(body['resources']).toMatchObject([
        { name: 'births', singularName: 'birth', kind: 'Birth', shortNames: ['bi'], categories: ['all'], namespaced: false },
      ]);
    });
  });

  describe('established CRD', () => {
    const path = `${DEFINITIONS}/changes.change.test`;
    beforeAll(async () => {
      await define({ plural: 'changes', kind: 'Change', group: 'change.test' });
      await eventually(async () => expect((await send('/apis/change.test/v1/changes')).status).toBe(200));
    });

    it.each([
      ['the group', { spec: { group: 'other.test' } }, 'spec.group: Invalid value: "other.test": field is immutable'],
      ['the plural name', { spec: { names: { plural: 'others' } } }, 'spec.names.plural: Invalid value: "others": field is immutable'],
      ['the scope', { spec: { scope: 'Namespaced' } }, 'spec.scope: Invalid value: "Namespaced": field is immutable'],
      ['the kind', { spec: { names: { kind: 'Other' } } }, 'spec.names.kind: Invalid value: "Other": field is immutable'],
    ])('rejects a change to %s of a CRD', async (_, patch, problem) => {
      const { status, body } = await change(path, patch);
      expect([status, body.message]).toEqual([422, expect.stringContaining(problem)]);
    });

    it('sets new defaults in stored objects, and accepts unchanged invalid fields', async () => {
      const objects = '/apis/change.test/v1/changes';
      await send(objects, { body: { apiVersion: 'change.test/v1', kind: 'Change', metadata: { name: 'old' }, spec: { x: 'a' } } });
      const stricter = struct({ spec: struct({ x: { type: 'string', minLength: 3 }, z: { type: 'string', default: 'Z' } }) });
      await change(path, { spec: { versions: [version('v1', stricter)] } });
      await eventually(async () => expect((await send(`${objects}/old`)).body['spec']).toEqual({ x: 'a', z: 'Z' }));
      expect((await change(`${objects}/old`, { metadata: { labels: { a: 'b' } } })).status).toBe(200);
      expect(outcome(await change(`${objects}/old`, { spec: { x: 'b' } }))).toContain('spec.x in body should be at least 3 chars long');
    });
  });

  it('serves selectable fields and printer columns', async () => {
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
    await eventually(async () => expect((await send(paints)).status).toBe(200));
    const paint = (name: string, spec: object, labels: object = {}) =>
      send(paints, { body: { apiVersion: 'paint.test/v1', kind: 'Paint', metadata: { name, labels }, spec } });
    await paint('a', { color: 'red', size: 1, list: ['x', 'y'] }, { 'acme.io/team': 't' });
    await paint('b', { color: 'blue', size: 2 });
    await paint('c', {});
    const selectNames = async (selector: string) => {
      const { body } = await send(`${paints}?fieldSelector=${encodeURIComponent(selector)}`);
      return body['items'] === undefined
        ? body.message
        : (body['items'] as readonly { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
    };
    expect(await selectNames('spec.color=red')).toEqual(['a']);
    expect(await selectNames('spec.color!=red,spec.size!=2')).toEqual(['c']);
    expect(await selectNames('spec.size=2')).toEqual(['b']);
    expect(await selectNames('spec.color=')).toEqual(['c']);
    expect(await selectNames('spec.other=1')).toBe('field label not supported: spec.other');
    const { body } = await send(paints, { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } });
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

  it('deletes the custom resources before the CRD, and waits for their finalizers', async () => {
    const path = '/apis/gone.test/v1/goners';
    await define({ plural: 'goners', kind: 'Goner', group: 'gone.test' });
    await eventually(async () => expect((await send(path)).status).toBe(200));
    const custom = (name: string, metadata: object = {}) => ({
      body: { apiVersion: 'gone.test/v1', kind: 'Goner', metadata: { name, ...metadata } },
    });
    await send(path, custom('free'));
    await send(path, custom('held', { finalizers: ['a.b/c'] }));
    const { body } = await send(`${DEFINITIONS}/goners.gone.test`, { method: 'DELETE' });
    expect(body.metadata['deletionTimestamp']).toBeDefined();
    await eventually(async () => expect((await send(`${path}/free`)).status).toBe(404));
    await eventually(async () => expect((await send(`${path}/held`)).body.metadata['deletionTimestamp']).toBeDefined());
    expect(outcome(await send(path, custom('late')))).toBe(
      '403 Forbidden: goners.gone.test "late" is forbidden: create not allowed while custom resource definition is terminating',
    );
    await change(`${path}/held`, { metadata: { finalizers: null } });
    await eventually(async () => expect((await send(`${DEFINITIONS}/goners.gone.test`)).status).toBe(404));
    await eventually(async () => expect((await send(path)).status).toBe(404));
  });
});
