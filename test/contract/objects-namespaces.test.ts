// Namespaces: defaults, updates and deletion.

import { describe, expect, it } from '@jest/globals';
import { configMap, createObjectClient, fieldManagers } from './objects.ts';
import { outcome } from './requests.ts';
import { contractServer } from './server.ts';

const objects = createObjectClient(contractServer());
const NAMESPACES = '/api/v1/namespaces';

function namespace(name: string, rest: object = {}, metadata: object = {}): object {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...metadata }, ...rest };
}

describe('namespace', () => {
  it('starts as Active with a name label and the kubernetes finalizer', async () => {
    const sent = namespace('fresh', { status: { phase: 'Terminating' } }, { labels: { 'kubernetes.io/metadata.name': 'other', a: 'b' } });
    const body = await objects.create(NAMESPACES, sent);
    expect([body['spec'], body['status'], body.metadata['labels']]).toEqual([
      { finalizers: ['kubernetes'] },
      { phase: 'Active' },
      { 'kubernetes.io/metadata.name': 'fresh', a: 'b' },
    ]);
    expect(fieldManagers(body)).toEqual([
      'unknown Update {"f:metadata":{"f:labels":{".":{},"f:a":{},"f:kubernetes.io/metadata.name":{}}}}',
    ]);
  });

  it('keeps finalizers in the spec of a create', async () => {
    const body = await objects.create(NAMESPACES, namespace('finalized', { spec: { finalizers: ['a.b/c'] } }));
    expect(body['spec']).toEqual({ finalizers: ['a.b/c', 'kubernetes'] });
  });

  it('keeps the name label and the finalizers of a namespace on update', async () => {
    const created = await objects.create(NAMESPACES, namespace('stable'));
    for (const write of [
      () => objects.put(`${NAMESPACES}/stable`, namespace('stable', { spec: { finalizers: [] }, status: { phase: 'Terminating' } })),
      () => objects.merge(`${NAMESPACES}/stable`, { spec: null, metadata: { labels: null } }),
    ]) {
      expect((await write()).body).toEqual(created);
    }
  });

  it('keeps the spec of a namespace when a client writes its status', async () => {
    await objects.create(NAMESPACES, namespace('phase'));
    const { body } = await objects.merge(`${NAMESPACES}/phase/status`, {
      status: { conditions: [{ type: 'X', status: 'True' }] },
      spec: { finalizers: [] },
    });
    expect([body['status'], body['spec']]).toEqual([
      { phase: 'Active', conditions: [{ type: 'X', status: 'True', lastTransitionTime: null }] },
      { finalizers: ['kubernetes'] },
    ]);
  });

  it.each(['a.b', 'A', '-a', 'a'.repeat(64)])('rejects the name %s', async (name) => {
    expect(outcome(await objects.post(NAMESPACES, namespace(name)))).toMatch(
      /^422 Invalid: Namespace ".*" is invalid: \[?metadata\.name: Invalid value: /,
    );
  });

  it.each(['default', 'kube-system', 'kube-public'])('rejects the deletion of %s', async (name) => {
    const rejection = `403 Forbidden: namespaces "${name}" is forbidden: this namespace may not be deleted`;
    expect(outcome(await objects.delete(`${NAMESPACES}/${name}`))).toBe(rejection);
    expect(outcome(await objects.delete(`${NAMESPACES}/${name}?dryRun=All`))).toBe(rejection);
  });
});

describe('deletion of a namespace', () => {
  it('waits for the contents of a terminating namespace, and rejects new contents', async () => {
    await objects.create(NAMESPACES, namespace('ending'));
    await objects.create(`${NAMESPACES}/ending/configmaps`, configMap('held', {}, { finalizers: ['hold.on/please'] }));
    const { status, body } = await objects.delete(`${NAMESPACES}/ending`);
    expect([status, body.kind, body['status'], body['spec']]).toEqual([
      200,
      'Namespace',
      { phase: 'Terminating' },
      { finalizers: ['kubernetes'] },
    ]);
    expect(body.metadata['deletionTimestamp']).toMatch(/^20\d\d-/);
    expect((await objects.delete(`${NAMESPACES}/ending`)).status).toBe(200);
    const rejected = await objects.post(`${NAMESPACES}/ending/configmaps`, configMap('late'));
    expect([outcome(rejected), rejected.body['details']]).toEqual([
      '403 Forbidden: configmaps "late" is forbidden: unable to create new content in namespace ending because it is being terminated',
      {
        name: 'late',
        kind: 'configmaps',
        causes: [{ reason: 'NamespaceTerminating', message: 'namespace ending is being terminated', field: 'metadata.namespace' }],
      },
    ]);
    expect(outcome(await objects.apply(`${NAMESPACES}/ending/configmaps/late?fieldManager=m`, configMap('late')))).toBe(outcome(rejected));
    expect(outcome(await objects.post(NAMESPACES, namespace('ending')))).toBe(
      '409 AlreadyExists: object is being deleted: namespaces "ending" already exists',
    );
  });

  it('keeps a namespace unchanged in a dry run of its deletion', async () => {
    const created = await objects.create(NAMESPACES, namespace('dry'));
    expect((await objects.delete(`${NAMESPACES}/dry?dryRun=All`)).body['status']).toEqual({ phase: 'Terminating' });
    expect((await objects.get(`${NAMESPACES}/dry`)).body).toEqual(created);
  });

  it('deletes a namespace only if its UID matches the precondition', async () => {
    const { metadata } = await objects.create(NAMESPACES, namespace('meant'));
    const response = await objects.delete(`${NAMESPACES}/meant`, { preconditions: { uid: 'x' } });
    expect([response.status, response.body.reason, (await objects.get(`${NAMESPACES}/meant`)).body.metadata.uid]).toEqual([
      409,
      'Conflict',
      metadata.uid,
    ]);
  });
});
