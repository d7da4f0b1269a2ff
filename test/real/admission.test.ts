// The admission policies on a real kube-apiserver: writes to Clusters and ManagedTokens that need the `repoint` and `record` verbs.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AdmissionWorld, CLUSTERS, cluster, managedToken, Patch, PURSER, type Response, TOKENS } from './admission-world.ts';
import { waitUntil } from './deploy-world.ts';

const ALL_VERBS = ['get', 'list', 'create', 'update', 'patch', 'delete', 'deletecollection'];
const ANCHOR = 'tokens.purser.dev/anchor';
const SET = 'registry.purser.dev/set';
let world: AdmissionWorld;

beforeAll(async () => {
  world = await AdmissionWorld.start();
  const clusters = { apiGroups: ['registry.purser.dev'], resources: ['clusters'] };
  const clusterWriter = { apiGroups: ['registry.purser.dev'], resources: ['clusters', 'clusters/status'], verbs: ALL_VERBS };
  const tokens = { apiGroups: ['tokens.purser.dev'], resources: ['managedtokens', 'managedtokens/status'], verbs: ALL_VERBS };
  await world.grant('writer', [clusterWriter]);
  await world.grant('registrar', [clusterWriter, { ...clusters, verbs: ['repoint'] }]);
  await world.grant('registrar-of-dev', [clusterWriter, { ...clusters, resourceNames: ['dev'], verbs: ['repoint'] }]);
  await world.grant('tenant', [tokens]);
  await world.grant('recorder', [tokens, { apiGroups: ['tokens.purser.dev'], resources: ['managedtokens'], verbs: ['record'] }]);
});

afterAll(() => world?.stop());

/** Merge patch of a Cluster or a ManagedToken, and the changed field. */
type Change = readonly [field: string, patch: object];

const ENDPOINTS = { serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://attacker.example.com' }] };

/** An owner that does not exist: the garbage collector deletes objects that have no other. */
const OWNER = { apiVersion: 'v1', kind: 'Namespace', name: 'gone', uid: '1b4e28ba-2fa1-41d2-883f-0016d3cca427' };
const COLLECTOR = 'system:serviceaccount:kube-system:generic-garbage-collector';

const REPOINTING: readonly Change[] = [
  ['spec.orchestratorApiEndpoints', { spec: { orchestratorApiEndpoints: ENDPOINTS } }],
  ['spec.orchestratorApiEndpoints', { spec: { orchestratorApiEndpoints: { caBundle: 'QUFB' } } }],
  ['spec.authInfo', { spec: { authInfo: { controller: { name: 'other-credential' } } } }],
  ['spec.authInfo', { spec: { authInfo: { user: { kind: 'Group', name: 'team-a' } } } }],
  ['spec.authInfo', { spec: { authInfo: null } }],
  ['spec.authInfo', { spec: { authInfo: { controller: null } } }],
  [`the label ${SET}`, { metadata: { labels: { [SET]: 'prod' } } }],
  [`the label ${SET}`, { metadata: { labels: { [SET]: '' } } }],
  ['metadata.finalizers', { metadata: { finalizers: ['example.com/hold'] } }],
  ['metadata.finalizers', { metadata: { finalizers: ['foregroundDeletion'] } }],
  ['metadata.ownerReferences', { metadata: { ownerReferences: [OWNER] } }],
];

const RECORDING: readonly Change[] = [
  ['the annotation tokens.purser.dev/anchors', { metadata: { annotations: { 'tokens.purser.dev/anchors': 'prod/deploy' } } }],
  ['the annotation tokens.purser.dev/rotate-request', { metadata: { annotations: { 'tokens.purser.dev/rotate-request': '1' } } }],
  ['the annotation tokens.purser.dev/', { metadata: { annotations: { 'tokens.purser.dev/rotate2': '1' } } }],
  [`the finalizer ${ANCHOR}`, { metadata: { finalizers: [ANCHOR] } }],
  [`the finalizer ${ANCHOR}`, { metadata: { finalizers: ['example.com/other', ANCHOR, ANCHOR] } }],
];

describe('hub without the admission policies', () => {
  it('allows a writer of Clusters to create and repoint a Cluster', async () => {
    expect(await world.send('writer', `POST ${CLUSTERS}`, cluster('open'))).toMatchObject({ code: 201 });
    for (const [, patch] of REPOINTING) {
      expect(await world.send('writer', `PATCH ${CLUSTERS}/open`, patch)).toMatchObject({ code: 200 });
    }
  });

  it('allows a writer of ManagedTokens to change status, annotations and finalizers', async () => {
    expect(await world.send('tenant', `POST ${TOKENS}`, managedToken('open'))).toMatchObject({ code: 201 });
    for (const [, patch] of [...RECORDING, ['', { metadata: { finalizers: null } }] as const]) {
      expect(await world.send('tenant', `PATCH ${TOKENS}/open`, patch)).toMatchObject({ code: 200 });
    }
    const status = await world.send('tenant', `PATCH ${TOKENS}/open/status`, { status: { secretName: 'forged' } });
    expect(status).toMatchObject({ code: 200, body: { status: { secretName: 'forged' } } });
  });
});

describe('admission policies', () => {
  beforeAll(async () => {
    await world.enforcePolicies();
    await world.admin(`POST ${CLUSTERS}`, cluster('prod'));
  });

  it.each(['purser-repoint', 'purser-record'])('passes the type check of the API server: %s', async (name) => {
    const path = `/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/${name}`;
    const policy = async () => (await world.admin(`GET ${path}`)) as unknown as CheckedPolicy;
    await waitUntil(async () => {
      const { metadata, status } = await policy();
      return status?.observedGeneration === metadata.generation && status.typeChecking !== undefined;
    });
    expect((await policy()).status?.typeChecking).toEqual({});
  });

  it('reports a type warning for a field that the custom resource does not have', async () => {
    const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
    const { spec } = await world.admin(`GET ${policies}/purser-repoint`);
    const validations = [{ expression: 'has(object.spec.noSuchField)' }];
    const kind = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicy' };
    await world.admin(`POST ${policies}`, { ...kind, metadata: { name: 'broken' }, spec: { ...spec, validations } });
    await waitUntil(async () => {
      const { status } = (await world.admin(`GET ${policies}/broken`)) as unknown as CheckedPolicy;
      return JSON.stringify(status?.typeChecking ?? {}).includes('noSuchField');
    });
  });

  describe('purser-repoint', () => {
    it('rejects creation of a Cluster without the verb "repoint" and names the verb and the Cluster', async () => {
      const { code, body } = await world.send('writer', `POST ${CLUSTERS}`, cluster('stolen'));
      expect(code).toBe(403);
      expect(body.message).toContain(
        'The verb "repoint" on clusters.registry.purser.dev "stolen" is required to create a Cluster. Ask an administrator',
      );
    });

    it('rejects creation of a Cluster by server-side apply without the verb "repoint"', async () => {
      const response = await world.send('writer', `PATCH ${CLUSTERS}/stolen?fieldManager=w`, cluster('stolen'), Patch.apply);
      expect(response).toMatchObject({ code: 403 });
    });

    it('rejects a Cluster with a generated name without the verb "repoint" on that name', async () => {
      const generated = { ...cluster(''), metadata: { generateName: 'dev' } };
      const { code, body } = await world.send('registrar-of-dev', `POST ${CLUSTERS}`, generated);
      expect([code, body.message]).toEqual([403, expect.stringMatching(/clusters\.registry\.purser\.dev "dev\w{5}" is required/)]);
      expect(await world.send('registrar', `POST ${CLUSTERS}`, generated)).toMatchObject({ code: 201 });
    });

    it.each(REPOINTING)('rejects a change to %s without the verb "repoint": %j', async (field, patch) => {
      expectRejection(
        await world.send('writer', `PATCH ${CLUSTERS}/prod`, patch),
        `"repoint" on clusters.registry.purser.dev "prod"`,
        field,
      );
      expect(await world.send('registrar', `PATCH ${CLUSTERS}/prod?dryRun=All`, patch)).toMatchObject({ code: 200 });
    });

    it('rejects a new Cluster with the set label without the verb "repoint"', async () => {
      const labelled = { ...cluster('new-in-set'), metadata: { name: 'new-in-set', labels: { [SET]: 'prod' } } };
      expectRejection(await world.send('writer', `POST ${CLUSTERS}`, labelled), '"repoint"', 'create a Cluster');
      expect(await world.send('registrar', `POST ${CLUSTERS}?dryRun=All`, labelled)).toMatchObject({ code: 201 });
    });

    it('rejects a change or removal of the set label without the verb "repoint"', async () => {
      await world.admin(`POST ${CLUSTERS}`, { ...cluster('in-set'), metadata: { name: 'in-set', labels: { [SET]: 'prod' } } });
      for (const labels of [{ [SET]: 'dev' }, { [SET]: null }, null]) {
        const response = await world.send('writer', `PATCH ${CLUSTERS}/in-set`, { metadata: { labels } });
        expectRejection(response, '"repoint"', `the label ${SET}`);
      }
    });

    it.each(['PUT', 'JSON patch', 'server-side apply'])('rejects new endpoints of a Cluster by %s', async (method) => {
      const { spec, metadata, ...kind } = await world.admin(`GET ${CLUSTERS}/prod`);
      const body = { ...kind, metadata, spec: { ...spec, orchestratorApiEndpoints: ENDPOINTS } };
      const applied = { apiVersion: 'registry.purser.dev/v1alpha1', kind: 'Cluster', metadata: { name: 'prod' }, spec: body.spec };
      const address = '/spec/orchestratorApiEndpoints/serverEndpoints/0/serverAddress';
      const replace = [{ op: 'replace', path: address, value: 'https://attacker.example.com' }];
      const url = `${CLUSTERS}/prod`;
      const responses: Readonly<Record<string, () => Promise<Response>>> = {
        PUT: () => world.send('writer', `PUT ${url}`, body),
        'JSON patch': () => world.send('writer', `PATCH ${url}`, replace, Patch.json),
        'server-side apply': () => world.send('writer', `PATCH ${url}?fieldManager=w&force=true`, applied, Patch.apply),
      };
      expectRejection((await responses[method]?.()) as Response, '"repoint"', 'spec.orchestratorApiEndpoints');
    });

    it('accepts the verb "repoint" for the names that a role lists, and for no other name', async () => {
      const repoint = { spec: { orchestratorApiEndpoints: ENDPOINTS } };
      expect(await world.send('registrar-of-dev', `POST ${CLUSTERS}`, cluster('dev'))).toMatchObject({ code: 201 });
      expect(await world.send('registrar-of-dev', `PATCH ${CLUSTERS}/dev`, repoint)).toMatchObject({ code: 200 });
      expect(await world.send('registrar-of-dev', `POST ${CLUSTERS}`, cluster('dev2'))).toMatchObject({ code: 403 });
      expect(await world.send('registrar-of-dev', `PATCH ${CLUSTERS}/prod`, repoint)).toMatchObject({ code: 403 });
    });

    it.each(['Background', 'Foreground', 'Orphan'])(
      'allows other labels, annotations and deletion of a Cluster without the verb "repoint": %s',
      async (propagationPolicy) => {
        await world.admin(`POST ${CLUSTERS}`, cluster('retired'));
        const metadata = { labels: { env: 'prod' }, annotations: { note: 'x', [SET]: 'prod' } };
        const url = `${CLUSTERS}/retired`;
        expect(await world.send('writer', `PATCH ${url}`, { metadata })).toMatchObject({ code: 200 });
        expect(await world.send('writer', `DELETE ${url}`, { propagationPolicy })).toMatchObject({ code: 200 });
        await waitUntil(async () => (await world.send('writer', `GET ${url}`)).code === 404);
      },
    );

    it('rejects removal of the finalizers of other controllers without the verb "repoint"', async () => {
      const finalizers = ['example.com/f', 'foregroundDeletion'];
      await world.admin(`POST ${CLUSTERS}`, { ...cluster('kept'), metadata: { name: 'kept', finalizers } });
      for (const changed of [null, [], ['foregroundDeletion'], ['example.com/g'], [...finalizers, 'example.com/g']]) {
        const response = await world.send('writer', `PATCH ${CLUSTERS}/kept`, { metadata: { finalizers: changed } });
        expectRejection(response, '"repoint"', 'metadata.finalizers');
      }
    });

    it('allows the garbage collector to remove its own finalizers, and the owner references, of a Cluster', async () => {
      const url = `${CLUSTERS}/collected`;
      const finalizers = ['example.com/f', 'foregroundDeletion'];
      const metadata = { name: 'collected', finalizers, ownerReferences: [OWNER] };
      await world.admin(`POST ${CLUSTERS}`, { ...cluster('collected'), metadata });
      const removed = { metadata: { finalizers: ['example.com/f'], ownerReferences: null } };
      expect(await world.send(COLLECTOR, `PATCH ${url}`, removed)).toMatchObject({ code: 200 });
      expectRejection(await world.send(COLLECTOR, `PATCH ${url}`, { metadata: { finalizers: null } }), '"repoint"', 'metadata.finalizers');
      await world.admin(`PATCH ${url}`, { metadata: { finalizers: null } });
    });

    it('ignores spec and labels in a write to clusters/status', async () => {
      const before = await world.admin(`GET ${CLUSTERS}/prod`);
      const forged = { metadata: { labels: { [SET]: 'x' } }, spec: { orchestratorApiEndpoints: ENDPOINTS, authInfo: null } };
      for (const type of [Patch.merge, Patch.apply]) {
        const body = { apiVersion: 'registry.purser.dev/v1alpha1', kind: 'Cluster', ...forged, status: { version: type } };
        const query = type === Patch.apply ? '?fieldManager=w&force=true' : '';
        const response = await world.send('writer', `PATCH ${CLUSTERS}/prod/status${query}`, body, type);
        expect(response).toMatchObject({ code: 200, body: { spec: before.spec, status: { version: type } } });
        expect(response.body.metadata.labels).toEqual(before.metadata.labels);
      }
    });

    it('allows Purser to write the status of a Cluster', async () => {
      const stored = await world.admin(`GET ${CLUSTERS}/prod`);
      const response = await world.send(PURSER, `PUT ${CLUSTERS}/prod/status`, { ...stored, status: { version: 'v1.36.4' } });
      expect(response).toMatchObject({ code: 200, body: { status: { version: 'v1.36.4' } } });
    });
  });

  describe('purser-record', () => {
    beforeAll(async () => {
      await world.admin(`POST ${TOKENS}`, managedToken('ci'));
    });

    it('allows creation of a ManagedToken with annotations and the finalizer of Purser, and drops the status', async () => {
      const annotations = { 'tokens.purser.dev/anchors': 'prod/kube-system' };
      const forged = { ...managedToken('forged', { annotations, finalizers: [ANCHOR] }), status: { secretName: 'forged' } };
      const { code, body } = await world.send('tenant', `POST ${TOKENS}`, forged);
      expect(code).toBe(201);
      expect(body.metadata).toMatchObject({ annotations, finalizers: [ANCHOR] });
      expect(body.status).toBeUndefined();
    });

    it('allows an identical second apply of a ManagedToken with annotations of Purser', async () => {
      const annotations = { 'tokens.purser.dev/anchors': 'prod/kube-system' };
      const restored = managedToken('restored', { annotations, finalizers: [ANCHOR] });
      const url = `${TOKENS}/restored?fieldManager=gitops`;
      expect(await world.send('tenant', `PATCH ${url}`, restored, Patch.apply)).toMatchObject({ code: 201 });
      expect(await world.send('tenant', `PATCH ${url}`, restored, Patch.apply)).toMatchObject({ code: 200 });
    });

    it.each(RECORDING)('rejects a change to %s without the verb "record": %j', async (field, patch) => {
      const verb = '"record" on managedtokens.tokens.purser.dev "ci" in namespace "team-a"';
      expectRejection(await world.send('tenant', `PATCH ${TOKENS}/ci`, patch), verb, field);
      expect(await world.send('recorder', `PATCH ${TOKENS}/ci?dryRun=All`, patch)).toMatchObject({ code: 200 });
    });

    it('rejects removal and change of annotations and the finalizer of Purser without the verb "record"', async () => {
      const annotations = { 'tokens.purser.dev/anchors': 'prod/deploy', note: 'x' };
      await world.admin(`POST ${TOKENS}`, managedToken('bound', { annotations, finalizers: ['example.com/other', ANCHOR] }));
      for (const [field, metadata] of [
        ['annotation tokens.purser.dev/anchors', { annotations: { 'tokens.purser.dev/anchors': null } }],
        ['annotation tokens.purser.dev/anchors', { annotations: { 'tokens.purser.dev/anchors': '' } }],
        ['annotation tokens.purser.dev/anchors', { annotations: null }],
        [`finalizer ${ANCHOR}`, { finalizers: null }],
        [`finalizer ${ANCHOR}`, { finalizers: [] }],
        [`finalizer ${ANCHOR}`, { finalizers: ['example.com/other'] }],
      ] as const) {
        expectRejection(await world.send('tenant', `PATCH ${TOKENS}/bound`, { metadata }), '"record"', field);
      }
    });

    it.each([Patch.merge, Patch.json, Patch.apply])('rejects a change to the status by %s without the verb "record"', async (type) => {
      const status = { secretName: 'forged' };
      const kind = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken' };
      const body = type === Patch.json ? [{ op: 'add', path: '/status', value: status }] : { ...kind, status };
      const query = type === Patch.apply ? '?fieldManager=t&force=true' : '';
      expectRejection(await world.send('tenant', `PATCH ${TOKENS}/ci/status${query}`, body, type), '"record"', 'status');
      expect(await world.send('recorder', `PATCH ${TOKENS}/ci/status${query}`, body, type)).toMatchObject({
        code: 200,
        body: { status },
      });
      await world.admin(`PATCH ${TOKENS}/ci/status`, { status: null });
    });

    it('allows the annotations rotate and revoke, other metadata and spec without the verb "record"', async () => {
      for (const patch of [
        { metadata: { annotations: { 'tokens.purser.dev/rotate': '1' } } },
        { metadata: { annotations: { 'tokens.purser.dev/rotate': '2', 'tokens.purser.dev/revoke': '1', note: 'x' } } },
        { metadata: { annotations: { 'tokens.purser.dev/rotate': null, 'tokens.purser.dev/revoke': null } } },
        { metadata: { annotations: null, labels: { env: 'prod' }, finalizers: ['example.com/other'] } },
        { metadata: { finalizers: null }, spec: { expirationSeconds: 1200 } },
      ]) {
        expect(await world.send('tenant', `PATCH ${TOKENS}/ci`, patch)).toMatchObject({ code: 200 });
      }
    });

    it('keeps the finalizer of Purser when a tenant deletes the ManagedToken', async () => {
      await world.admin(`POST ${TOKENS}`, managedToken('deleted', { finalizers: [ANCHOR] }));
      const url = `${TOKENS}/deleted`;
      expect(await world.send('tenant', `DELETE ${url}`, { gracePeriodSeconds: 0 })).toMatchObject({ code: 200 });
      expectRejection(await world.send('tenant', `PATCH ${url}`, { metadata: { finalizers: null } }), '"record"', `finalizer ${ANCHOR}`);
      expect((await world.admin(`GET ${url}`)).metadata).toMatchObject({ finalizers: [ANCHOR], deletionTimestamp: expect.any(String) });
    });

    it('allows Purser to write finalizers, annotations and status, and to release a deleted ManagedToken', async () => {
      const url = `${TOKENS}/deleted`;
      const stored = await world.admin(`GET ${url}`);
      const response = await world.send(PURSER, `PUT ${url}/status`, { ...stored, status: { secretName: 'deleted' } });
      expect(response).toMatchObject({ code: 200, body: { status: { secretName: 'deleted' } } });
      const annotations = { 'tokens.purser.dev/anchors': 'prod/deploy' };
      expect(await world.send(PURSER, `PATCH ${url}`, { metadata: { annotations } })).toMatchObject({ code: 200 });
      expect(await world.send(PURSER, `PATCH ${url}`, { metadata: { finalizers: null } })).toMatchObject({ code: 200 });
      expect(await world.send('tenant', `GET ${url}`)).toMatchObject({ code: 404 });
    });
  });
});

interface CheckedPolicy {
  readonly metadata: { readonly generation: number };
  readonly status?: { readonly observedGeneration?: number; readonly typeChecking?: object };
}

/** Expects a 403 response whose message contains all parts. */
function expectRejection({ code, body }: Response, ...parts: readonly string[]): void {
  expect([code, body.message]).toEqual([403, expect.stringContaining(parts[0] ?? '')]);
  for (const part of parts) expect(body.message).toContain(part);
}
