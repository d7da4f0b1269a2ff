// Representations of objects: Table, PartialObjectMetadata, JSON and YAML, compact and indented.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { createAdmin, definition, messageOf } from './admin.ts';
import { contractServer } from './server.ts';

const server = contractServer();
const admin = createAdmin(server);
const NS = 'namespaces/forms';
const MAPS = `/api/v1/${NS}/configmaps`;
const WIDGETS = '/apis/forms.test/v1/widgets';
const PLAIN = '/apis/forms.test/v1/plains';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const ONE = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const MANY = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

interface Table {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: object;
  readonly columnDefinitions: readonly {
    readonly name: string;
    readonly type: string;
    readonly priority: number;
    readonly description: string;
  }[];
  readonly rows: readonly {
    readonly cells: readonly unknown[];
    readonly object: { readonly kind: string; readonly apiVersion: string } | null;
  }[];
}

beforeAll(async () => {
  await admin.create('/api/v1/namespaces', { metadata: { name: 'forms' } });
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const columns = [
    { name: 'Color', type: 'string', jsonPath: '.spec.color' },
    { name: 'Size', type: 'integer', jsonPath: '.spec.size', priority: 1, description: 'how large', format: 'int32' },
    { name: 'Round', type: 'boolean', jsonPath: '.spec.round' },
    { name: 'Weight', type: 'number', jsonPath: '.spec.weight' },
    { name: 'Parts', type: 'string', jsonPath: '.spec.parts' },
    { name: 'First', type: 'string', jsonPath: '.spec.parts[0]' },
    { name: 'Rest', type: 'string', jsonPath: '.spec.rest' },
    { name: 'Text', type: 'string', jsonPath: '.spec.size' },
    { name: 'Number', type: 'integer', jsonPath: '.spec.color' },
    { name: 'Since', type: 'date', jsonPath: '.spec.since' },
    { name: 'Bad', type: 'date', jsonPath: '.spec.color' },
  ];
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: anything }, additionalPrinterColumns: columns }];
  await admin.define(definition('forms.test', 'Widget', 'Cluster', versions), WIDGETS);
  const plain = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: anything } };
  await admin.define(definition('forms.test', 'Plain', 'Cluster', [plain]), PLAIN);
  for (const name of ['a', 'b']) await admin.create(PLAIN, { apiVersion: 'forms.test/v1', kind: 'Plain', metadata: { name } });
  const spec = {
    color: 'red',
    size: 3,
    round: true,
    weight: 1.5,
    parts: ['x', 'y'],
    rest: { b: 1, a: '<&>' },
    since: '2020-01-01T00:00:00Z',
  };
  await admin.create(WIDGETS, { apiVersion: 'forms.test/v1', kind: 'Widget', metadata: { name: 'a', labels: { l: '1' } }, spec });
  await admin.create(WIDGETS, { apiVersion: 'forms.test/v1', kind: 'Widget', metadata: { name: 'b' } });
  await admin.create(MAPS, { metadata: { name: 'a' }, data: { k: 'yes', n: '<1>' } });
  await admin.create(MAPS, { metadata: { name: 'b' }, binaryData: { x: 'AAE=' }, data: { y: '' } });
});

async function table(path: string, accept = TABLE): Promise<Table> {
  const { status, headers, body } = await admin.get(path, { accept });
  expect([status, headers['content-type']]).toEqual([200, 'application/json']);
  return JSON.parse(body) as Table;
}

/** Replaces ages, which depend on the duration of the test. */
function withoutAges(cells: readonly unknown[] | undefined): readonly unknown[] | undefined {
  return cells?.map((cell) => (typeof cell === 'string' && /^\d+s$/.test(cell) ? 'AGE' : cell));
}

describe('Table', () => {
  it('contains the printer columns of a CRD and typed cells', async () => {
    const { columnDefinitions, rows } = await table(WIDGETS);
    expect(columnDefinitions.map(({ name, type, priority }) => `${name} ${type} ${priority}`)).toEqual([
      'Name string 0',
      'Color string 0',
      'Size integer 1',
      'Round boolean 0',
      'Weight number 0',
      'Parts string 0',
      'First string 0',
      'Rest string 0',
      'Text string 0',
      'Number integer 0',
      'Since date 0',
      'Bad date 0',
    ]);
    expect(columnDefinitions.slice(1, 3)).toEqual([
      {
        name: 'Color',
        type: 'string',
        format: '',
        description: 'Custom resource definition column (in JSONPath format): .spec.color',
        priority: 0,
      },
      { name: 'Size', type: 'integer', format: 'int32', description: 'how large', priority: 1 },
    ]);
    expect(rows.map(({ cells }) => cells)).toEqual([
      [
        'a',
        'red',
        3,
        true,
        1.5,
        '["x","y"]',
        'x',
        String.raw`{"a":"\u003c\u0026\u003e","b":1}`,
        '3',
        null,
        expect.stringMatching(/^\d+y(\d+d)?$/),
        '<invalid>',
      ],
      ['b', null, null, null, null, null, null, null, null, null, null, null],
    ]);
  });

  it('contains name and age for a CRD without printer columns', async () => {
    const { columnDefinitions, rows } = await table(PLAIN);
    expect(columnDefinitions.map(({ name, type }) => `${name} ${type}`)).toEqual(['Name string', 'Age date']);
    expect(rows.map(({ cells }) => withoutAges(cells))).toEqual([
      ['a', 'AGE'],
      ['b', 'AGE'],
    ]);
  });

  it.each([
    ['/api/v1/namespaces', 'Name Status Age'],
    [MAPS, 'Name Data Age'],
    [`/api/v1/${NS}/secrets`, 'Name Type Data Age'],
    [`/api/v1/${NS}/serviceaccounts`, 'Name Age'],
    [`/api/v1/${NS}/events`, 'Last Seen Type Reason Object Subobject* Source* Message First Seen* Count* Name*'],
    [`/apis/coordination.k8s.io/v1/${NS}/leases`, 'Name Holder Age'],
    [`/apis/rbac.authorization.k8s.io/v1/${NS}/roles`, 'Name Created At'],
    [`/apis/rbac.authorization.k8s.io/v1/${NS}/rolebindings`, 'Name Role Age Users* Groups* ServiceAccounts*'],
    ['/apis/rbac.authorization.k8s.io/v1/clusterroles', 'Name Created At'],
    ['/apis/apiextensions.k8s.io/v1/customresourcedefinitions', 'Name Created At'],
  ])('represents %s with the columns %s', async (path, expected) => {
    const { columnDefinitions } = await table(`${path}?limit=1`);
    expect(columnDefinitions.map(({ name, priority }) => `${name}${priority > 0 ? '*' : ''}`).join(' ')).toBe(expected);
  });

  it('contains the cells of built-in kinds', async () => {
    const { rows } = await table(MAPS);
    expect(rows.map(({ cells }) => withoutAges(cells))).toEqual([
      ['a', 2, 'AGE'],
      ['b', 2, 'AGE'],
    ]);
    expect(withoutAges((await table('/api/v1/namespaces/forms')).rows[0]?.cells)).toEqual(['forms', 'Active', 'AGE']);
  });

  it('contains the continue token of a page and the revision of an object', async () => {
    const page = await table(`${WIDGETS}?limit=1`);
    expect(page).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
    expect(page.metadata).toEqual({ resourceVersion: expect.any(String), continue: expect.any(String), remainingItemCount: 1 });
    const [one, { body }] = await Promise.all([table(`${WIDGETS}/a`), admin.get(`${WIDGETS}/a`)]);
    const { resourceVersion } = (JSON.parse(body) as { metadata: { resourceVersion: string } }).metadata;
    expect([one.rows.length, one.metadata]).toEqual([1, { resourceVersion }]);
  });

  it('contains no rows for an empty list', async () => {
    expect((await table(`${WIDGETS}?labelSelector=none`)).rows).toEqual([]);
  });

  it.each([
    ['', 'PartialObjectMetadata', 'meta.k8s.io/v1'],
    ['Metadata', 'PartialObjectMetadata', 'meta.k8s.io/v1'],
    ['Object', 'Widget', 'forms.test/v1'],
    ['None', undefined, undefined],
  ])('responds to includeObject=%s with objects of kind %s', async (includeObject, kind, apiVersion) => {
    const { rows } = await table(`${WIDGETS}?includeObject=${includeObject}&limit=1`);
    expect([rows[0]?.object?.kind, rows[0]?.object?.apiVersion]).toEqual([kind, apiVersion]);
  });

  it.each([`${MAPS}?`, `${MAPS}?labelSelector=none&`, `${MAPS}/a?`, `${WIDGETS}?`])(
    'rejects an unknown includeObject at %s',
    async (path) => {
      const response = await admin.get(`${path}includeObject=x`, { accept: TABLE });
      const cause = `includeObject: Invalid value: "x": must be 'Metadata', 'Object', 'None', or empty`;
      expect([response.status, messageOf(response)]).toEqual([400, `Unable to convert to Table as requested: ${cause}`]);
      expect((await admin.get(`${path}includeObject=x`)).status).toBe(200);
    },
  );

  it('returns a Table in the requested API version', async () => {
    const accept = TABLE.replace('v=v1', 'v=v1beta1');
    const { apiVersion, rows } = await table(`${MAPS}?limit=1`, `${accept},${TABLE}`);
    expect([apiVersion, rows[0]?.object?.apiVersion]).toEqual(['meta.k8s.io/v1beta1', 'meta.k8s.io/v1beta1']);
  });

  it('returns a Table in YAML', async () => {
    const { headers, body } = await admin.get(`${MAPS}/a`, { accept: TABLE.replace('json', 'yaml') });
    expect([headers['content-type'], body.slice(0, 51)]).toEqual([
      'application/yaml',
      'apiVersion: meta.k8s.io/v1\ncolumnDefinitions:\n- des',
    ]);
  });
});

describe('PartialObjectMetadata', () => {
  it.each([MAPS, WIDGETS])('represents the list at %s', async (path) => {
    const { status, headers, body } = await admin.get(`${path}?limit=1`, { accept: MANY });
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    expect(body).toMatch(
      /^{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io\/v1","metadata":{"resourceVersion":"\d+","continue":"\w+","remainingItemCount":1},"items":\[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io\/v1","metadata":{"name":"a",/,
    );
  });

  it.each([MAPS, WIDGETS])('represents one object at %s in the versions v1 and v1beta1', async (path) => {
    const { body } = await admin.get(`${path}/a`, { accept: ONE });
    expect(body).toMatch(/^{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io\/v1","metadata":{"name":"a",/);
    expect(Object.keys(JSON.parse(body) as object)).toEqual(['kind', 'apiVersion', 'metadata']);
    const beta = await admin.get(`${path}/a`, { accept: ONE.replace('v=v1', 'v=v1beta1') });
    expect(JSON.parse(beta.body)).toMatchObject({ apiVersion: 'meta.k8s.io/v1beta1' });
  });

  it.each([
    [MAPS, ONE, 406, 'you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)'],
    [`${MAPS}/a`, MANY, 406, 'you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)'],
    [WIDGETS, ONE, 406, 'you requested PartialObjectMetadata, but the requested object is a list (*unstructured.UnstructuredList)'],
    [`${WIDGETS}/a`, MANY, 500, 'content is not a list'],
  ])('rejects a request for %s as %s', async (path, accept, status, message) => {
    const indented = await admin.get(path, { accept });
    expect([indented.status, messageOf(indented), indented.body.startsWith('{\n  "kind": "Status"')]).toEqual([status, message, true]);
    const compact = await admin.get(path, { accept: `${accept},application/json` });
    expect([compact.status, messageOf(compact), compact.body.startsWith('{"kind":"Status"')]).toEqual([status, message, true]);
  });
});

describe('content negotiation', () => {
  const JSON_TYPE = 'application/json';
  const YAML_TYPE = 'application/yaml';

  it.each([
    ['', JSON_TYPE],
    ['*/*', JSON_TYPE],
    [YAML_TYPE, YAML_TYPE],
    [`${YAML_TYPE},${JSON_TYPE}`, YAML_TYPE],
    [`${JSON_TYPE};q=0.5,${YAML_TYPE}`, YAML_TYPE],
    [`${YAML_TYPE};q=0.1,${JSON_TYPE};q=0.2`, JSON_TYPE],
    [`text/html, ${JSON_TYPE};q=0.9, */*;q=0.8`, JSON_TYPE],
    [`${JSON_TYPE};charset=utf-8`, JSON_TYPE],
    [`,,${JSON_TYPE}`, JSON_TYPE],
    ['application/json;as=Nonsense;v=v1;g=meta.k8s.io,application/json', JSON_TYPE],
    ['application/json;as=Table;v=v2;g=meta.k8s.io,application/yaml', YAML_TYPE],
  ])('maps Accept: %s to the media type %s', async (accept, expected) => {
    for (const path of [`${MAPS}/a`, `${WIDGETS}/a`]) {
      const { status, headers, body } = await admin.get(path, { accept });
      expect([status, headers['content-type'], body.startsWith('{')]).toEqual([200, expected, expected === JSON_TYPE]);
    }
  });

  const PRODUCED = 'application/json, application/yaml, application/vnd.kubernetes.protobuf';
  const STREAMED = 'application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch';

  it.each([
    ['text/html', `${MAPS}/a`, `406: Not Acceptable\n\nAvailable representations: ${PRODUCED}`, true],
    ['text/html', MAPS, `406: Not Acceptable\n\nAvailable representations: ${PRODUCED}, ${STREAMED}`, true],
    ['application/*', `${MAPS}/a`, `406: Not Acceptable\n\nAvailable representations: ${PRODUCED}`, false],
    ['APPLICATION/JSON', `${MAPS}/a`, `406: Not Acceptable\n\nAvailable representations: ${PRODUCED}`, true],
    ['application/json;as=Nonsense;v=v1;g=meta.k8s.io', `${MAPS}/a`, `only the following media types are accepted: ${PRODUCED}`, true],
    ['text/html', `${WIDGETS}/a`, `only the following media types are accepted: ${PRODUCED}`, true],
    ['application/json;as=Table;v=v2;g=meta.k8s.io', WIDGETS, `only the following media types are accepted: ${PRODUCED}`, true],
  ])('rejects Accept: %s for %s', async (accept, path, message, isIndented) => {
    const response = await admin.get(path, { accept });
    expect([response.status, messageOf(response), response.headers['content-type']]).toEqual([406, message, JSON_TYPE]);
    expect(response.body.startsWith('{\n  "kind"')).toBe(isIndented);
  });

  it('returns errors as JSON or YAML, never as Table', async () => {
    const yaml = await admin.get(`${MAPS}/none`, { accept: YAML_TYPE });
    expect([yaml.status, yaml.headers['content-type']]).toEqual([404, YAML_TYPE]);
    expect(yaml.body).toBe(
      'apiVersion: v1\ncode: 404\ndetails:\n  kind: configmaps\n  name: none\nkind: Status\nmessage: configmaps "none" not found\nmetadata: {}\nreason: NotFound\nstatus: Failure\n',
    );
    const asTable = await admin.get(`${MAPS}/none`, { accept: TABLE });
    expect([asTable.status, asTable.body.startsWith('{\n  "kind": "Status"')]).toEqual([404, true]);
  });
});

describe('JSON response', () => {
  it.each([
    ['curl/8.5.0', '', true],
    ['Wget/1.21', '', true],
    ['Mozilla/5.0 (X11)', '', true],
    ['kubectl/v1.36', '', false],
    ['curl/8.5.0', 'pretty=0', false],
    ['curl/8.5.0', 'pretty=', true],
    ['x', 'pretty=true', true],
    ['x', 'pretty=T', true],
    ['x', 'pretty=tRUE', false],
  ])('indents a response for user agent %s and query %j: %s', async (agent, query, isIndented) => {
    for (const path of [`${MAPS}/a`, `${WIDGETS}/a`, `${WIDGETS}/none`]) {
      const { body } = await admin.get(`${path}?${query}`, { 'user-agent': agent });
      expect([body.startsWith('{\n  "'), body.endsWith('}\n')]).toEqual([isIndented, !isIndented]);
    }
  });

  it('indents a response for the pretty parameter of Accept', async () => {
    expect((await admin.get(`${MAPS}/a`, { accept: 'application/json;pretty=1' })).body).toMatch(/^{\n {2}"kind": "ConfigMap",\n/);
  });

  it('keeps the field order of built-in kinds, sorts fields of custom resources, and escapes as Go does', async () => {
    const { body: map } = await admin.get(`${MAPS}/a`);
    expect(map).toMatch(/^{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"forms","uid":/);
    expect(map).toContain(String.raw`"data":{"k":"yes","n":"\u003c1\u003e"}}`);
    const { body: widget } = await admin.get(`${WIDGETS}/a`);
    expect(widget).toMatch(/^{"apiVersion":"forms.test\/v1","kind":"Widget","metadata":{"creationTimestamp":/);
    expect(widget).toContain(String.raw`"rest":{"a":"\u003c\u0026\u003e","b":1}`);
  });
});

describe('size limit of requests', () => {
  const body = ' '.repeat(3 * 1024 * 1024 + 1);

  it.each([
    ['POST', MAPS, 'application/json'],
    ['PUT', `${MAPS}/a`, 'application/json'],
    ['PATCH', `${MAPS}/a`, 'application/merge-patch+json'],
    ['POST', WIDGETS, 'application/json'],
  ])('rejects a body above 3 MiB for %s %s', async (method, path, type) => {
    const response = await admin.send(method, path, { 'content-type': type }, body);
    expect([response.status, messageOf(response)]).toEqual([413, 'Request entity too large: limit is 3145728']);
  });

  it('rejects an unknown media type before it checks the size of the body', async () => {
    const response = await admin.send('POST', MAPS, { 'content-type': 'text/plain' }, body);
    const known = 'application/json, application/yaml, application/vnd.kubernetes.protobuf';
    const message = `the body of the request was in an unknown format - accepted media types include: ${known}`;
    expect([response.status, messageOf(response)]).toEqual([415, message]);
  });
});
