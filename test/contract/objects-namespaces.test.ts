// Namespaces: what a new one gets, how one ends, and what may still happen in one that does.

import { describe, expect, it } from '@jest/globals';
import { configMap, objectsOf, outcome, owners } from './objects.ts';
import { contractServer } from './server.ts';

const objects = objectsOf(contractServer());
const NAMESPACES = '/api/v1/namespaces';

function namespace(name: string, rest: object = {}, metadata: object = {}): object {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...metadata }, ...rest };
}

describe('a namespace', () => {
  it('is active, carries its name as a label, and waits for its content when it is deleted', async () => {
    const sent = namespace('fresh', { status: { phase: 'Terminating' } }, { labels: { 'kubernetes.io/metadata.name': 'other', a: 'b' } });
    const body = await objects.make(NAMESPACES, sent);
    expect([body['spec'], body['status'], body.metadata['labels']]).toEqual([
      { finalizers: ['kubernetes'] },
      { phase: 'Active' },
      { 'kubernetes.io/metadata.name': 'fresh', a: 'b' },
    ]);
    expect(owners(body)).toEqual(['unknown Update {"f:metadata":{"f:labels":{".":{},"f:a":{},"f:kubernetes.io/metadata.name":{}}}}']);
  });

  it('keeps the finalizers that its creator adds', async () => {
    const body = await objects.make(NAMESPACES, namespace('finalized', { spec: { finalizers: ['a.b/c'] } }));
    expect(body['spec']).toEqual({ finalizers: ['a.b/c', 'kubernetes'] });
  });

  it('loses neither its label nor its finalizers by an update', async () => {
    const made = await objects.make(NAMESPACES, namespace('stable'));
    for (const write of [
      () => objects.put(`${NAMESPACES}/stable`, namespace('stable', { spec: { finalizers: [] }, status: { phase: 'Terminating' } })),
      () => objects.merge(`${NAMESPACES}/stable`, { spec: null, metadata: { labels: null } }),
    ]) {
      expect((await write()).body).toEqual(made);
    }
  });

  it('has a phase that follows from its deletion', async () => {
    await objects.make(NAMESPACES, namespace('phase'));
    expect(outcome(await objects.merge(`${NAMESPACES}/phase/status`, { status: { phase: 'Terminating' } }))).toBe(
      '422 Invalid: Namespace "phase" is invalid: status.Phase: Invalid value: "Terminating": may only be \'Active\' if `deletionTimestamp` is empty',
    );
    const { body } = await objects.merge(`${NAMESPACES}/phase/status`, {
      status: { conditions: [{ type: 'X', status: 'True' }] },
      spec: { finalizers: [] },
    });
    expect([body['status'], body['spec']]).toEqual([
      { phase: 'Active', conditions: [{ type: 'X', status: 'True', lastTransitionTime: null }] },
      { finalizers: ['kubernetes'] },
    ]);
  });

  it.each(['a.b', 'A', '-a', 'a'.repeat(64)])('may not be called %s', async (name) => {
    expect(outcome(await objects.post(NAMESPACES, namespace(name)))).toMatch(
      /^422 Invalid: Namespace ".*" is invalid: \[?metadata\.name: Invalid value: /,
    );
  });

  it.each(['default', 'kube-system', 'kube-public'])('stays if it is called %s', async (name) => {
    const refusal = `403 Forbidden: namespaces "${name}" is forbidden: this namespace may not be deleted`;
    expect(outcome(await objects.delete(`${NAMESPACES}/${name}`))).toBe(refusal);
    expect(outcome(await objects.delete(`${NAMESPACES}/${name}?dryRun=All`))).toBe(refusal);
  });
});

describe('the finalize subresource', () => {
  it('writes the finalizers and has owners of its own', async () => {
    await objects.make(NAMESPACES, namespace('finalize'));
    const { status, body } = await objects.put(
      `${NAMESPACES}/finalize/finalize?fieldManager=f`,
      namespace('finalize', { spec: { finalizers: ['a.b/c'] } }),
    );
    expect([status, body['spec'], body['status']]).toEqual([200, { finalizers: ['a.b/c'] }, { phase: 'Active' }]);
    expect(owners(body)).toContain('f Update finalize {"f:spec":{"f:finalizers":{}}}');
  });

  it.each([
    ['another name', namespace('other'), '400 BadRequest: the name of the object (other) does not match the name on the URL (judged)'],
    [
      'an old version',
      namespace('judged', {}, { resourceVersion: '1' }),
      '409 Conflict: Operation cannot be fulfilled on namespaces "judged": the object has been modified; please apply your changes to the latest version and try again',
    ],
    [
      'a finalizer without a domain',
      namespace('judged', { spec: { finalizers: ['kubernetes', 'bad'] } }),
      '422 Invalid: Namespace "judged" is invalid: spec.finalizers[1]: Invalid value: "bad": name is neither a standard finalizer name nor is it fully qualified',
    ],
  ])('refuses %s', async (_, object, expected) => {
    await objects.post(NAMESPACES, namespace('judged'));
    expect(outcome(await objects.put(`${NAMESPACES}/judged/finalize`, object))).toBe(expected);
  });

  it('is only written, and only by PUT', async () => {
    const noMethod = '405 MethodNotAllowed: the server does not allow this method on the requested resource';
    expect(outcome(await objects.get(`${NAMESPACES}/default/finalize`))).toBe(noMethod);
    expect(outcome(await objects.merge(`${NAMESPACES}/default/finalize`, {}))).toBe(noMethod);
    expect(outcome(await objects.put(`${NAMESPACES}/absent/finalize`, namespace('absent')))).toBe(
      '404 NotFound: namespaces "absent" not found',
    );
  });
});

describe('a namespace that ends', () => {
  const HELD = { spec: { finalizers: ['hold.on/please'] } };

  it('waits for every finalizer, lets nobody in, and goes with the last', async () => {
    await objects.make(NAMESPACES, namespace('ending'));
    await objects.put(`${NAMESPACES}/ending/finalize`, namespace('ending', HELD));
    const { status, body } = await objects.delete(`${NAMESPACES}/ending`);
    expect([status, body.kind, body['status'], body['spec']]).toEqual([200, 'Namespace', { phase: 'Terminating' }, HELD.spec]);
    expect(body.metadata['deletionTimestamp']).toMatch(/^20\d\d-/);
    expect((await objects.delete(`${NAMESPACES}/ending`)).status).toBe(200);
    const refused = await objects.post(`${NAMESPACES}/ending/configmaps`, configMap('late'));
    expect([outcome(refused), refused.body['details']]).toEqual([
      '403 Forbidden: configmaps "late" is forbidden: unable to create new content in namespace ending because it is being terminated',
      {
        name: 'late',
        kind: 'configmaps',
        causes: [{ reason: 'NamespaceTerminating', message: 'namespace ending is being terminated', field: 'metadata.namespace' }],
      },
    ]);
    expect(outcome(await objects.apply(`${NAMESPACES}/ending/configmaps/late?fieldManager=m`, configMap('late')))).toBe(outcome(refused));
    expect(outcome(await objects.post(NAMESPACES, namespace('ending')))).toBe(
      '409 AlreadyExists: object is being deleted: namespaces "ending" already exists',
    );
    expect((await objects.put(`${NAMESPACES}/ending/finalize`, namespace('ending'))).status).toBe(200);
    expect((await objects.get(`${NAMESPACES}/ending`)).status).toBe(404);
  });

  it('is only shown by a dry run', async () => {
    const made = await objects.make(NAMESPACES, namespace('dry'));
    expect((await objects.delete(`${NAMESPACES}/dry?dryRun=All`)).body['status']).toEqual({ phase: 'Terminating' });
    expect((await objects.get(`${NAMESPACES}/dry`)).body).toEqual(made);
  });

  it('is the one that is meant', async () => {
    const { metadata } = await objects.make(NAMESPACES, namespace('meant'));
    const answer = await objects.delete(`${NAMESPACES}/meant`, { preconditions: { uid: 'x' } });
    expect([answer.status, answer.body.reason, (await objects.get(`${NAMESPACES}/meant`)).body.metadata.uid]).toEqual([
      409,
      'Conflict',
      metadata.uid,
    ]);
  });
});
