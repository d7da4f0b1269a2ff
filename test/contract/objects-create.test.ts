// POST: metadata of new objects, generated names, dry runs and validation.

import { describe, expect, it } from '@jest/globals';
import { CONFIG_MAPS, configMap, fieldManagers, GADGETS, GROUP, NAMESPACE, prepareWorld, WIDGETS, widget } from './objects.ts';
import { outcome, sendRaw } from './requests.ts';
import { contractServer } from './server.ts';

const server = contractServer();
const objects = prepareWorld(server);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const NOW = /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

describe('new object', () => {
  it('contains the metadata that the server sets instead of forged metadata', async () => {
    const forged = {
      uid: '00000000-0000-4000-8000-000000000000',
      creationTimestamp: '2001-01-01T00:00:00Z',
      deletionTimestamp: '2001-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 5,
      selfLink: '/x',
    };
    const { status, body } = await objects.post(CONFIG_MAPS, configMap('system', { data: { a: '1' } }, forged));
    expect(status).toBe(201);
    expect(body).toEqual({
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: {
        name: 'system',
        namespace: NAMESPACE,
        uid: expect.stringMatching(UUID),
        resourceVersion: expect.stringMatching(/^\d+$/),
        creationTimestamp: expect.stringMatching(NOW),
        managedFields: expect.anything(),
      },
      data: { a: '1' },
    });
    expect(body.metadata.uid).not.toBe(forged.uid);
    expect(body.metadata['creationTimestamp']).not.toBe(forged.creationTimestamp);
    expect(fieldManagers(body)).toEqual(['unknown Update {"f:data":{".":{},"f:a":{}}}']);
  });

  it('starts with generation 1 for kinds with a generation', async () => {
    const generation = 7;
    const [counted, kept] = [
      await objects.create(WIDGETS, widget('generation', {}, { generation })),
      await objects.create(CONFIG_MAPS, configMap('generation', {}, { generation })),
    ];
    expect([counted.metadata.generation, kept.metadata.generation]).toEqual([1, 7]);
  });

  it('omits the status of kinds with a status subresource', async () => {
    const rest = { spec: { size: 1 }, status: { ready: true } };
    expect(await objects.create(WIDGETS, widget('status', rest))).not.toHaveProperty('status');
    const gadget = await objects.create(GADGETS, { ...widget('status', rest), kind: 'Gadget' });
    expect(gadget['status']).toEqual({ ready: true });
  });

  it('accepts an object of a built-in kind without kind and apiVersion', async () => {
    const { status, body } = await objects.post(CONFIG_MAPS, { metadata: { name: 'untyped' } });
    expect([status, body.kind, body.apiVersion]).toEqual([201, 'ConfigMap', 'v1']);
  });

  it('records the fieldManager of the query, or the user agent, as manager', async () => {
    const data = { data: { a: '1' } };
    const named = await objects.create(`${CONFIG_MAPS}?fieldManager=me`, configMap('by-query', data));
    const headers = {
      authorization: `Bearer ${server.tokens.admin}`,
      'content-type': 'application/json',
      'user-agent': 'tool/1.2 (linux)',
    };
    const { body } = await server.request('POST', CONFIG_MAPS, { headers, body: JSON.stringify(configMap('by-agent', data)) });
    expect(fieldManagers(named)).toEqual(['me Update {"f:data":{".":{},"f:a":{}}}']);
    expect(fieldManagers(JSON.parse(body))).toEqual(['tool Update {"f:data":{".":{},"f:a":{}}}']);
  });

  it.each([
    ['UTF-8', Buffer.from('zöl\u00a0✓/1'), 'zöl✓'],
    ['invalid UTF-8', Buffer.from([0x61, 0xff, 0xe2, 0x9c, 0x62]), 'a\ufffd\ufffd\ufffdb'],
    ['more than 128 bytes', Buffer.from('✓'.repeat(50)), '✓'.repeat(42)],
  ])('records the printable characters of the user agent as manager: %s', async (_, userAgent, manager) => {
    const body = configMap('agent', { data: { a: '1' } });
    const headers = { 'user-agent': userAgent.toString('latin1') };
    const response = await sendRaw(server, `${CONFIG_MAPS}?dryRun=All`, { headers, body });
    expect(fieldManagers(JSON.parse(response.body))).toEqual([`${manager} Update {"f:data":{".":{},"f:a":{}}}`]);
  });

  it('warns about an unknown field with non-ASCII characters', async () => {
    const { status, warnings } = await objects.post(`${CONFIG_MAPS}?dryRun=All`, configMap('unknown', { größe: '€' }));
    expect([status, warnings]).toEqual([201, ['unknown field "größe"']]);
  });

  it.each([
    ['none', undefined],
    ['zero', '0'],
    ['an empty string', ''],
    ['an invalid number', 'abc'],
  ])('accepts a new object with the resourceVersion: %s', async (_, resourceVersion) => {
    const name = `version-${resourceVersion === undefined ? 'none' : resourceVersion || 'empty'}`;
    const { status, body } = await objects.post(CONFIG_MAPS, configMap(name, {}, { resourceVersion }));
    expect([status, Number(body.metadata.resourceVersion) > 0]).toEqual([201, true]);
  });

  it('rejects a new object with a valid resourceVersion', async () => {
    const rejection = '500: resourceVersion should not be set on objects to be created';
    expect(outcome(await objects.post(CONFIG_MAPS, configMap('versioned', {}, { resourceVersion: '5' })))).toBe(rejection);
    await objects.create(CONFIG_MAPS, configMap('versioned'));
    expect(outcome(await objects.post(CONFIG_MAPS, configMap('versioned', {}, { resourceVersion: '5' })))).toBe(rejection);
  });

  it('rejects the name of an existing object', async () => {
    await objects.create(CONFIG_MAPS, configMap('once'));
    const { body, status } = await objects.post(CONFIG_MAPS, configMap('once'));
    expect([status, body]).toEqual([
      409,
      {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: 'configmaps "once" already exists',
        reason: 'AlreadyExists',
        details: { name: 'once', kind: 'configmaps' },
        code: 409,
      },
    ]);
    await objects.create(WIDGETS, widget('once'));
    expect(outcome(await objects.post(WIDGETS, widget('once')))).toBe(`409 AlreadyExists: widgets.${GROUP} "once" already exists`);
    // Validation precedes the check of the name.
    expect(outcome(await objects.post(WIDGETS, widget('once', { spec: { size: 101 } })))).toMatch(/^422 Invalid: /);
  });
});

describe('generateName', () => {
  it('appends five random characters to generateName', async () => {
    const { metadata } = await objects.create(CONFIG_MAPS, { metadata: { generateName: 'made-' } });
    expect(metadata.name).toMatch(/^made-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    expect(metadata['generateName']).toBe('made-');
  });

  it('truncates generated names to 63 characters', async () => {
    const { metadata } = await objects.create(CONFIG_MAPS, { metadata: { generateName: 'a'.repeat(70) } });
    expect([metadata.name.length, metadata['generateName']]).toEqual([63, 'a'.repeat(70)]);
  });

  it('ignores generateName in an object with a name', async () => {
    const { metadata } = await objects.create(CONFIG_MAPS, configMap('given', {}, { generateName: 'made-' }));
    expect([metadata.name, metadata['generateName']]).toEqual(['given', 'made-']);
  });

  it('reports an error for an invalid generateName and for the name generated from it', async () => {
    const { status, body } = await objects.post(WIDGETS, { apiVersion: `${GROUP}/v1`, kind: 'Widget', metadata: { generateName: 'Bad_' } });
    expect(status).toBe(422);
    expect(body['details']).toMatchObject({ causes: [{ field: 'metadata.generateName' }, { field: 'metadata.name' }] });
  });
});

describe('dry run of a create', () => {
  it.each([
    ['a ConfigMap', CONFIG_MAPS, configMap('dry', { data: { a: '1' } })],
    ['a custom resource', WIDGETS, widget('dry', { spec: { size: 1 } })],
  ])('returns %s in a dry run without storing it', async (_, path, object) => {
    const { status, body } = await objects.post(`${path}?dryRun=All&fieldManager=m`, object);
    expect([status, body.metadata.name, body.metadata.resourceVersion]).toEqual([201, 'dry', undefined]);
    expect(body.metadata.uid).toMatch(UUID);
    expect(fieldManagers(body)).toHaveLength(1);
    expect((await objects.get(`${path}/dry`)).status).toBe(404);
  });

  it('rejects existing and invalid objects in a dry run', async () => {
    await objects.create(CONFIG_MAPS, configMap('dry-twice'));
    expect(outcome(await objects.post(`${CONFIG_MAPS}?dryRun=All`, configMap('dry-twice')))).toBe(
      '409 AlreadyExists: configmaps "dry-twice" already exists',
    );
    expect(outcome(await objects.post(`${CONFIG_MAPS}?dryRun=All`, configMap('Dry')))).toMatch(
      /^422 Invalid: ConfigMap "Dry" is invalid: /,
    );
  });
});

describe('URL of a create', () => {
  const MISMATCH = 'the namespace of the provided object does not match the namespace sent on the request';

  it.each([
    ['another namespace', CONFIG_MAPS, configMap('x', {}, { namespace: 'other' }), `400 BadRequest: ${MISMATCH}`],
    ['another namespace', WIDGETS, widget('x', {}, { namespace: 'other' }), `400 BadRequest: ${MISMATCH}`],
    ['a missing namespace', '/api/v1/namespaces/absent/configmaps', configMap('x'), '404 NotFound: namespaces "absent" not found'],
    [
      'a missing namespace in a dry run',
      '/api/v1/namespaces/absent/configmaps?dryRun=All',
      configMap('x'),
      '404 NotFound: namespaces "absent" not found',
    ],
    [
      'no namespace',
      '/api/v1/configmaps',
      configMap('x'),
      '405 MethodNotAllowed: the server does not allow this method on the requested resource',
    ],
    [
      'the URL of one object',
      `${CONFIG_MAPS}/x`,
      configMap('x'),
      '405 MethodNotAllowed: the server does not allow this method on the requested resource',
    ],
  ])('rejects a create with %s (%#)', async (_, path, object, expected) => {
    expect(outcome(await objects.post(path, object))).toBe(expected);
  });

  it('ignores the namespace of cluster-scoped objects', async () => {
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'spaceless', namespace: 'other' } };
    const { status, body } = await objects.post('/apis/rbac.authorization.k8s.io/v1/clusterroles', role);
    expect([status, body.metadata['namespace']]).toEqual([201, undefined]);
  });
});

describe('type of a created object', () => {
  const mismatch = (kind: string) => `400 BadRequest: ${kind} in version "v1" cannot be handled as a ConfigMap: `;
  const expects = 'the object provided is unrecognized (must be of type Widget)';

  it.each([
    [
      CONFIG_MAPS,
      { ...configMap('x'), kind: 'Secret' },
      `${mismatch('Secret')}converting (v1.Secret) to (core.ConfigMap): unknown conversion`,
    ],
    [
      CONFIG_MAPS,
      configMap('x', { data: { a: 1 } }),
      `${mismatch('ConfigMap')}json: cannot unmarshal number into Go struct field ConfigMap.data of type string`,
    ],
    [
      CONFIG_MAPS,
      configMap('x', {}, { labels: 'x' }),
      `${mismatch('ConfigMap')}json: cannot unmarshal string into Go struct field ObjectMeta.metadata.labels of type map[string]string`,
    ],
    [
      WIDGETS,
      { ...widget('x'), kind: 'Gadget' },
      `422 Invalid: Gadget.${GROUP} "x" is invalid: kind: Invalid value: "Gadget": must be Widget`,
    ],
    [
      WIDGETS,
      { ...widget('x'), apiVersion: `${GROUP}/v2` },
      `400 BadRequest: the API version in the data (${GROUP}/v2) does not match the expected API version (${GROUP}/v1)`,
    ],
    [
      WIDGETS,
      { kind: 'Widget', metadata: { name: 'x' } },
      `400 BadRequest: the API version in the data () does not match the expected API version (${GROUP}/v1)`,
    ],
    [
      WIDGETS,
      '{"metadata":{"name":"x"}}',
      `400 BadRequest: ${expects}: Object 'Kind' is missing in '{"metadata":{"name":"x"}}' ({"metadata":{"name":"x"}})`,
    ],
    [
      WIDGETS,
      '[]',
      `400 BadRequest: ${expects}: couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" } (5b5d)`,
    ],
    [WIDGETS, '', `400 BadRequest: ${expects}: couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)`],
    [
      WIDGETS,
      widget('x', { spec: 'no' }),
      `422 Invalid: Widget.${GROUP} "x" is invalid: spec: Invalid value: "string": spec in body must be of type object: "string"`,
    ],
  ])('rejects an object of another kind or version, or with a field of the wrong type (%#)', async (path, object, expected) => {
    expect(outcome(await objects.post(path, object))).toBe(expected);
  });
});

describe('metadata of a created object', () => {
  const CORE = 'name is neither a standard finalizer name nor is it fully qualified';
  const owner = (name: string, rest: object = {}) => ({ apiVersion: 'v1', kind: 'X', name, uid: name, ...rest });
  const QUALIFIED =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

  it.each([
    ['label keys', { labels: { 'bad key': 'x' } }, `metadata.labels: Invalid value: "bad key": ${QUALIFIED}`],
    ['annotation keys', { annotations: { 'bad key': 'x' } }, `metadata.annotations: Invalid value: "bad key": ${QUALIFIED}`],
    [
      'sizes of annotations',
      { annotations: { a: 'x'.repeat(262_145) } },
      'metadata.annotations: Too long: may not be more than 262144 bytes',
    ],
    ['finalizers', { finalizers: ['x'] }, `metadata.finalizers[0]: Invalid value: "x": ${CORE}`],
    [
      'UIDs of owners',
      { ownerReferences: [owner('a', { uid: '' })] },
      'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ],
    [
      'API versions of owners',
      { ownerReferences: [owner('a', { apiVersion: '' })] },
      'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
    ],
  ])('rejects invalid %s', async (_, metadata, error) => {
    const response = await objects.post(CONFIG_MAPS, configMap('checked', {}, metadata));
    expect(outcome(response)).toBe(`422 Invalid: ConfigMap "checked" is invalid: ${error}`);
  });
});

describe('options of writes', () => {
  it.each([
    ['dryRun=all', 'dryRun: Unsupported value: ["all"]: supported values: "All"'],
    ['dryRun=', 'dryRun: Unsupported value: [""]: supported values: "All"'],
    ['fieldValidation=strict', 'fieldValidation: Unsupported value: "strict": supported values: "", "Ignore", "Strict", "Warn"'],
    [`fieldManager=${'x'.repeat(129)}`, 'fieldManager: Too long: may not be more than 128 bytes'],
    ['fieldManager=a%0Ab', 'fieldManager: Invalid value: "a\\nb": invalid character U+000A (at position 1)'],
    [
      'fieldValidation=x&dryRun=y',
      '[dryRun: Unsupported value: ["y"]: supported values: "All", fieldValidation: Unsupported value: "x": supported values: "", "Ignore", "Strict", "Warn"]',
    ],
  ])('rejects %s', async (query, errors) => {
    const expected = (kind: string) => `422 Invalid: ${kind}.meta.k8s.io "" is invalid: ${errors}`;
    expect(outcome(await objects.post(`${CONFIG_MAPS}?${query}`, configMap('x')))).toBe(expected('CreateOptions'));
    expect(outcome(await objects.put(`${WIDGETS}/x?${query}`, widget('x')))).toBe(expected('UpdateOptions'));
    expect(outcome(await objects.merge(`${CONFIG_MAPS}/x?${query}`, {}))).toBe(expected('PatchOptions'));
  });

  it('rejects an invalid timeout', async () => {
    const rejection = '400 BadRequest: invalid timeout specified in the request URL - time: invalid duration "soon"';
    expect(outcome(await objects.post(`${CONFIG_MAPS}?timeout=soon`, configMap('x')))).toBe(rejection);
    expect(outcome(await objects.get(`${CONFIG_MAPS}?timeout=soon`))).toBe(rejection);
    expect((await objects.post(`${CONFIG_MAPS}?timeout=5s&dryRun=All`, configMap('x'))).status).toBe(201);
  });
});
