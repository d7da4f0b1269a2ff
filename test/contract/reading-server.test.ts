// Discovery, OpenAPI, paths, methods, health and version.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { createAdmin, definition, messageOf } from './admin.ts';
import { eventually } from './eventually.ts';
import { contractServer } from './server.ts';

const server = contractServer();
const admin = createAdmin(server);
const MAPS = '/api/v1/namespaces/served/configmaps';
const WIDGETS = '/apis/served.test/v1/widgets';
const GADGETS = '/apis/served.test/v1/namespaces/served/gadgets';
const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const NO_ROUTE = 'the server could not find the requested resource';
const NO_METHOD = 'the server does not allow this method on the requested resource';
const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };

beforeAll(async () => {
  await admin.create('/api/v1/namespaces', { metadata: { name: 'served' } });
  const version = { name: 'v1', served: true, storage: true, schema };
  await admin.define(definition('served.test', 'Widget', 'Cluster', [version]), WIDGETS);
  const gadgets = definition('served.test', 'Gadget', 'Namespaced', [{ ...version, subresources: { status: {} } }]);
  await admin.define(gadgets, GADGETS);
  await admin.create(WIDGETS, { apiVersion: 'served.test/v1', kind: 'Widget', metadata: { name: 'a' } });
  await admin.create(GADGETS, { apiVersion: 'served.test/v1', kind: 'Gadget', metadata: { name: 'a' } });
  await admin.create(MAPS, { metadata: { name: 'a' } });
});

async function json<T>(path: string, headers?: Readonly<Record<string, string>>): Promise<T> {
  const { status, body } = await admin.get(path, headers);
  expect(status).toBe(200);
  return JSON.parse(body) as T;
}

interface Group {
  readonly metadata: { readonly name?: string };
  readonly versions: readonly {
    readonly version: string;
    readonly freshness: string;
    readonly resources: readonly { readonly resource: string }[];
  }[];
}

describe('discovery', () => {
  it('returns a group and its versions', async () => {
    const version = { groupVersion: 'served.test/v1', version: 'v1' };
    expect(await json('/apis/served.test')).toEqual({
      kind: 'APIGroup',
      apiVersion: 'v1',
      name: 'served.test',
      versions: [version],
      preferredVersion: version,
    });
    const { groups } = await json<{ groups: { name: string }[] }>('/apis');
    expect(groups.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['rbac.authorization.k8s.io', 'coordination.k8s.io', 'served.test']),
    );
    expect(await json('/api')).toMatchObject({ kind: 'APIVersions', versions: ['v1'] });
  });

  it('returns the resources of a CRD', async () => {
    const verbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
    const { resources, ...rest } = await json<{ resources: object[] }>('/apis/served.test/v1');
    expect(rest).toEqual({ kind: 'APIResourceList', apiVersion: 'v1', groupVersion: 'served.test/v1' });
    expect(resources).toHaveLength(3);
    expect(resources).toEqual(
      expect.arrayContaining([
        { name: 'widgets', singularName: 'widget', namespaced: false, kind: 'Widget', verbs, storageVersionHash: 'FB4KGZ/pFA4=' },
        { name: 'gadgets', singularName: 'gadget', namespaced: true, kind: 'Gadget', verbs, storageVersionHash: 'eAkcJkpIUiA=' },
        { name: 'gadgets/status', singularName: '', namespaced: true, kind: 'Gadget', verbs: ['get', 'patch', 'update'] },
      ]),
    );
  });

  it.each([
    ['/api/v1', 'configmaps', 'ConfigMap', true, 'qFsyl6wFWjQ='],
    ['/api/v1', 'namespaces', 'Namespace', false, 'Q3oi5N2YM8M='],
    ['/api/v1', 'secrets', 'Secret', true, 'S6u1pOWzb84='],
    ['/apis/coordination.k8s.io/v1', 'leases', 'Lease', true, 'gqkMMb/YqFM='],
    ['/apis/rbac.authorization.k8s.io/v1', 'clusterroles', 'ClusterRole', false, 'bYE5ZWDrJ44='],
    ['/apis/apiextensions.k8s.io/v1', 'customresourcedefinitions', 'CustomResourceDefinition', false, 'jfWCUB31mvA='],
  ])('returns the resource at path %s: %s', async (path, ...expected) => {
    const { resources } = await json<{ resources: Readonly<Record<string, unknown>>[] }>(path);
    const found = resources.find(({ name }) => name === expected[0]);
    expect([found?.['name'], found?.['kind'], found?.['namespaced'], found?.['storageVersionHash']]).toEqual(expected);
  });

  it.each([
    ['/api', undefined, 'configmaps'],
    ['/apis', 'served.test', 'widgets'],
  ])('returns all groups at %s in one aggregated document', async (path, name, resource) => {
    const { status, headers, body } = await admin.get(path, { accept: `${AGGREGATED},application/json` });
    expect([status, headers['content-type'], headers['vary'], headers['cache-control']]).toEqual([200, AGGREGATED, 'Accept', 'public']);
    expect(headers['etag']).toMatch(/^"[0-9A-F]{128}"$/);
    const document = JSON.parse(body) as { items: Group[] };
    expect(document).toMatchObject({ kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {} });
    const [version] = document.items.find(({ metadata }) => metadata.name === name)?.versions ?? [];
    expect([version?.version, version?.freshness]).toEqual(['v1', 'Current']);
    expect(version?.resources.map((each) => each.resource)).toContain(resource);
  });

  it('returns 304 for a known ETag', async () => {
    const { headers } = await admin.get('/apis', { accept: AGGREGATED });
    const again = await admin.get('/apis', { accept: AGGREGATED, 'if-none-match': headers['etag'] ?? '' });
    expect([again.status, again.body, again.headers['etag'], again.headers['cache-control']]).toEqual([304, '', headers['etag'], 'public']);
  });

  it.each([
    [`application/json,${AGGREGATED}`, AGGREGATED],
    [`${AGGREGATED};q=0.1,application/json`, AGGREGATED],
    [AGGREGATED.replace('json', 'yaml'), AGGREGATED.replace('json', 'yaml')],
    [`${AGGREGATED};profile=nopeer`, AGGREGATED],
    ['*/*', 'application/json'],
    ['application/yaml', 'application/yaml'],
    [`${AGGREGATED.replace('v2', 'v2beta1')},application/json`, 'application/json'],
  ])('maps Accept: %s to the media type %s', async (accept, type) => {
    for (const path of ['/api', '/apis']) expect((await admin.get(path, { accept })).headers['content-type']).toBe(type);
  });

  it.each([
    [
      '/api',
      'text/html',
      '406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf',
    ],
    [
      '/apis',
      'text/html',
      'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf',
    ],
    [
      '/apis/served.test/v1',
      'application/json;as=Table;v=v1;g=meta.k8s.io',
      'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf',
    ],
    ['/version', 'application/yaml', undefined],
    ['/version', 'text/html', '406: Not Acceptable\n\nAvailable representations: application/json'],
    ['/openid/v1/jwks', 'application/json', '406: Not Acceptable\n\nAvailable representations: application/jwk-set+json'],
  ])('returns 406 at %s for %s', async (path, accept, message) => {
    const response = await admin.get(path, { accept });
    expect(response.status).toBe(406);
    if (message !== undefined) expect(messageOf(response)).toBe(message);
  });

  it('removes a group with its last CRD', async () => {
    const path = '/apis/brief.test/v1/widgets';
    await admin.define(definition('brief.test', 'Widget', 'Cluster', [{ name: 'v1', served: true, storage: true, schema }]), path);
    await eventually(async () => expect((await admin.get('/apis/brief.test')).status).toBe(200));
    const [before, index] = await Promise.all([admin.get('/apis', { accept: AGGREGATED }), admin.get('/openapi/v3')]);
    expect(before.body).toContain('"brief.test"');
    expect(index.status).toBe(200);
    await admin.delete('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.brief.test');
    await eventually(async () => {
      const responses = await Promise.all([admin.get('/apis/brief.test'), admin.get('/apis/brief.test/v1'), admin.get(path)]);
      for (const { status, body } of responses) expect([status, body]).toEqual([404, '404 page not found\n']);
      expect((await admin.get('/apis', { accept: AGGREGATED })).body).not.toContain('"brief.test"');
    });
  });
});

describe('OpenAPI v3', () => {
  it('allows caching of documents that are requested by hash', async () => {
    let path = '';
    await eventually(async () => {
      const { paths } = await json<{ paths: Readonly<Record<string, { serverRelativeURL: string }>> }>('/openapi/v3');
      path = paths['apis/served.test/v1']?.serverRelativeURL ?? '';
      expect(path).toMatch(/^\/openapi\/v3\/apis\/served\.test\/v1\?hash=[0-9A-F]{128}$/);
    });
    const [plain, hash] = path.split('?hash=');
    const current = await admin.get(path, { accept: 'application/json' });
    expect([current.status, current.headers['content-type']]).toEqual([200, 'application/json']);
    expect([current.headers['cache-control'], current.headers['etag'], current.headers['vary']]).toEqual([
      'public, immutable',
      `"${hash}"`,
      'Accept',
    ]);
    const unhashed = await admin.get(plain ?? '');
    expect([unhashed.status, unhashed.headers['cache-control'], unhashed.body === current.body]).toEqual([200, 'no-cache, private', true]);
    expect((await admin.get(path, { 'if-none-match': `"${hash}"` })).status).toBe(304);
    expect((await admin.get(path, { accept: 'application/yaml' })).status).toBe(406);
  });

  it("lists fieldValidation and the other parameters of a kind's patch operation", async () => {
    await eventually(async () => {
      const { paths, components } = await json<{
        paths: Readonly<Record<string, { patch?: Readonly<Record<string, unknown>> & { parameters: { name: string }[] } }>>;
        components: { schemas: Readonly<Record<string, Readonly<Record<string, unknown>>>> };
      }>('/openapi/v3/apis/served.test/v1');
      const kind = { group: 'served.test', version: 'v1', kind: 'Widget' };
      const patch = paths['/apis/served.test/v1/widgets/{name}']?.patch;
      expect(patch?.['x-kubernetes-group-version-kind']).toEqual(kind);
      expect(patch?.parameters.map(({ name }) => name)).toEqual(
        expect.arrayContaining(['dryRun', 'fieldManager', 'fieldValidation', 'force']),
      );
      expect(components.schemas['test.served.v1.Widget']?.['x-kubernetes-group-version-kind']).toEqual([kind]);
    });
  });

  it('returns 404 for unknown documents', async () => {
    const { status, body } = await admin.get('/openapi/v3/apis/none/v1');
    expect([status, body]).toEqual([404, '']);
  });
});

describe('request path', () => {
  const PAGE = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };

  it.each([
    '/none',
    '//',
    '/apis//',
    '/apis/none',
    '/apis/none/v1',
    '/apis/none/v1/widgets',
    '/apis//v1/configmaps',
    '/apis/served.test/v9',
    '/apis/served.test/v1/none',
    '//api/v1/namespaces',
    '//apis/served.test/v1/widgets',
    '/healthz/',
    '/healthz/none',
  ])('returns 404 for %s', async (path) => {
    const { status, headers, body } = await admin.get(path);
    expect([status, headers, body]).toEqual([404, expect.objectContaining(PAGE), '404 page not found\n']);
  });

  it.each([
    '/api/v2',
    '/api/v1/none',
    '/api/v1/configmaps/a',
    '/api/v1/namespaces/served/nodes',
    '/api/v1/namespaces/served/namespaces',
    '/api/v1/namespaces/served/namespaces/served',
    '/apis/rbac.authorization.k8s.io/v9',
    '/apis/rbac.authorization.k8s.io/v1/none',
    `${MAPS}/a/status`,
    `${MAPS}/a/b/c`,
    '/version/x',
  ])('returns 404 with a Status for %s', async (path) => {
    for (const method of ['GET', 'POST', 'OPTIONS']) {
      const response = await admin.send(method, path);
      expect([response.status, JSON.parse(response.body)]).toMatchObject([404, { message: NO_ROUTE, reason: 'NotFound', details: {} }]);
    }
  });

  it.each([
    ['/api', '/api/'],
    ['/api/v1', '/api/v1//'],
    ['/apis', '/apis/'],
    ['/apis/served.test', '/apis/served.test/'],
    ['/version', '/version//'],
    [MAPS, `${MAPS}/`],
    [`${WIDGETS}/a`, `${WIDGETS}/a/`],
    ['/.well-known/openid-configuration', '/.well-known/openid-configuration/'],
    ['/openid/v1/jwks', '/openid/v1/jwks//'],
  ])('returns the same response for %s and %s', async (path, slashed) => {
    const [first, second] = await Promise.all([admin.get(path), admin.get(slashed)]);
    expect([second.status, second.body]).toEqual([200, first.body]);
  });

  it.each([
    [`${WIDGETS}/..`, 400, `Name parameter invalid: "..": may not be '..'`],
    [`${MAPS}/.`, 400, `Name parameter invalid: ".": may not be '.'`],
    [`${MAPS}/a%25b`, 400, `Name parameter invalid: "a%b": may not contain '%'`],
    [`${MAPS}/A_B`, 404, 'configmaps "A_B" not found'],
  ])('responds to %s with %i %s', async (path, status, message) => {
    const response = await admin.get(path);
    expect([response.status, messageOf(response)]).toEqual([status, message]);
  });

  it('rejects a path with an invalid escape', async () => {
    const { status, headers, body } = await admin.get(`${MAPS}/%zz`);
    expect([status, headers['content-type'], body]).toEqual([400, 'text/plain; charset=utf-8', '400 Bad Request']);
  });
});

describe('request method', () => {
  it.each([
    ['HEAD', MAPS],
    ['OPTIONS', MAPS],
    ['PUT', MAPS],
    ['PROPFIND', `${MAPS}/a`],
    ['POST', `${MAPS}/a`],
    ['POST', '/api/v1/configmaps'],
    ['DELETE', '/api/v1/namespaces'],
    ['GET', '/apis/authorization.k8s.io/v1/subjectaccessreviews'],
    ['GET', '/api/v1/namespaces/served/serviceaccounts/default/token'],
    ['OPTIONS', '/api'],
    ['HEAD', '/api/v1'],
    ['POST', '/version'],
    ['POST', '/openid/v1/jwks'],
  ])('rejects %s at %s', async (method, path) => {
    const { status, headers, body } = await admin.send(method, path, {}, method === 'POST' || method === 'PUT' ? '{}' : undefined);
    expect([status, headers['allow'], headers['content-type']]).toEqual([405, undefined, 'application/json']);
    if (method === 'HEAD') expect(body).toBe('');
    else expect(JSON.parse(body)).toMatchObject({ message: NO_METHOD, reason: 'MethodNotAllowed', details: {} });
  });

  it.each([
    ['GET', '/apis/served.test/v1/namespaces/served/widgets', 404],
    ['GET', '/apis/served.test/v1/gadgets/a', 404],
    ['GET', `${GADGETS}/a/none`, 404],
    ['GET', `${WIDGETS}/a/status`, 404],
    ['GET', `${WIDGETS}/a%2Fb`, 404],
    ['OPTIONS', `${WIDGETS}/a`, 405],
    ['POST', `${GADGETS}/a/status`, 405],
  ])('rejects %s at %s for a custom resource with %i', async (method, path, status) => {
    expect((await admin.send(method, path, {}, method === 'POST' ? '{}' : undefined)).status).toBe(status);
  });

  it('accepts GET and POST for discovery and health', async () => {
    for (const path of ['/apis', '/apis/served.test', '/apis/served.test/v1', '/healthz', '/readyz']) {
      const [get, post] = [await admin.get(path), await admin.send('POST', path)];
      expect([post.status, post.body]).toEqual([200, get.body]);
    }
  });
});

describe('API server', () => {
  it.each(['/healthz', '/livez', '/readyz'])('reports health at %s', async (path) => {
    const { status, headers, body } = await admin.get(path);
    expect([status, headers['content-type'], body]).toEqual([200, 'text/plain; charset=utf-8', 'ok']);
  });

  it('lists the health checks with ?verbose', async () => {
    const { body } = await admin.get('/livez?verbose');
    expect(body).toMatch(/^\[\+\]ping ok\n(\[\+\][\w/-]+ ok\n)*livez check passed\n$/);
  });

  it('returns the Kubernetes version', async () => {
    const { headers, body } = await admin.get('/version');
    expect(headers['content-type']).toBe('application/json');
    expect(JSON.parse(body)).toMatchObject({ major: '1', minor: '36', gitVersion: 'v1.36.4' });
    expect(body).toMatch(/^{\n {2}"major": "1",\n/);
  });

  it('publishes the issuer and the keys of service account tokens', async () => {
    const configuration = await admin.get('/.well-known/openid-configuration');
    expect([configuration.headers['content-type'], configuration.headers['cache-control']]).toEqual([
      'application/json',
      'public, max-age=3600',
    ]);
    expect(JSON.parse(configuration.body)).toEqual({
      issuer: 'https://hub.test',
      jwks_uri: expect.stringMatching(/^https:\/\/[^/]+\/openid\/v1\/jwks$/),
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [expect.stringMatching(/^(RS|ES)256$/)],
    });
    const keys = await admin.get('/openid/v1/jwks');
    expect([keys.headers['content-type'], keys.headers['cache-control']]).toEqual(['application/jwk-set+json', 'public, max-age=3600']);
    expect(JSON.parse(keys.body)).toMatchObject({ keys: [{ use: 'sig', kid: expect.any(String) }] });
  });

  it('forbids caching, and sets or keeps the Audit-ID', async () => {
    for (const path of [MAPS, `${WIDGETS}/none`, '/none', '/healthz', '/version']) {
      const { headers } = await admin.get(path);
      expect([headers['cache-control'], headers['audit-id']]).toEqual(['no-cache, private', expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    }
    expect((await admin.get('/version', { 'audit-id': 'mine' })).headers['audit-id']).toBe('mine');
    expect((await admin.get('/version', { 'audit-id': '' })).headers['audit-id']).toMatch(/^[0-9a-f-]{36}$/);
    const rejected = await server.request('GET', MAPS, { headers: { authorization: 'Bearer wrong' } });
    expect([rejected.status, rejected.headers['cache-control']]).toEqual([401, 'no-cache, private']);
  });

  it.each([
    ['/', 'cannot get path "/"'],
    ['/none', 'cannot get path "/none"'],
    ['/api/v1//configmaps', 'cannot get resource "" in API group "" at the cluster scope'],
    ['/apis/served.test/v1//widgets', 'cannot get resource "" in API group "served.test" at the cluster scope'],
  ])('rejects a caller without permission at %s before routing', async (path, cause) => {
    const response = await admin.get(path, { authorization: `Bearer ${server.tokens.bob}` });
    const subject = path.includes('served.test') ? '.served.test "widgets" is forbidden' : 'forbidden';
    expect([response.status, messageOf(response), response.headers['x-content-type-options']]).toEqual([
      403,
      `${subject}: User "bob" ${cause}`,
      'nosniff',
    ]);
  });
});
