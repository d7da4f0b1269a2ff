// Attacks on the admission policies of a real kube-apiserver: attempts to repoint a Cluster or to forge records without the verbs.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AdmissionWorld, CLUSTERS, cluster, managedToken, Patch, PURSER, TOKENS } from './admission-world.ts';
import { waitUntil } from './deploy-world.ts';

const ANCHOR = 'tokens.purser.dev/anchor';
const ENDPOINTS = { serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://attacker.example.com' }] };
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
let world: AdmissionWorld;

beforeAll(async () => {
  world = await AdmissionWorld.start();
  const verbs = ['get', 'list', 'create', 'update', 'patch', 'delete', 'deletecollection'];
  const tokens = { apiGroups: ['tokens.purser.dev'], resources: ['managedtokens', 'managedtokens/status'], verbs };
  await world.grant('writer', [{ apiGroups: ['registry.purser.dev'], resources: ['clusters', 'clusters/status'], verbs }]);
  await world.grant('tenant', [tokens]);
  await world.grant('recorder-of-other', [
    tokens,
    { apiGroups: ['tokens.purser.dev'], resources: ['managedtokens'], resourceNames: ['other'], verbs: ['record'] },
    { apiGroups: ['tokens.purser.dev'], resources: ['managedtokens/status'], verbs: ['record'] },
  ]);
  await world.enforcePolicies();
  await world.admin(`POST ${CLUSTERS}`, cluster('prod'));
  await world.admin(`POST ${TOKENS}`, managedToken('ci'));
});

afterAll(() => world?.stop());

/** Adds a served version to a CRD, and fields to the schema of the spec in all versions. */
async function addVersion(name: string, version: string, fields: object = {}): Promise<void> {
  const crd = (await world.admin(`GET ${CRDS}/${name}`)) as unknown as CustomResourceDefinition;
  const [first] = crd.spec.versions;
  const schema = structuredClone(first?.schema) as Schema;
  Object.assign(schema.openAPIV3Schema.properties.spec.properties, fields);
  const versions = [
    { ...first, schema },
    { ...first, name: version, storage: false, schema },
  ];
  await world.admin(`PUT ${CRDS}/${name}`, { ...crd, spec: { ...crd.spec, versions } });
}

interface Schema {
  readonly openAPIV3Schema: { readonly properties: { readonly spec: { readonly properties: object } } };
}

interface CustomResourceDefinition {
  readonly spec: { readonly versions: readonly { readonly schema: unknown }[] };
}

describe('purser-record against a tenant', () => {
  it('keeps the status unchanged after a patch of the object itself', async () => {
    await world.admin(`PATCH ${TOKENS}/ci/status`, { status: { secretName: 'ci' } });
    const kind = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken' };
    const forged = { ...kind, status: { secretName: 'forged' } };
    const { spec } = await world.admin(`GET ${TOKENS}/ci`);
    for (const response of [
      await world.send('tenant', `PATCH ${TOKENS}/ci`, forged),
      await world.send('tenant', `PATCH ${TOKENS}/ci`, { status: null, Status: forged.status, STATUS: forged.status }),
      await world.send(
        'tenant',
        `PATCH ${TOKENS}/ci?fieldManager=t&force=true`,
        { ...forged, metadata: { name: 'ci' }, spec },
        Patch.apply,
      ),
    ]) {
      expect(response).toMatchObject({ code: 200, body: { status: { secretName: 'ci' } } });
    }
  });

  it('keeps the finalizer of Purser after deletecollection, and rejects its removal', async () => {
    await world.admin(`POST ${TOKENS}`, managedToken('collected', { finalizers: [ANCHOR], labels: { of: 'collection' } }));
    expect(await world.send('tenant', `DELETE ${TOKENS}?labelSelector=of%3Dcollection`)).toMatchObject({ code: 200 });
    const remove = [{ op: 'remove', path: '/metadata/finalizers/0' }];
    expect(await world.send('tenant', `PATCH ${TOKENS}/collected`, remove, Patch.json)).toMatchObject({ code: 403 });
    const { metadata, ...rest } = await world.admin(`GET ${TOKENS}/collected`);
    const { finalizers: _, ...without } = metadata;
    expect(await world.send('tenant', `PUT ${TOKENS}/collected`, { ...rest, metadata: without })).toMatchObject({ code: 403 });
  });

  it('ignores the verb record for another object and for the status subresource', async () => {
    const forge = { metadata: { finalizers: [ANCHOR] } };
    await world.admin(`POST ${TOKENS}`, managedToken('other'));
    expect(await world.send('recorder-of-other', `PATCH ${TOKENS}/ci`, forge)).toMatchObject({ code: 403 });
    expect(await world.send('recorder-of-other', `PATCH ${TOKENS}/ci/status`, { status: { secretName: 'x' } })).toMatchObject({
      code: 403,
    });
    expect(await world.send('recorder-of-other', `PATCH ${TOKENS}/other`, forge)).toMatchObject({ code: 200 });
  });

  it('rejects an administrator of the namespace who binds a role of Purser', async () => {
    await world.kubectl('create', 'rolebinding', 'admin', '-n', 'team-a', '--clusterrole=admin', '--user=namespace-admin');
    const bindings = '/apis/rbac.authorization.k8s.io/v1/namespaces/team-a/rolebindings';
    const bind = (role: string) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: `own-${role}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'tenant' }],
    });
    await waitUntil(async () => (await world.send('namespace-admin', `POST ${bindings}?dryRun=All`, bind('view'))).code === 201);
    for (const role of ['purser-controller-tokens', 'purser-managedtoken-editor', 'purser-cluster-administrator']) {
      expect(await world.send('namespace-admin', `POST ${bindings}`, bind(role))).toMatchObject({ code: 403 });
    }
  });

  it('rejects forged annotations among thousands of changes, even if the message is too long', async () => {
    const keys = Array.from({ length: 2000 }, (_, index) => `tokens.purser.dev/forged-${index}`);
    const annotations = Object.fromEntries([...keys, 'tokens.purser.dev/rotate', 'note'].map((key) => [key, '1']));
    const { code, body } = await world.send('tenant', `PATCH ${TOKENS}/ci`, { metadata: { annotations } });
    expect([code, body.message]).toEqual([
      403,
      expect.stringContaining('The verb "record" on managedtokens.tokens.purser.dev is required'),
    ]);
  });

  it('allows Purser to write an object with thousands of annotations and finalizers', async () => {
    const annotations = Object.fromEntries(Array.from({ length: 4000 }, (_, index) => [`tokens.purser.dev/${index}`, 'x']));
    const finalizers = Array.from({ length: 500 }, (_, index) => `example.com/${index}`);
    const created = await world.send(
      'tenant',
      `POST ${TOKENS}`,
      managedToken('huge', { annotations, finalizers: [...finalizers, ANCHOR] }),
    );
    expect(created).toMatchObject({ code: 201 });
    const url = `${TOKENS}/huge`;
    for (const metadata of [{ annotations: null }, { finalizers }]) {
      expect((await world.send('tenant', `PATCH ${url}`, { metadata })).code).toBe(403);
      expect(await world.send(PURSER, `PATCH ${url}`, { metadata })).toMatchObject({ code: 200 });
    }
    const stored = await world.admin(`GET ${url}`);
    expect(await world.send(PURSER, `PUT ${url}/status`, { ...stored, status: { secretName: 'huge' } })).toMatchObject({ code: 200 });
  });

  it('rejects forged records through another version of the resource', async () => {
    await addVersion('managedtokens.tokens.purser.dev', 'v1beta1');
    const url = `${TOKENS.replace('v1alpha1', 'v1beta1')}/ci`;
    await waitUntil(async () => (await world.send('tenant', `GET ${url}`)).code === 200);
    expect(await world.send('tenant', `PATCH ${url}`, { metadata: { finalizers: [ANCHOR] } })).toMatchObject({ code: 403 });
    expect(await world.send('tenant', `PATCH ${url}/status`, { status: { secretName: 'x' } })).toMatchObject({ code: 403 });
  });
});

describe('purser-repoint against a writer of Clusters', () => {
  it('rejects re-creation of a deleted Cluster', async () => {
    await world.admin(`POST ${CLUSTERS}`, cluster('replaced'));
    expect(await world.send('writer', `DELETE ${CLUSTERS}/replaced`)).toMatchObject({ code: 200 });
    expect(await world.send('writer', `POST ${CLUSTERS}`, cluster('replaced'))).toMatchObject({ code: 403 });
    expect(await world.send('writer', `PUT ${CLUSTERS}/replaced`, cluster('replaced'))).not.toMatchObject({ code: 201 });
  });

  it('rejects repointing a Cluster together with an allowed change', async () => {
    const labels = { env: 'prod' };
    const patch = { metadata: { labels }, spec: { orchestratorApiEndpoints: ENDPOINTS } };
    expect(await world.send('writer', `PATCH ${CLUSTERS}/prod`, patch)).toMatchObject({ code: 403 });
    const copy = [
      { op: 'copy', from: '/spec/orchestratorApiEndpoints/serverEndpoints/0', path: '/spec/orchestratorApiEndpoints/serverEndpoints/-' },
      { op: 'replace', path: '/spec/orchestratorApiEndpoints/serverEndpoints/0/clientCIDR', value: '10.0.0.0/8' },
    ];
    expect(await world.send('writer', `PATCH ${CLUSTERS}/prod`, copy, Patch.json)).toMatchObject({ code: 403 });
  });

  it('rejects repointing a Cluster that is being deleted', async () => {
    await world.admin(`POST ${CLUSTERS}`, { ...cluster('dying'), metadata: { name: 'dying', finalizers: ['example.com/f'] } });
    await world.send('writer', `DELETE ${CLUSTERS}/dying`);
    const patch = { spec: { orchestratorApiEndpoints: ENDPOINTS } };
    expect(await world.send('writer', `PATCH ${CLUSTERS}/dying`, patch)).toMatchObject({ code: 403 });
  });

  it('rejects a change to spec.credential if the CRD has it, and repointing through another version', async () => {
    const credential = { type: 'object', properties: { renewal: { type: 'string' } } };
    await addVersion('clusters.registry.purser.dev', 'v1beta1', { credential });
    const urls = [`${CLUSTERS}/prod`, `${CLUSTERS.replace('v1alpha1', 'v1beta1')}/prod`];
    const patch = { spec: { credential: { renewal: 'Manual' } } };
    await waitUntil(async () => {
      const dry = await world.admin(`PATCH ${urls[1]}?dryRun=All`, patch).catch(() => undefined);
      return dry?.spec['credential'] !== undefined;
    });
    for (const url of urls) {
      const rejected = await world.send('writer', `PATCH ${url}`, patch);
      expect([rejected.code, rejected.body.message]).toEqual([403, expect.stringContaining('change spec.credential.')]);
      expect(await world.send('writer', `PATCH ${url}`, { spec: { authInfo: null } })).toMatchObject({ code: 403 });
    }
    const created = { ...cluster('beta'), apiVersion: 'registry.purser.dev/v1beta1' };
    expect(await world.send('writer', `POST ${CLUSTERS.replace('v1alpha1', 'v1beta1')}`, created)).toMatchObject({ code: 403 });
  });
});
