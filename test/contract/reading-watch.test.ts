// Watches: initial events, later events, bookmarks, ends, and validation of parameters.

import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createAdmin, definition, messageOf } from './admin.ts';
import { contractServer } from './server.ts';
import { type WatchEvent, type WatchStream, watch } from './watch-stream.ts';

const server = contractServer();
const admin = createAdmin(server);
const MAPS = '/api/v1/namespaces/watches/configmaps';
const WIDGETS = '/apis/watches.test/v1/namespaces/watches/widgets';
const COLLECTIONS = [
  ['configmaps', MAPS],
  ['widgets', WIDGETS],
] as const;
const WATCH_LIST = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
const INITIAL_END = { 'k8s.io/initial-events-end': 'true' };

const open: WatchStream[] = [];

beforeAll(async () => {
  await admin.create('/api/v1/namespaces', { metadata: { name: 'watches' } });
  await admin.create('/api/v1/namespaces', { metadata: { name: 'watches-other' } });
  const schema = {
    openAPIV3Schema: {
      type: 'object',
      properties: {
        spec: { type: 'object', properties: { color: { type: 'string' } } },
        status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  };
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema,
    subresources: { status: {} },
    selectableFields: [{ jsonPath: '.spec.color' }],
  };
  await admin.define(definition('watches.test', 'Widget', 'Namespaced', [version]), WIDGETS);
});

afterEach(() => {
  for (const stream of open.splice(0)) stream.close();
});

async function openWatch(path: string, headers?: Readonly<Record<string, string>>): Promise<WatchStream> {
  const stream = await watch(server, path, headers);
  open.push(stream);
  return stream;
}

function createObject(path: string, name: string, more: object = {}): Promise<unknown> {
  const type = path.includes('/widgets') ? { apiVersion: 'watches.test/v1', kind: 'Widget' } : {};
  const { metadata, ...rest } = more as { metadata?: object };
  return admin.create(path, { ...type, ...rest, metadata: { name, ...metadata } });
}

function brief({ type, object: { metadata } }: WatchEvent): string {
  return `${type} ${metadata.name ?? JSON.stringify(metadata.annotations ?? {})}`;
}

async function latest(path: string): Promise<string> {
  return (await admin.list(`${path}?labelSelector=none`)).metadata.resourceVersion;
}

describe.each(COLLECTIONS)('start of a watch of %s', (_, path) => {
  const labels = { set: 'beginning' };
  const only = 'labelSelector=set%3Dbeginning';
  const ALL = ['ADDED w-a', 'ADDED w-b'];
  const END = [`BOOKMARK ${JSON.stringify(INITIAL_END)}`];

  beforeAll(async () => {
    // Created in reverse order: initial events are ordered by name, not by revision.
    for (const name of ['w-b', 'w-a']) await createObject(path, name, { metadata: { labels } });
  });

  const starts: readonly (readonly [query: string, expected: readonly string[]])[] = [
    ['watch=1', ALL],
    ['watch=1&resourceVersion=0', ALL],
    ['watch=zzz', ALL],
    ['watch=', ALL],
    ['watch=true&allowWatchBookmarks=true', [...ALL, ...END]],
    ['watch=true&allowWatchBookmarks=true&resourceVersion=0', [...ALL, ...END]],
    ['watch=true&sendInitialEvents=1&resourceVersionMatch=NotOlderThan', ALL],
    [WATCH_LIST, [...ALL, ...END]],
    [`${WATCH_LIST}&resourceVersion=now`, [...ALL, ...END]],
    ['watch=1&limit=1', ALL],
    ['watch=1&resourceVersion=now', []],
    ['watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan', []],
    ['watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0', []],
    ['watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=now', []],
    ['watch=1&resourceVersion=now&continue=x', []],
  ];

  it('sends the initial state with or without a bookmark, or nothing, as requested', async () => {
    const now = await latest(path);
    const seen = starts.map(async ([query]) => {
      const stream = await openWatch(`${path}?${query.replace('now', now)}&${only}&timeoutSeconds=1`);
      // A server may send a periodic bookmark at any time.
      const isRelevant = (event: string) => event !== 'BOOKMARK {}';
      return [query, (await stream.all()).map(brief).filter(isRelevant)];
    });
    expect(await Promise.all(seen)).toEqual(starts);
  });

  it.each([
    [
      'sendInitialEvents=true',
      ['resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'],
    ],
    [
      'sendInitialEvents=false&resourceVersionMatch=Exact',
      [
        'resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
        'resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"',
      ],
    ],
    [
      'resourceVersionMatch=Exact&resourceVersion=5',
      [
        'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
        'resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"',
      ],
    ],
    ['continue=x', ['resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided']],
  ])('rejects a watch with %s', async (query, problems) => {
    const response = await admin.get(`${path}?watch=1&${query}`);
    const text = problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`;
    expect([response.status, messageOf(response)]).toEqual([422, `ListOptions.meta.k8s.io "" is invalid: ${text}`]);
  });

  it.each([
    ['abc', 'invalid syntax'],
    ['18446744073709551616', 'value out of range'],
  ])('returns 500 for a watch with resourceVersion=%s', async (version, problem) => {
    const response = await admin.get(`${path}?watch=1&resourceVersion=${version}`);
    const cause = `resourceVersion: Invalid value: "${version}": strconv.ParseUint: parsing "${version}": ${problem}`;
    expect([response.status, messageOf(response)]).toEqual([500, cause]);
  });

  it.each([
    ['labelSelector=!', "unable to parse requirement: found '', expected: identifier"],
    ['timeoutSeconds=x', 'strconv.ParseInt: parsing "x": invalid syntax'],
  ])('rejects a watch with %s', async (query, message) => {
    const response = await admin.get(`${path}?watch=1&${query}`);
    expect([response.status, messageOf(response)]).toEqual([400, message]);
  });

  it('waits for a future revision, or sends an ERROR event if initial events are requested', async () => {
    const future = await openWatch(`${path}?watch=1&resourceVersion=9000000&timeoutSeconds=1`);
    const state = await openWatch(`${path}?${WATCH_LIST}&resourceVersion=9000000`);
    expect([future.status, await future.all()]).toEqual([200, []]);
    expect(await state.all()).toMatchObject([{ type: 'ERROR', object: { reason: 'Timeout', code: 504 } }]);
  });

  it('ends immediately with a negative timeoutSeconds', async () => {
    const stream = await openWatch(`${path}?watch=1&timeoutSeconds=-1&resourceVersion=0`);
    expect(stream.status).toBe(200);
    // The watch may have sent events before its timeout.
    await expect(stream.all()).resolves.toBeDefined();
  });
});

describe.each(COLLECTIONS)('events of a watch of %s', (_, path) => {
  it('reports each change at its revision', async () => {
    const stream = await openWatch(`${path}?watch=1&resourceVersion=${await latest(path)}&fieldSelector=metadata.name%3Dlife`);
    await createObject(path, 'life-other');
    await createObject(path, 'life', { metadata: { annotations: { step: '1' } } });
    const changed = await admin.patch(`${path}/life`, { metadata: { annotations: { step: '2' } } });
    await admin.patch(`${path}/life`, { metadata: { annotations: { step: '2' } } });
    await admin.delete(`${path}/life`);
    await createObject(path, 'life');
    const [added, modified, deleted, again] = await stream.events(4);
    expect([added, modified, deleted, again].map((event) => event?.type)).toEqual(['ADDED', 'MODIFIED', 'DELETED', 'ADDED']);
    expect(modified?.object.metadata).toMatchObject({ annotations: { step: '2' }, resourceVersion: changed.metadata.resourceVersion });
    expect(deleted?.object.metadata).toMatchObject({ annotations: { step: '2' } });
    expect(Number(deleted?.object.metadata.resourceVersion)).toBeGreaterThan(Number(changed.metadata.resourceVersion));
  });

  it('reports objects that enter and leave a selection', async () => {
    const stream = await openWatch(`${path}?watch=1&resourceVersion=${await latest(path)}&labelSelector=in%3Dyes`);
    const [into, out] = [{ metadata: { labels: { in: 'yes' } } }, { metadata: { labels: { in: 'no' } } }];
    await createObject(path, 'mover', out);
    await admin.patch(`${path}/mover`, { metadata: { annotations: { step: '1' } } });
    await admin.patch(`${path}/mover`, into);
    await admin.patch(`${path}/mover`, { metadata: { annotations: { step: '2' } } });
    const left = await admin.patch(`${path}/mover`, { metadata: { labels: { in: 'no' }, annotations: { step: '3' } } });
    await admin.delete(`${path}/mover`);
    await createObject(path, 'stayer', into);
    const [entered, changed, gone, last] = await stream.events(4);
    expect([entered, changed, gone, last].map((event) => event && brief(event))).toEqual([
      'ADDED mover',
      'MODIFIED mover',
      'DELETED mover',
      'ADDED stayer',
    ]);
    // The object before the change, at the revision of the change.
    const { resourceVersion } = left.metadata;
    expect(gone?.object.metadata).toMatchObject({ labels: { in: 'yes' }, annotations: { step: '2' }, resourceVersion });
  });

  it('reports the deletion of an object with finalizers', async () => {
    const stream = await openWatch(`${path}?watch=1&resourceVersion=${await latest(path)}&fieldSelector=metadata.name%3Dheld`);
    await createObject(path, 'held', { metadata: { finalizers: ['watches.test/a', 'watches.test/b'] } });
    await admin.delete(`${path}/held`);
    await admin.patch(`${path}/held`, { metadata: { finalizers: ['watches.test/b'] } });
    await admin.patch(`${path}/held`, { metadata: { finalizers: null } });
    const events = await stream.events(4);
    expect(events.map(({ type, object }) => [type, object.metadata.finalizers, object.metadata.deletionTimestamp !== undefined])).toEqual([
      ['ADDED', ['watches.test/a', 'watches.test/b'], false],
      ['MODIFIED', ['watches.test/a', 'watches.test/b'], true],
      ['MODIFIED', ['watches.test/b'], true],
      ['DELETED', ['watches.test/b'], true],
    ]);
  });

  it('sends each watcher the events of its selection and namespace', async () => {
    const from = await latest(path);
    const everywhere = path.replace('namespaces/watches/', '');
    const watches = await Promise.all([
      openWatch(`${path}?watch=1&resourceVersion=${from}&labelSelector=many`),
      openWatch(`${path}?watch=1&resourceVersion=${from}&labelSelector=many%3D2`),
      openWatch(`${everywhere}?watch=1&resourceVersion=${from}&labelSelector=many`),
    ]);
    await createObject(path, 'many-1', { metadata: { labels: { many: '1' } } });
    await createObject(path.replace('namespaces/watches/', 'namespaces/watches-other/'), 'many-x', { metadata: { labels: { many: 'x' } } });
    await createObject(path, 'many-2', { metadata: { labels: { many: '2' } } });
    const seen = await Promise.all(watches.map(async (stream, index) => (await stream.events([2, 1, 3][index] ?? 0)).map(brief)));
    expect(seen).toEqual([['ADDED many-1', 'ADDED many-2'], ['ADDED many-2'], ['ADDED many-1', 'ADDED many-x', 'ADDED many-2']]);
  });

  it('resumes a watch from the revision of any event', async () => {
    const from = await latest(path);
    for (const name of ['r-1', 'r-2', 'r-3']) await createObject(path, name);
    const whole = await (await openWatch(`${path}?watch=1&resourceVersion=${from}`)).events(3);
    const after = whole[0]?.object.metadata.resourceVersion;
    const rest = await (await openWatch(`${path}?watch=1&resourceVersion=${after}`)).events(2);
    expect(rest).toEqual(whole.slice(1));
  });

  it('sends lines of compact JSON to every user agent', async () => {
    const stream = await openWatch(`${path}?watch=1&pretty=true&labelSelector=set%3Dbeginning&limit=1`, { 'user-agent': 'curl/8' });
    const [line] = await stream.lines(1);
    expect(line).toMatch(/^{"type":"ADDED","object":{"(kind|apiVersion)":"/);
  });
});

describe('watch of a custom resource', () => {
  it('reports objects that enter and leave the selection by a selectable field', async () => {
    const stream = await openWatch(`${WIDGETS}?watch=1&resourceVersion=${await latest(WIDGETS)}&fieldSelector=spec.color%3Dred`);
    await createObject(WIDGETS, 'painted', { spec: { color: 'blue' } });
    await admin.patch(`${WIDGETS}/painted`, { spec: { color: 'red' } });
    await admin.patch(`${WIDGETS}/painted/status`, { status: { dry: true } });
    await admin.patch(`${WIDGETS}/painted`, { spec: { color: 'green' } });
    const events = await stream.events(3);
    expect(events.map(({ type, object }) => [type, object['spec'], object['status']])).toEqual([
      ['ADDED', { color: 'red' }, undefined],
      ['MODIFIED', { color: 'red' }, { dry: true }],
      ['DELETED', { color: 'red' }, { dry: true }],
    ]);
  });
});

describe('bookmark', () => {
  const NS = '/namespaces/watches';
  it.each([
    ['/api/v1/namespaces', '"kind":"Namespace","apiVersion":"v1",METADATA,"spec":{},"status":{}'],
    [`/api/v1${NS}/secrets`, '"kind":"Secret","apiVersion":"v1",METADATA'],
    [MAPS, '"kind":"ConfigMap","apiVersion":"v1",METADATA'],
    [`/api/v1${NS}/serviceaccounts`, '"kind":"ServiceAccount","apiVersion":"v1",METADATA'],
    [
      `/api/v1${NS}/events`,
      '"kind":"Event","apiVersion":"v1",METADATA,"involvedObject":{},"source":{},"firstTimestamp":null,"lastTimestamp":null,"eventTime":null,"reportingComponent":"","reportingInstance":""',
    ],
    [`/apis/coordination.k8s.io/v1${NS}/leases`, '"kind":"Lease","apiVersion":"coordination.k8s.io/v1",METADATA,"spec":{}'],
    [`/apis/rbac.authorization.k8s.io/v1${NS}/roles`, '"kind":"Role","apiVersion":"rbac.authorization.k8s.io/v1",METADATA,"rules":null'],
    [
      '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
      '"kind":"ClusterRoleBinding","apiVersion":"rbac.authorization.k8s.io/v1",METADATA,"roleRef":{"apiGroup":"","kind":"","name":""}',
    ],
    [
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      '"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1",METADATA,"spec":{"group":"","names":{"plural":"","kind":""},"scope":"","versions":null},"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":null}',
    ],
  ])('contains the zero values of the kind at %s', async (path, expected) => {
    const stream = await openWatch(`${path}?${WATCH_LIST}&labelSelector=none`);
    const [line = ''] = await stream.lines(1);
    const metadata = '"metadata":{"resourceVersion":"RV","annotations":{"k8s.io/initial-events-end":"true"}}';
    expect(line.replace(/(?<="resourceVersion":")\d+/, 'RV')).toBe(
      `{"type":"BOOKMARK","object":{${expected.replace('METADATA', metadata)}}}`,
    );
  });

  it('contains only type and metadata for a custom resource', async () => {
    const [line = ''] = await (await openWatch(`${WIDGETS}?${WATCH_LIST}&labelSelector=none`)).lines(1);
    expect(line.replace(/(?<="resourceVersion":")\d+/, 'RV')).toBe(
      '{"type":"BOOKMARK","object":{"apiVersion":"watches.test/v1","kind":"Widget","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"RV"}}}',
    );
  });

  it('reports the last revision in a bookmark before a watch ends', async () => {
    const from = await latest(MAPS);
    const query = `watch=1&resourceVersion=${from}&allowWatchBookmarks=1&labelSelector=none`;
    const [long, short] = await Promise.all([
      openWatch(`${MAPS}?${query}&timeoutSeconds=5`),
      openWatch(`${MAPS}?${query}&timeoutSeconds=1`),
    ]);
    await createObject(MAPS, 'unseen');
    const now = await latest(MAPS);
    const [bookmark] = await long.events(1);
    expect(bookmark).toMatchObject({ type: 'BOOKMARK', object: { kind: 'ConfigMap', apiVersion: 'v1' } });
    expect(Object.keys(bookmark?.object.metadata ?? {})).toEqual(['resourceVersion']);
    expect(Number(bookmark?.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(now));
    expect(await short.all()).toEqual([]);
  });

  it('sends no bookmarks without allowWatchBookmarks', async () => {
    const stream = await openWatch(`${MAPS}?watch=1&labelSelector=none&timeoutSeconds=3`);
    await createObject(MAPS, 'unrequested');
    expect(await stream.all()).toEqual([]);
  });
});

describe('representation of watch events', () => {
  const TABLE = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
  const PARTIAL = { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' };

  it.each(COLLECTIONS)('contains the columns only in the first Table of %s', async (_, path) => {
    const stream = await openWatch(`${path}?watch=1&labelSelector=set%3Dbeginning`, TABLE);
    const events = await stream.events(2);
    expect(events.map(({ object }) => [object.kind, object.apiVersion, Array.isArray(object['columnDefinitions'])])).toEqual([
      ['Table', 'meta.k8s.io/v1', true],
      ['Table', 'meta.k8s.io/v1', false],
    ]);
    const [second] = events.slice(1) as unknown as [
      { object: { columnDefinitions: unknown; rows: { cells: unknown[]; object: unknown }[] } },
    ];
    expect(second.object.columnDefinitions).toBeNull();
    expect(second.object.rows).toMatchObject([{ object: { kind: 'PartialObjectMetadata', metadata: { name: 'w-b' } } }]);
    expect(second.object.rows[0]?.cells[0]).toBe('w-b');
  });

  it('contains bookmarks as rows without a name', async () => {
    const stream = await openWatch(`/apis/rbac.authorization.k8s.io/v1/clusterroles?${WATCH_LIST}&labelSelector=none`, TABLE);
    const [bookmark] = await stream.events(1);
    expect(bookmark?.object['rows']).toMatchObject([
      { cells: ['', '0001-01-01T00:00:00Z'], object: { metadata: { annotations: INITIAL_END } } },
    ]);
  });

  it.each(COLLECTIONS)('contains only metadata of %s as PartialObjectMetadata', async (_, path) => {
    const [line = ''] = await (await openWatch(`${path}?watch=1&labelSelector=set%3Dbeginning`, PARTIAL)).lines(1);
    expect(line).toMatch(
      /^{"type":"ADDED","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io\/v1","metadata":{"name":"w-a",/,
    );
    expect(Object.keys((JSON.parse(line) as WatchEvent).object)).toEqual(['kind', 'apiVersion', 'metadata']);
  });

  it('ends the watch at an event that the requested representation cannot contain', async () => {
    const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
    const stream = await openWatch(`${MAPS}?watch=1&labelSelector=set%3Dbeginning`, { accept });
    expect([stream.status, await stream.all()]).toEqual([200, []]);
  });

  it('rejects YAML with a response in YAML', async () => {
    const { status, headers, body } = await admin.get(`${MAPS}?watch=1`, { accept: 'application/yaml' });
    expect([status, headers['content-type']]).toEqual([406, 'application/yaml']);
    expect(body).toContain(`message: 'only the following media types are accepted: application/json;stream=watch,
  application/vnd.kubernetes.protobuf;stream=watch'`);
    const json = await admin.get(`${MAPS}?watch=1&timeoutSeconds=1&labelSelector=none`, { accept: 'application/json;stream=watch' });
    expect([json.status, json.headers['content-type']]).toEqual([200, 'application/json']);
  });

  it('rejects an unknown includeObject', async () => {
    const response = await admin.get(`${MAPS}?watch=1&includeObject=Nothing`, TABLE);
    const cause = `includeObject: Invalid value: "Nothing": must be 'Metadata', 'Object', 'None', or empty`;
    expect([response.status, messageOf(response)]).toEqual([400, `Unable to convert to Table as requested: ${cause}`]);
  });
});
