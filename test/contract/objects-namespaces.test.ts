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
  it('is active, with a name label and the kubernetes finalizer', async () => {
    const sent = namespace('fresh', { status: { phase: 'Terminating' } }, { labels: { 'kubernetes.io/metadata.name': 'other', a: 'b' } });
    const body = await objects.make(NAMESPACES, sent);
    expect([body['spec'], body['status'], body.metadata['labels']]).toEqual([
      { finalizers: ['kubernetes'] },
      { phase: 'Active' },
      { 'kubernetes.io/metadata.name': 'fresh', a: 'b' },
    ]);
    expect(owners(body)).toEqual(['unknown Update {"f:metadata":{"f:labels":{".":{},"f:a":{},"f:kubernetes.io/metadata.name":{}}}}']);
  });

  it('keeps finalizers of its creator', async () => {
    const body = await objects.make(NAMESPACES, namespace('finalized', { spec: { finalizers: ['a.b/c'] } }));
    expect(body['spec']).toEqual({ finalizers: ['a.b/c', 'kubernetes'] });
  });

  it('keeps its label and its finalizers on update', async () => {
    const made = await objects.make(NAMESPACES, namespace('stable'));
    for (const write of [
      () => objects.put(`${NAMESPACES}/stable`, namespace('stable', { spec: { finalizers: [] }, status: { phase: 'Terminating' } })),
      () => objects.merge(`${NAMESPACES}/stable`, { spec: null, metadata: { labels: null } }),
    ]) {
      expect((await write()).body).toEqual(made);
    }
  });

  it('keeps its spec when its status is written', async () => {
    await objects.make(NAMESPACES, namespace('phase'));
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

  it.each(['default', 'kube-system', 'kube-public'])('cannot be deleted with the name %s', async (name) => {
    const refusal = `403 Forbidden: namespaces "${name}" is forbidden: this namespace may not be deleted`;
    expect(outcome(await objects.delete(`${NAMESPACES}/${name}`))).toBe(refusal);
    expect(outcome(await objects.delete(`${NAMESPACES}/${name}?dryRun=All`))).toBe(refusal);
  });
});

describe('a terminating namespace', () => {
  it('waits for its content and rejects new content', async () => {
    await objects.make(NAMESPACES, namespace('ending'));
    await objects.make(`${NAMESPACES}/ending/configmaps`, configMap('held', {}, { finalizers: ['hold.on/please'] }));
    const { status, body } = await objects.delete(`${NAMESPACES}/ending`);
    expect([status, body.kind, body['status'], body['spec']]).toEqual([
      200,
      'Namespace',
      { phase: 'Terminating' },
      { finalizers: ['kubernetes'] },
    ]);
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
  });

  it('is unchanged after a dry run', async () => {
    const made = await objects.make(NAMESPACES, namespace('dry'));
    expect((await objects.delete(`${NAMESPACES}/dry?dryRun=All`)).body['status']).toEqual({ phase: 'Terminating' });
    expect((await objects.get(`${NAMESPACES}/dry`)).body).toEqual(made);
  });

  it('requires the uid of the precondition', async () => {
    const { metadata } = await objects.make(NAMESPACES, namespace('meant'));
    const answer = await objects.delete(`${NAMESPACES}/meant`, { preconditions: { uid: 'x' } });
    expect([answer.status, answer.body.reason, (await objects.get(`${NAMESPACES}/meant`)).body.metadata.uid]).toEqual([
      409,
      'Conflict',
      metadata.uid,
    ]);
  });
});
