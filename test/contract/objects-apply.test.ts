// Server-side apply: ownership of fields, conflicts, and validation of the applied object.

import { describe, expect, it } from '@jest/globals';
import { CONFIG_MAPS, configMap, fieldManagers, GROUP, NAMESPACE, prepareWorld, WIDGETS, widget } from './objects.ts';
import { type KubeResponse, outcome } from './requests.ts';
import { contractServer } from './server.ts';

const objects = prepareWorld(contractServer());

/** Applies a ConfigMap, or the object at a path if `name` is a path. */
function apply(name: string, manager: string, object: unknown, query = ''): Promise<KubeResponse> {
  const path = name.startsWith('/') ? name : `${CONFIG_MAPS}/${name}`;
  return objects.apply(`${path}?fieldManager=${manager}${query}`, object);
}

describe('server-side apply', () => {
  it('creates a missing object', async () => {
    const { status, body } = await apply('created', 'one', configMap('created', { data: { a: '1' } }));
    expect([status, body['data'], fieldManagers(body)]).toEqual([201, { a: '1' }, ['one Apply {"f:data":{"f:a":{}}}']]);
  });

  it('changes nothing when an apply is repeated, not even timestamps', async () => {
    const object = widget('again', { spec: { size: 1, tags: ['a'] } });
    const { body: first } = await apply(`${WIDGETS}/again`, 'one', object);
    const { status, body } = await apply(`${WIDGETS}/again`, 'one', object);
    expect([status, body]).toEqual([200, first]);
  });

  it('removes omitted fields that no other manager owns', async () => {
    await apply('less', 'one', configMap('less', { data: { mine: '1', shared: '1' } }));
    await apply('less', 'two', configMap('less', { data: { shared: '1', other: '1' } }));
    const { body } = await apply('less', 'one', configMap('less', { data: {} }));
    expect([body['data'], fieldManagers(body).toSorted()]).toEqual([
      { shared: '1', other: '1' },
      ['one Apply {"f:data":{}}', 'two Apply {"f:data":{"f:other":{},"f:shared":{}}}'],
    ]);
  });

  it('restores the default of an omitted field', async () => {
    await apply(`${WIDGETS}/default`, 'one', widget('default', { spec: { color: 'blue', size: 1 } }));
    const { body } = await apply(`${WIDGETS}/default`, 'one', widget('default', { spec: { size: 1 } }));
    expect(body['spec']).toEqual({ color: 'red', size: 1 });
  });

  it('shares ownership of a field between managers that apply the same value', async () => {
    await apply('shared', 'one', configMap('shared', { data: { a: '1' } }));
    const { status, body } = await apply('shared', 'two', configMap('shared', { data: { a: '1' } }));
    expect([status, fieldManagers(body).toSorted()]).toEqual([200, ['one Apply {"f:data":{"f:a":{}}}', 'two Apply {"f:data":{"f:a":{}}}']]);
  });

  it('merges lists according to their schema', async () => {
    const spec = { tags: ['x'], parts: [{ name: 'p', count: 1 }], plain: ['a'], atom: { a: '1' } };
    await apply(`${WIDGETS}/lists`, 'one', widget('lists', { spec }));
    const other = { tags: ['y'], parts: [{ name: 'q', count: 2 }] };
    const { status, body } = await apply(`${WIDGETS}/lists`, 'two', widget('lists', { spec: other }));
    expect([status, body['spec']]).toEqual([200, { ...spec, color: 'red', tags: ['x', 'y'], parts: [...spec.parts, ...other.parts] }]);
    expect(fieldManagers(body)).toContain(
      'two Apply {"f:spec":{"f:parts":{"k:{\\"name\\":\\"q\\"}":{".":{},"f:count":{},"f:name":{}}},"f:tags":{"v:\\"y\\"":{}}}}',
    );
    const whole = await apply(`${WIDGETS}/lists`, 'two', widget('lists', { spec: { plain: ['b'], atom: { b: '1' } } }));
    expect(outcome(whole)).toBe('409 Conflict: Apply failed with 2 conflicts: conflicts with "one":\n- .spec.atom\n- .spec.plain');
  });

  it('merges finalizers and owner references of several managers', async () => {
    const owner = { apiVersion: 'v1', kind: 'X', name: 'x', uid: 'x' };
    await apply('meta', 'one', configMap('meta', {}, { finalizers: ['a.b/c'], ownerReferences: [owner] }));
    await apply('meta', 'two', configMap('meta', {}, { finalizers: ['d.e/f'], ownerReferences: [{ ...owner, uid: 'y' }] }));
    const { body } = await apply('meta', 'one', configMap('meta'));
    expect([body.metadata['finalizers'], body.metadata['ownerReferences']]).toEqual([['d.e/f'], [{ ...owner, uid: 'y' }]]);
    await objects.merge(`${CONFIG_MAPS}/meta`, { metadata: { finalizers: null } });
  });

  it('stores no object on a dry run', async () => {
    expect((await apply('dry', 'one', configMap('dry'), '&dryRun=All')).status).toBe(201);
    expect((await objects.get(`${CONFIG_MAPS}/dry`)).status).toBe(404);
  });

  it('accepts a body in YAML', async () => {
    const { status, body } = await apply(
      'yaml',
      'one',
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\ndata:\n  a: |\n    x\n    y\n',
    );
    expect([status, body['data']]).toEqual([201, { a: 'x\ny\n' }]);
  });
});

describe('apply conflict', () => {
  it('names the manager and the field of a conflict, and accepts the apply with force', async () => {
    await apply('conflict', 'one', configMap('conflict', { data: { a: '1' } }));
    const rejected = await apply('conflict', 'two', configMap('conflict', { data: { a: '2' } }));
    expect(rejected.body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Apply failed with 1 conflict: conflict with "one": .data.a',
      reason: 'Conflict',
      details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.a' }] },
      code: 409,
    });
    const { body } = await apply('conflict', 'two', configMap('conflict', { data: { a: '2' } }), '&force=true');
    expect([body['data'], fieldManagers(body)]).toEqual([{ a: '2' }, ['two Apply {"f:data":{"f:a":{}}}']]);
  });

  it('names the API version and the subresource of a conflicting update', async () => {
    await apply(`${WIDGETS}/updated`, 'one', widget('updated', { spec: { size: 1 } }));
    await objects.merge(`${WIDGETS}/updated?fieldManager=edit`, { spec: { size: 2 } });
    await objects.merge(`${WIDGETS}/updated/status?fieldManager=ctl`, { status: { count: 1 } });
    expect(outcome(await apply(`${WIDGETS}/updated`, 'one', widget('updated', { spec: { size: 3 } })))).toBe(
      `409 Conflict: Apply failed with 1 conflict: conflict with "edit" using ${GROUP}/v1: .spec.size`,
    );
    expect(outcome(await apply(`${WIDGETS}/updated/status`, 'one', widget('updated', { status: { count: 2 } })))).toBe(
      `409 Conflict: Apply failed with 1 conflict: conflict with "ctl" with subresource "status" using ${GROUP}/v1: .status.count`,
    );
  });

  it('lets kubectl take the fields of its client-side apply without a conflict', async () => {
    const last = JSON.stringify(configMap('kubectl', { data: { a: '1' } }));
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': last };
    await objects.create(
      `${CONFIG_MAPS}?fieldManager=kubectl-client-side-apply`,
      configMap('kubectl', { data: { a: '1' } }, { annotations }),
    );
    expect(outcome(await apply('kubectl', 'other', configMap('kubectl', { data: { a: '2' } })))).toMatch(/^409 Conflict/);
    expect((await apply('kubectl', 'kubectl', configMap('kubectl', { data: { a: '2' } }))).status).toBe(200);
  });
});

describe('server-side apply of the status', () => {
  it('records a separate manager for the status of an object', async () => {
    await apply(`${WIDGETS}/status`, 'one', widget('status', { spec: { size: 1 }, status: { ready: true } }));
    const { body } = await apply(
      `${WIDGETS}/status/status`,
      'one',
      widget('status', { status: { ready: true }, spec: { size: 9 } }, { labels: { a: 'b' } }),
    );
    expect([body['spec'], body['status'], body.metadata['labels']]).toEqual([{ size: 1, color: 'red' }, { ready: true }, undefined]);
    expect(fieldManagers(body).toSorted()).toEqual(
      ['one Apply status {"f:status":{"f:ready":{}}}', 'one Apply {"f:spec":{"f:size":{}}}'].toSorted(),
    );
    const { body: emptied } = await apply(`${WIDGETS}/status/status`, 'one', widget('status'));
    expect([emptied['status'], fieldManagers(emptied)]).toEqual([undefined, ['one Apply {"f:spec":{"f:size":{}}}']]);
  });

  it('rejects the status of a missing object', async () => {
    expect(outcome(await apply(`${WIDGETS}/absent/status`, 'one', widget('absent')))).toBe(
      `404 NotFound: widgets.${GROUP} "absent" not found`,
    );
  });
});

describe('validation of an apply', () => {
  const UID = '00000000-0000-4000-8000-000000000000';

  it.each([
    [
      'no manager',
      '',
      configMap('checked'),
      '422 Invalid: PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    ],
    [
      'another name',
      'm',
      configMap('other'),
      '400 BadRequest: the name of the object (other) does not match the name on the URL (checked)',
    ],
    [
      'another namespace',
      'm',
      configMap('checked', {}, { namespace: 'other' }),
      '400 BadRequest: the namespace of the provided object does not match the namespace sent on the request',
    ],
    ['another kind', 'm', { ...configMap('checked'), kind: 'Secret' }, '400 BadRequest: invalid object type: /v1, Kind=Secret'],
    ['another version', 'm', { ...configMap('checked'), apiVersion: 'v2' }, '400 BadRequest: invalid object type: /v2, Kind=ConfigMap'],
    ['no kind', 'm', { metadata: { name: 'checked' } }, '400 BadRequest: invalid object type: /, Kind='],
    ['managedFields', 'm', configMap('checked', {}, { managedFields: [] }), '400 BadRequest: metadata.managedFields must be nil'],
    [
      'an old version',
      'm',
      configMap('checked', {}, { resourceVersion: '1' }),
      '409 Conflict: Operation cannot be fulfilled on configmaps "checked": the object has been modified; please apply your changes to the latest version and try again',
    ],
    [
      'another UID',
      'm',
      configMap('checked', {}, { uid: UID }),
      `422 Invalid: ConfigMap "checked" is invalid: metadata.uid: Invalid value: "${UID}": field is immutable`,
    ],
    [
      'a wrong type',
      'm',
      configMap('checked', { data: { a: 1 } }),
      '500: failed to create typed patch object (/checked; /v1, Kind=ConfigMap): .data.a: expected string, got &value.valueUnstructured{Value:1}',
    ],
    [
      'a list',
      'm',
      '- a\n- b',
      '400 BadRequest: error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}',
    ],
  ])('rejects an apply with %s', async (_, manager, object, expected) => {
    await objects.post(CONFIG_MAPS, configMap('checked', { data: { a: '1' } }));
    expect(outcome(await apply('checked', manager, object))).toBe(expected);
  });

  it('rejects an apply without a name for a new object, and accepts it for an existing object', async () => {
    await objects.create(CONFIG_MAPS, configMap('nameless'));
    const nameless = { apiVersion: 'v1', kind: 'ConfigMap', metadata: {} };
    expect((await apply('nameless', 'm', nameless)).status).toBe(200);
    expect(outcome(await apply('nameless-too', 'm', nameless))).toBe(
      '400 BadRequest: the name of the object (nameless-too based on URL) was undeterminable: name must be provided',
    );
  });

  it('rejects a UID for a new object', async () => {
    expect(outcome(await apply('meant', 'm', configMap('meant', {}, { uid: UID })))).toBe(
      `409 Conflict: Operation cannot be fulfilled on configmaps "meant": uid mismatch: the provided object specified uid ${UID}, and no existing object was found`,
    );
    expect((await apply('meant', 'm', configMap('meant', {}, { resourceVersion: '1' }))).status).toBe(201);
  });

  it('rejects null where the schema does not allow it', async () => {
    const applySpec = (spec: object) => apply(`${WIDGETS}/nulls`, 'm', widget('nulls', { spec }));
    expect(outcome(await applySpec({ size: 1, tags: null }))).toBe(
      `422 Invalid: Widget.${GROUP} "nulls" is invalid: spec.tags: Invalid value: "null": spec.tags in body must be of type array: "null"`,
    );
    expect((await applySpec({ color: null })).body['spec']).toEqual({ color: 'red' });
  });

  it('rejects a removal that would leave null in a field of another manager', async () => {
    const applySpec = (manager: string, spec: object) => apply(`${WIDGETS}/left`, manager, widget('left', { spec }));
    await applySpec('one', { slots: { a: {} } });
    await applySpec('two', { slots: { a: { part: 'x' } } });
    expect(outcome(await applySpec('two', {}))).toBe(
      `422 Invalid: Widget.${GROUP} "left" is invalid: spec.slots.a: Invalid value: "null": spec.slots.a in body must be of type object: "null"`,
    );
  });

  it('rejects an apply whose result is invalid', async () => {
    expect(outcome(await apply(`${WIDGETS}/invalid`, 'm', widget('invalid', { spec: { size: 101 } })))).toBe(
      `422 Invalid: Widget.${GROUP} "invalid" is invalid: spec.size: Invalid value: 101: spec.size in body should be less than or equal to 100`,
    );
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'invalid' }, data: { a: '***' } };
    expect(outcome(await apply(`/api/v1/namespaces/${NAMESPACE}/secrets/invalid`, 'm', secret))).toBe(
      '500: failed to convert new object (/invalid; /v1, Kind=Secret) to proper version: unable to convert unstructured object to /v1, Kind=Secret: error decoding from json: illegal base64 data at input byte 0',
    );
    expect(outcome(await apply('/api/v1/namespaces/absent/configmaps/x', 'm', configMap('x')))).toBe(
      '404 NotFound: namespaces "absent" not found',
    );
  });
});
