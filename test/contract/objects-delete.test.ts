// DELETE of objects and collections, and finalizers.

import { describe, expect, it } from '@jest/globals';
import { CONFIG_MAPS, configMap, GROUP, NAMESPACE, prepareWorld, WIDGETS, widget } from './objects.ts';
import { outcome } from './requests.ts';
import { contractServer } from './server.ts';
import { watch } from './watch-stream.ts';

const server = contractServer();
const objects = prepareWorld(server);
const HELD = { finalizers: ['a.b/c'] };

/** Returns the first `count` events of an object during `act`, each as type, deletion and finalizers. */
async function collectEvents(path: string, name: string, act: () => Promise<unknown>, count: number): Promise<readonly string[]> {
  const { body } = await objects.get(path);
  const selection = `fieldSelector=metadata.name%3D${name}&resourceVersion=${body.metadata.resourceVersion}`;
  const stream = await watch(server, `${path}?watch=true&${selection}`);
  try {
    await act();
    return (await stream.events(count)).map(({ type, object: { metadata } }) =>
      [type, ...(metadata.deletionTimestamp === undefined ? [] : ['deleting']), ...(metadata.finalizers ?? [])].join(' '),
    );
  } finally {
    stream.close();
  }
}

describe('deletion', () => {
  it.each([
    ['ConfigMap', CONFIG_MAPS, 'v1', { kind: 'configmaps' }],
    ['Widget', WIDGETS, `${GROUP}/v1`, { group: GROUP, kind: 'widgets' }],
    [
      'Lease',
      `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`,
      'coordination.k8s.io/v1',
      { group: 'coordination.k8s.io', kind: 'leases' },
    ],
    ['Secret', `/api/v1/namespaces/${NAMESPACE}/secrets`, 'v1', { kind: 'secrets' }],
  ])('returns a Status with the UID of a deleted %s', async (kind, path, apiVersion, details) => {
    const { metadata } = await objects.create(path, { apiVersion, kind, metadata: { name: 'gone' } });
    const { status, body } = await objects.delete(`${path}/gone`);
    expect([status, body]).toEqual([
      200,
      { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details: { name: 'gone', ...details, uid: metadata.uid } },
    ]);
    expect(outcome(await objects.delete(`${path}/gone`))).toMatch(/^404 NotFound: .* "gone" not found$/);
  });

  it('returns a deleted ServiceAccount', async () => {
    const path = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`;
    const { metadata } = await objects.create(path, { metadata: { name: 'gone' } });
    const { status, body } = await objects.delete(`${path}/gone`);
    expect([status, body.kind, body.metadata.uid, body.metadata['deletionTimestamp']]).toEqual([
      200,
      'ServiceAccount',
      metadata.uid,
      undefined,
    ]);
  });

  it('deletes nothing in a dry run', async () => {
    const created = await objects.create(CONFIG_MAPS, configMap('dry'));
    expect(outcome(await objects.delete(`${CONFIG_MAPS}/dry?dryRun=All`))).toBe('200');
    expect(outcome(await objects.delete(`${CONFIG_MAPS}/dry`, { dryRun: ['All'] }))).toBe('200');
    expect((await objects.get(`${CONFIG_MAPS}/dry`)).body).toEqual(created);
  });

  it('deletes an object only if its UID and resourceVersion match the preconditions', async () => {
    const { metadata } = await objects.create(CONFIG_MAPS, configMap('meant'));
    const { uid, resourceVersion } = metadata;
    const conflict = (mismatch: string) => `409 Conflict: Operation cannot be fulfilled on ConfigMap "meant": ${mismatch}`;
    expect(outcome(await objects.delete(`${CONFIG_MAPS}/meant`, { preconditions: { uid: 'x' } }))).toBe(
      conflict(
        `the UID in the precondition (x) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
      ),
    );
    expect(outcome(await objects.delete(`${CONFIG_MAPS}/meant`, { preconditions: { uid, resourceVersion: '1' } }))).toBe(
      conflict(
        `the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`,
      ),
    );
    expect((await objects.delete(`${CONFIG_MAPS}/meant`, { preconditions: { uid, resourceVersion } })).status).toBe(200);
  });

  it.each(['uid=00000000-0000-0000-0000-000000000000', 'resourceVersion=1'])('keeps an object that %s does not match', async (query) => {
    const name = `kept-${query.length}`;
    await objects.create(CONFIG_MAPS, configMap(name));
    expect((await objects.delete(`${CONFIG_MAPS}/${name}?${query}`)).status).toBe(409);
    expect((await objects.get(`${CONFIG_MAPS}/${name}`)).status).toBe(200);
  });

  it('keeps an object if orphanDependents contradicts the propagation policy', async () => {
    await objects.create(CONFIG_MAPS, configMap('orphaned'));
    const options = { orphanDependents: true, propagationPolicy: 'Background' };
    expect((await objects.delete(`${CONFIG_MAPS}/orphaned`, options)).status).toBe(422);
    expect((await objects.get(`${CONFIG_MAPS}/orphaned`)).status).toBe(200);
  });

  it('rejects an unknown value of dryRun', async () => {
    await objects.post(CONFIG_MAPS, configMap('options'));
    expect(outcome(await objects.delete(`${CONFIG_MAPS}/options?dryRun=x`))).toBe(
      '422 Invalid: DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["x"]: supported values: "All"',
    );
  });

  it('ignores options of the query if the request has a body', async () => {
    await objects.create(CONFIG_MAPS, configMap('body'));
    expect((await objects.delete(`${CONFIG_MAPS}/body?propagationPolicy=Sideways`, { dryRun: ['All'] })).status).toBe(200);
    expect((await objects.delete(`${CONFIG_MAPS}/body?dryRun=All`, {})).status).toBe(200);
    expect((await objects.get(`${CONFIG_MAPS}/body`)).status).toBe(404);
  });
});

describe('object with finalizers', () => {
  it('keeps an object with a deletionTimestamp until its last finalizer is removed', async () => {
    await objects.create(WIDGETS, widget('held', { spec: { size: 1 } }, { finalizers: ['a.b/c', 'd.e/f'] }));
    const events = await collectEvents(
      WIDGETS,
      'held',
      async () => {
        const { status, body } = await objects.delete(`${WIDGETS}/held`);
        expect([status, body.kind, body.metadata.generation, body.metadata['deletionGracePeriodSeconds']]).toEqual([200, 'Widget', 2, 0]);
        expect(body.metadata['deletionTimestamp']).toMatch(/^20\d\d-/);
        expect((await objects.delete(`${WIDGETS}/held`)).body).toEqual(body);
        await objects.merge(`${WIDGETS}/held`, { metadata: { finalizers: ['d.e/f'] } });
        const last = await objects.merge(`${WIDGETS}/held`, { metadata: { finalizers: null } });
        expect([last.status, last.body.metadata['finalizers']]).toEqual([200, undefined]);
        expect((await objects.get(`${WIDGETS}/held`)).status).toBe(404);
      },
      3,
    );
    expect(events).toEqual(['MODIFIED deleting a.b/c d.e/f', 'MODIFIED deleting d.e/f', 'DELETED deleting d.e/f']);
  });

  it('accepts changes during deletion, except new finalizers and the removal of deletionTimestamp', async () => {
    await objects.create(CONFIG_MAPS, configMap('late', {}, HELD));
    const { body: marked } = await objects.delete(`${CONFIG_MAPS}/late`);
    expect(outcome(await objects.merge(`${CONFIG_MAPS}/late`, { metadata: { finalizers: ['a.b/c', 'x.y/z', 'd.e/f'] } }))).toBe(
      '422 Invalid: ConfigMap "late" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"d.e/f", "x.y/z"}',
    );
    const { body } = await objects.merge(`${CONFIG_MAPS}/late`, { data: { a: '1' }, metadata: { deletionTimestamp: null } });
    expect([body['data'], body.metadata['deletionTimestamp']]).toEqual([{ a: '1' }, marked.metadata['deletionTimestamp']]);
    expect(outcome(await objects.post(CONFIG_MAPS, configMap('late')))).toBe(
      '409 AlreadyExists: object is being deleted: configmaps "late" already exists',
    );
    expect((await objects.put(`${CONFIG_MAPS}/late`, configMap('late'))).status).toBe(200);
    expect((await objects.post(CONFIG_MAPS, configMap('late'))).status).toBe(201);
  });

  it('keeps an object after a dry run that removes its last finalizer', async () => {
    await objects.create(CONFIG_MAPS, configMap('dry-held', {}, HELD));
    await objects.delete(`${CONFIG_MAPS}/dry-held`);
    expect((await objects.merge(`${CONFIG_MAPS}/dry-held?dryRun=All`, { metadata: { finalizers: null } })).status).toBe(200);
    expect((await objects.get(`${CONFIG_MAPS}/dry-held`)).status).toBe(200);
  });
});

describe('deletion of a collection', () => {
  it('deletes the selected objects, and returns their last state', async () => {
    for (const name of ['many-a', 'many-b', 'many-c']) await objects.create(CONFIG_MAPS, configMap(name, {}, { labels: { many: name } }));
    await objects.create(CONFIG_MAPS, configMap('many-held', {}, { labels: { many: 'many-a' }, ...HELD }));
    const { body: before } = await objects.get(`${CONFIG_MAPS}?labelSelector=many`);
    const dry = await objects.delete(`${CONFIG_MAPS}?labelSelector=many%3Dmany-a&dryRun=All`);
    expect(namesIn(dry.body)).toEqual(['many-a', 'many-held']);
    const { status, body } = await objects.delete(`${CONFIG_MAPS}?labelSelector=many%3Dmany-a`);
    expect([status, body.kind, namesIn(body), body.metadata.resourceVersion]).toEqual([
      200,
      'ConfigMapList',
      ['many-a', 'many-held'],
      before.metadata.resourceVersion,
    ]);
    expect((await objects.delete(`${CONFIG_MAPS}?fieldSelector=metadata.name%3Dmany-b`)).status).toBe(200);
    const { body: after } = await objects.get(`${CONFIG_MAPS}?labelSelector=many`);
    expect(namesIn(after)).toEqual(['many-c', 'many-held']);
  });

  it('ignores objects of the requested revision that no longer exist', async () => {
    for (const name of ['lost-a', 'lost-b']) await objects.create(CONFIG_MAPS, configMap(name, {}, { labels: { lost: 'yes' } }));
    const { body: before } = await objects.get(`${CONFIG_MAPS}?labelSelector=lost`);
    await objects.delete(`${CONFIG_MAPS}/lost-a`);
    const version = `resourceVersion=${before.metadata.resourceVersion}&resourceVersionMatch=Exact`;
    const { status, body } = await objects.delete(`${CONFIG_MAPS}?labelSelector=lost&${version}`);
    expect([status, namesIn(body)]).toEqual([200, ['lost-a', 'lost-b']]);
    expect(namesIn((await objects.get(`${CONFIG_MAPS}?labelSelector=lost`)).body)).toEqual([]);
  });

  it.each([
    [`${CONFIG_MAPS}?labelSelector=%3D%3D`, /^400 BadRequest: found '==', expected: !, identifier, or 'end of string'$/],
    [
      `${CONFIG_MAPS}?fieldSelector=a.b%3Dc`,
      /^400 BadRequest: "a\.b" is not a known field selector: only "metadata\.name", "metadata\.namespace"$/,
    ],
    [`${CONFIG_MAPS}?propagationPolicy=Sideways`, /^422 Invalid: DeleteOptions\.meta\.k8s\.io "" is invalid: propagationPolicy: /],
    ['/api/v1/configmaps', /^405 MethodNotAllowed: the server does not allow this method on the requested resource$/],
    ['/api/v1/namespaces', /^405 MethodNotAllowed: the server does not allow this method on the requested resource$/],
  ])('rejects DELETE %s', async (path, expected) => {
    expect(outcome(await objects.delete(path))).toMatch(expected);
  });
});

function namesIn(list: object): readonly string[] {
  const { items } = list as { readonly items: readonly { readonly metadata: { readonly name: string } }[] };
  return items.map(({ metadata }) => metadata.name);
}
