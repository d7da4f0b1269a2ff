// PUT: preconditions, changed and preserved fields, and the status subresource.

import { describe, expect, it } from '@jest/globals';
import { CONFIG_MAPS, configMap, fieldManagers, GADGETS, GROUP, NAMESPACE, prepareWorld, WIDGETS, widget } from './objects.ts';
import { type Body, outcome } from './requests.ts';
import { contractServer } from './server.ts';

const objects = prepareWorld(contractServer());
const FOREIGN_UID = '00000000-0000-4000-8000-000000000000';
const leases = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;

function withMetadata(object: Body, metadata: object): object {
  return { ...object, metadata: { ...object.metadata, ...metadata } };
}

const modified = (resource: string, name: string) =>
  `409 Conflict: Operation cannot be fulfilled on ${resource} "${name}": the object has been modified; please apply your changes to the latest version and try again`;

describe('update', () => {
  it('replaces the whole object', async () => {
    const created = await objects.create(
      CONFIG_MAPS,
      configMap('whole', { data: { a: '1' } }, { labels: { x: 'y' }, annotations: { x: 'y' } }),
    );
    const { status, body } = await objects.put(`${CONFIG_MAPS}/whole`, configMap('whole', { data: { b: '2' } }));
    expect([status, body['data'], body.metadata['labels'], body.metadata['annotations']]).toEqual([200, { b: '2' }, undefined, undefined]);
    expect([body.metadata.uid, body.metadata['creationTimestamp']]).toEqual([created.metadata.uid, created.metadata['creationTimestamp']]);
    expect((await objects.get(`${CONFIG_MAPS}/whole`)).body).toEqual(body);
  });

  it('rejects an outdated resourceVersion', async () => {
    const created = await objects.create(WIDGETS, widget('stale', { spec: { size: 1 } }));
    expect((await objects.put(`${WIDGETS}/stale`, { ...created, spec: { size: 2 } })).status).toBe(200);
    const late = await objects.put(`${WIDGETS}/stale`, { ...created, spec: { size: 3 } });
    expect(outcome(late)).toBe(modified(`widgets.${GROUP}`, 'stale'));
    expect(late.body['details']).toEqual({ name: 'stale', group: GROUP, kind: 'widgets' });
    expect((await objects.get(`${WIDGETS}/stale`)).body['spec']).toEqual({ size: 2, color: 'red' });
  });

  it('accepts an update without resourceVersion for ConfigMaps', async () => {
    await objects.create(CONFIG_MAPS, configMap('blind'));
    for (const resourceVersion of [undefined, '', '0']) {
      const next = configMap('blind', { data: { a: `${resourceVersion}` } }, { resourceVersion });
      expect((await objects.put(`${CONFIG_MAPS}/blind`, next)).status).toBe(200);
    }
    expect(outcome(await objects.put(`${CONFIG_MAPS}/blind`, configMap('blind', {}, { resourceVersion: '1' })))).toBe(
      modified('configmaps', 'blind'),
    );
    expect(outcome(await objects.put(`${CONFIG_MAPS}/blind`, configMap('blind', {}, { resourceVersion: 'abc' })))).toBe(
      '500: strconv.ParseUint: parsing "abc": invalid syntax',
    );
  });

  it.each([
    ['custom resources', WIDGETS, widget('unversioned'), `widgets.${GROUP}`],
    [
      'leases',
      leases,
      { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'unversioned' } },
      'leases.coordination.k8s.io',
    ],
  ])('rejects an update without a resourceVersion for %s', async (_, path, object, resource) => {
    await objects.create(path, object);
    const response = await objects.put(`${path}/unversioned`, object);
    expect(outcome(response)).toBe(
      `422 Invalid: ${resource} "unversioned" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`,
    );
  });

  it('keeps the resourceVersion if nothing changes', async () => {
    const created = await objects.create(CONFIG_MAPS, configMap('same', { data: { a: '1' } }));
    const again = await objects.put(`${CONFIG_MAPS}/same?fieldManager=another`, configMap('same', { data: { a: '1' } }));
    expect(again.body).toEqual(created);
    const gadget = await objects.create(WIDGETS, widget('same', { spec: { size: 1 } }));
    expect((await objects.put(`${WIDGETS}/same`, gadget)).body).toEqual(gadget);
  });

  it('increments the generation for changes outside metadata and status', async () => {
    const created = await objects.create(WIDGETS, widget('counted', { spec: { size: 1 } }));
    const { body: labeled } = await objects.put(`${WIDGETS}/counted`, withMetadata(created, { labels: { a: 'b' }, generation: 9 }));
    const { body: resized } = await objects.put(`${WIDGETS}/counted`, { ...labeled, spec: { size: 2 } });
    const { body: done } = await objects.put(`${WIDGETS}/counted/status`, { ...resized, status: { ready: true } });
    expect([created, labeled, resized, done].map(({ metadata }) => metadata.generation)).toEqual([1, 1, 2, 2]);
  });

  it('increments the generation for the status of kinds without a status subresource', async () => {
    const created = await objects.create(GADGETS, { ...widget('counted', { status: { ready: true } }), kind: 'Gadget' });
    const { body } = await objects.put(`${GADGETS}/counted`, { ...created, status: { ready: false } });
    expect([body.metadata.generation, body['status']]).toEqual([2, { ready: false }]);
    expect((await objects.get(`${GADGETS}/counted/status`)).status).toBe(404);
  });

  it('takes ownership of changed fields', async () => {
    await objects.create(`${CONFIG_MAPS}?fieldManager=one`, configMap('owners', { data: { a: '1', b: '1' } }));
    const { body } = await objects.put(`${CONFIG_MAPS}/owners?fieldManager=two`, configMap('owners', { data: { a: '2', b: '1' } }));
    expect(fieldManagers(body).toSorted()).toEqual(['one Update {"f:data":{".":{},"f:b":{}}}', 'two Update {"f:data":{"f:a":{}}}']);
  });

  it('returns the result of a dry run without storing it', async () => {
    const created = await objects.create(CONFIG_MAPS, configMap('dry'));
    const { status, body } = await objects.put(`${CONFIG_MAPS}/dry?dryRun=All`, configMap('dry', { data: { a: '1' } }));
    expect([status, body['data'], body.metadata.resourceVersion]).toEqual([200, { a: '1' }, created.metadata.resourceVersion]);
    expect((await objects.get(`${CONFIG_MAPS}/dry`)).body).toEqual(created);
  });
});

describe('update of a missing object', () => {
  it.each([
    ['ConfigMap', CONFIG_MAPS, 'v1', 'configmaps "absent" not found'],
    ['Widget', WIDGETS, `${GROUP}/v1`, `widgets.${GROUP} "absent" not found`],
    ['Secret', `/api/v1/namespaces/${NAMESPACE}/secrets`, 'v1', 'secrets "absent" not found'],
    ['ServiceAccount', `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`, 'v1', 'serviceaccounts "absent" not found'],
    ['Namespace', '/api/v1/namespaces', 'v1', 'namespaces "absent" not found'],
  ])('does not create a %s', async (kind, path, apiVersion, message) => {
    const object = { apiVersion, kind, metadata: { name: 'absent', resourceVersion: '5' } };
    expect(outcome(await objects.put(`${path}/absent`, object))).toBe(`404 NotFound: ${message}`);
  });
});

describe('validation of an update', () => {
  it.each([
    ['another name', configMap('other'), '400 BadRequest: the name of the object (other) does not match the name on the URL (placed)'],
    [
      'a missing name',
      configMap(''),
      '400 BadRequest: the name of the object (placed based on URL) was undeterminable: name must be provided',
    ],
    [
      'another namespace',
      configMap('placed', {}, { namespace: 'other' }),
      '400 BadRequest: the namespace of the provided object does not match the namespace sent on the request',
    ],
    [
      'another kind',
      { ...configMap('placed'), kind: 'Secret' },
      '400 BadRequest: Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion',
    ],
  ])('rejects an object with %s', async (_, object, expected) => {
    await objects.post(CONFIG_MAPS, configMap('placed'));
    expect(outcome(await objects.put(`${CONFIG_MAPS}/placed`, object))).toBe(expected);
  });

  it('rejects PUT of a collection', async () => {
    expect(outcome(await objects.put(CONFIG_MAPS, configMap('x')))).toBe(
      '405 MethodNotAllowed: the server does not allow this method on the requested resource',
    );
  });

  it('rejects an object with a different UID', async () => {
    const { metadata } = await objects.create(WIDGETS, widget('identity'));
    const next = widget('identity', {}, { uid: FOREIGN_UID, resourceVersion: metadata.resourceVersion });
    expect(outcome(await objects.put(`${WIDGETS}/identity`, next))).toMatch(
      new RegExp(`^409 Conflict: .*Precondition failed: UID in precondition: ${FOREIGN_UID}, UID in object meta: ${metadata.uid}$`),
    );
  });

  it('keeps metadata that only the server writes', async () => {
    const created = await objects.create(CONFIG_MAPS, configMap('kept'));
    const forged = { creationTimestamp: '2001-01-01T00:00:00Z', selfLink: '/x', uid: '' };
    const { status, body } = await objects.put(`${CONFIG_MAPS}/kept`, configMap('kept', {}, forged));
    expect([status, body]).toEqual([200, created]);
  });
});

describe('status subresource', () => {
  it('writes only the status, not the spec and metadata', async () => {
    const created = await objects.create(WIDGETS, widget('apart', { spec: { size: 1 } }));
    const metadata = { ...created.metadata, labels: { a: 'b' }, annotations: { a: 'b' }, finalizers: ['a.b/c'] };
    const { status, body } = await objects.put(`${WIDGETS}/apart/status?fieldManager=ctl`, {
      ...created,
      metadata,
      spec: { size: 50 },
      status: { ready: true },
    });
    expect([status, body['spec'], body['status'], body.metadata['labels'], body.metadata['finalizers']]).toEqual([
      200,
      { size: 1, color: 'red' },
      { ready: true },
      undefined,
      undefined,
    ]);
    expect(fieldManagers(body).find((owner) => owner.startsWith('ctl'))).toBe('ctl Update status {"f:status":{".":{},"f:ready":{}}}');
    expect((await objects.get(`${WIDGETS}/apart/status`)).body).toEqual(body);
  });

  it('ignores the status in updates of the object', async () => {
    const created = await objects.create(WIDGETS, widget('alone', { spec: { size: 1 } }));
    const { body: ready } = await objects.put(`${WIDGETS}/alone/status`, { ...created, status: { ready: true } });
    const { body } = await objects.put(`${WIDGETS}/alone`, { ...ready, spec: { size: 2 }, status: { ready: false } });
    expect([body['spec'], body['status']]).toEqual([{ size: 2, color: 'red' }, { ready: true }]);
  });

  it('rejects a status update with an invalid field or an old resourceVersion, or of an object that does not exist', async () => {
    const created = await objects.create(WIDGETS, widget('checked'));
    expect(outcome(await objects.put(`${WIDGETS}/checked/status`, { ...created, status: { ready: 'x' } }))).toBe(
      `422 Invalid: Widget.${GROUP} "checked" is invalid: status.ready: Invalid value: "string": ready in body must be of type boolean: "string"`,
    );
    await objects.put(`${WIDGETS}/checked/status`, { ...created, status: { ready: true } });
    expect(outcome(await objects.put(`${WIDGETS}/checked/status`, { ...created, status: { ready: false } }))).toBe(
      modified(`widgets.${GROUP}`, 'checked'),
    );
    expect(outcome(await objects.put(`${WIDGETS}/absent/status`, widget('absent', {}, { resourceVersion: '1' })))).toBe(
      `404 NotFound: widgets.${GROUP} "absent" not found`,
    );
  });
});
