// The official JavaScript client against the server under test.

import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  ApiException,
  AuthorizationV1Api,
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  type V1ConfigMap,
  V1MicroTime,
  VersionApi,
  Watch,
} from '@kubernetes/client-node';
import { contractServer } from './server.ts';

const server = contractServer();
const namespace = 'client-node';
let config: KubeConfig;
let core: CoreV1Api;

beforeAll(async () => {
  config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'c', server: server.url, caData: Buffer.from(server.ca).toString('base64') }],
    users: [{ name: 'u', token: server.tokens.admin }],
    contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
    currentContext: 'x',
  });
  core = config.makeApiClient(CoreV1Api);
  await core.createNamespace({ body: { metadata: { name: namespace } } });
});

const configMap = (name: string, data: Record<string, string> = {}): V1ConfigMap => ({ metadata: { name }, data });

describe('@kubernetes/client-node', () => {
  it('creates, reads, replaces, patches and deletes an object', async () => {
    const created = await core.createNamespacedConfigMap({ namespace, body: configMap('life', { a: '1' }) });
    expect(created.metadata?.creationTimestamp).toBeInstanceOf(Date);
    created.data = { a: '2' };
    const replaced = await core.replaceNamespacedConfigMap({ name: 'life', namespace, body: created });
    expect(replaced.data).toEqual({ a: '2' });
    const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
    const merged = await core.patchNamespacedConfigMap({ name: 'life', namespace, body: { data: { b: '3' } } }, merge);
    expect(merged.data).toEqual({ a: '2', b: '3' });
    const operations = [{ op: 'remove', path: '/data/a' }];
    const patched = await core.patchNamespacedConfigMap({ name: 'life', namespace, body: operations });
    expect(patched.data).toEqual({ b: '3' });
    await core.deleteNamespacedConfigMap({ name: 'life', namespace });
    await expect(core.readNamespacedConfigMap({ name: 'life', namespace })).rejects.toMatchObject({ code: 404 });
  });

  it('throws an ApiException with the Status of an error', async () => {
    const error = await core.createNamespacedConfigMap({ namespace, body: configMap('Bad_Name') }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ApiException);
    expect(JSON.parse((error as ApiException<string>).body)).toMatchObject({ kind: 'Status', reason: 'Invalid', code: 422 });
  });

  it('lists ConfigMaps in pages', async () => {
    for (const name of ['p1', 'p2', 'p3'])
      await core.createNamespacedConfigMap({ namespace, body: { metadata: { name, labels: { page: 'yes' } } } });
    const first = await core.listNamespacedConfigMap({ namespace, labelSelector: 'page=yes', limit: 2 });
    const rest = await core.listNamespacedConfigMap({
      namespace,
      labelSelector: 'page=yes',
      limit: 2,
      _continue: first.metadata?._continue ?? '',
    });
    expect([...first.items, ...rest.items].map(({ metadata }) => metadata?.name)).toEqual(['p1', 'p2', 'p3']);
  });

  it('applies an object with a field manager', async () => {
    const objects = KubernetesObjectApi.makeApiClient(config);
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied', namespace }, data: { a: '1' } };
    const applied = await objects.patch(object, undefined, undefined, 'purser', true, PatchStrategy.ServerSideApply);
    expect((applied as V1ConfigMap).metadata?.managedFields?.[0]).toMatchObject({ manager: 'purser', operation: 'Apply' });
  });

  it('creates and lists custom resources', async () => {
    const custom = config.makeApiClient(CustomObjectsApi);
    await custom.createClusterCustomObject({
      group: 'apiextensions.k8s.io',
      version: 'v1',
      plural: 'customresourcedefinitions',
      body: gadgetDefinition,
    });
    const widget = { apiVersion: 'client-node.dev/v1', kind: 'Gadget', metadata: { name: 'one' }, spec: { size: 1 } };
    const where = { group: 'client-node.dev', version: 'v1', namespace, plural: 'gadgets' };
    // A custom resource is served shortly after its CRD is established.
    for (let created = false; !created; )
      created = await custom.createNamespacedCustomObject({ ...where, body: widget }).then(() => true, isNotServedYet);
    const { items } = (await custom.listNamespacedCustomObject(where)) as { items: { spec: object }[] };
    expect(items[0]?.spec).toEqual({ size: 1 });
  });

  it('creates tokens and access reviews', async () => {
    await core.createNamespacedServiceAccount({ namespace, body: { metadata: { name: 'robot' } } });
    const request = { spec: { audiences: ['https://hub.test'], expirationSeconds: 600 } };
    const { status } = await core.createNamespacedServiceAccountToken({ name: 'robot', namespace, body: request });
    expect(status?.token?.split('.')).toHaveLength(3);
    const authorization = config.makeApiClient(AuthorizationV1Api);
    const review = await authorization.createSelfSubjectAccessReview({
      body: { spec: { resourceAttributes: { verb: 'get', resource: 'secrets' } } },
    });
    expect(review.status?.allowed).toBe(true);
  });

  it('creates a Lease with microseconds in renewTime', async () => {
    const coordination = config.makeApiClient(CoordinationV1Api);
    const renewTime = new V1MicroTime('2026-11-15T00:00:00.000Z');
    const lease = await coordination.createNamespacedLease({
      namespace,
      body: { metadata: { name: 'l' }, spec: { holderIdentity: 'a', renewTime } },
    });
    // The client does not parse a MicroTime in a response.
    expect(lease.spec?.renewTime).toBe('2026-11-15T00:00:00.000000Z');
  });

  it('receives the events of a watch', async () => {
    const seen: string[] = [];
    const done = Promise.withResolvers<void>();
    const watch = new Watch(config);
    const controller = await watch.watch(
      `/api/v1/namespaces/${namespace}/configmaps`,
      { fieldSelector: 'metadata.name=watched' },
      (phase, object: V1ConfigMap) => {
        seen.push(`${phase} ${object.data?.['n'] ?? ''}`);
        if (phase === 'DELETED') done.resolve();
      },
      () => {},
    );
    await core.createNamespacedConfigMap({ namespace, body: configMap('watched', { n: '1' }) });
    await core.replaceNamespacedConfigMap({ name: 'watched', namespace, body: configMap('watched', { n: '2' }) });
    await core.deleteNamespacedConfigMap({ name: 'watched', namespace });
    await done.promise;
    controller.abort();
    expect(seen).toEqual(['ADDED 1', 'MODIFIED 2', 'DELETED 2']);
  });

  it('adds a new Secret to its informer', async () => {
    const list = () => core.listNamespacedSecret({ namespace });
    const informer = makeInformer(config, `/api/v1/namespaces/${namespace}/secrets`, list);
    const added = new Promise((resolve) => informer.on('add', (secret) => resolve(secret.metadata?.name)));
    await informer.start();
    await core.createNamespacedSecret({ namespace, body: { metadata: { name: 'informed' }, stringData: { a: 'b' } } });
    await expect(added).resolves.toBe('informed');
    await informer.stop();
  });

  it('returns the version of the server', async () => {
    const version = await config.makeApiClient(VersionApi).getCode();
    expect(version).toMatchObject({ major: '1', minor: '36', gitVersion: 'v1.36.4' });
  });
});

function isNotServedYet(error: unknown): boolean {
  if (error instanceof ApiException && error.code === 404) return false;
  throw error;
}

const gadgetDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gadgets.client-node.dev' },
  spec: {
    group: 'client-node.dev',
    scope: 'Namespaced',
    names: { plural: 'gadgets', kind: 'Gadget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};
