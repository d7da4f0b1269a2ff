import { afterEach, describe, expect, it } from '@jest/globals';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import { CLUSTER_LIST } from '../../src/facade/clusters/cluster-list.ts';
import { ALL_LISTS } from '../../src/facade/lists.ts';
import { buildOpenApi, createOpenApiDocument } from '../../src/facade/openapi.ts';
import type { OpenApiSchema } from '../../src/facade/openapi-schemas.ts';
import type { ApiResponse } from '../support/api-request.ts';
import { problemsOf, type Schemas } from '../support/openapi.ts';
import { ALLOWED, bytesOf, DENIED, FacadeWorld, TOKEN_PATH, TOKEN_REQUEST } from './facade-world.ts';
import { callerOf, HandHub, Replica } from './listwatch/replica.ts';
import { TokenHub, TokenReplica } from './listwatch/token-replica.ts';
import { responseOf, statusOf } from './raw-connection.ts';

let world: FacadeWorld | undefined;
afterEach(() => world?.close());

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, object>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

describe('/openapi/v3', () => {
  it('returns the document without authentication', async () => {
    world = await FacadeWorld.start({ settings: { facadePort: 0, facadePath: 'kubernetes' } });
    const { status, headers, body } = await world.request('GET', '/openapi/v3');
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'application/json' });
    const document = JSON.parse(body) as Document;
    expect(document.openapi).toBe('3.0.0');
    expect(Object.keys(document.paths)).toEqual([
      '/kubernetes/{cluster}/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token',
      '/auth/v1/clusters',
      '/auth/v1/clusters/{name}',
      '/auth/v1/managedtokens',
      '/auth/v1/namespaces/{namespace}/managedtokens',
      '/auth/v1/namespaces/{namespace}/managedtokens/{name}',
    ]);
  });

  it.each(['HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'])('rejects %s with 405 and the allowed method', async (method) => {
    world = await FacadeWorld.start();
    const lines = ['Host: facade.test', 'Content-Length: 0'];
    const { text } = await world.raw(bytesOf({ method, target: '/openapi/v3', lines, body: '' }), {
      isEnough: (so) => so.includes('\r\n\r\n'),
    });
    expect(statusOf({ text })).toBe(405);
    expect(text).toMatch(/\r\nallow: GET\r\n/i);
    expect(world.reviews).toEqual([]);
  });

  it('contains all schemas that it refers to', async () => {
    world = await FacadeWorld.start();
    const { body } = await world.request('GET', '/openapi/v3');
    const { components } = JSON.parse(body) as Document;
    const referred = [...body.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
    expect(referred).toContain('TokenRequest');
    expect(referred.filter((name) => !Object.hasOwn(components.schemas, name ?? ''))).toEqual([]);
  });
});

describe('createOpenApiDocument', () => {
  it('shares the bytes of a representation between responses', () => {
    const { reply } = createOpenApiDocument('kubernetes', [CLUSTER_LIST], {});
    const bodyFor = (accept: string) =>
      reply({ params: {}, header: () => undefined, preferences: { accept, userAgent: undefined, pretty: undefined } }).body;
    expect(bodyFor('application/json')).toBeInstanceOf(Buffer);
    expect(bodyFor('application/json')).toBe(bodyFor('*/*'));
    expect(bodyFor('application/yaml')).not.toBe(bodyFor('application/json'));
  });
});

describe('buildOpenApi', () => {
  it('describes the causes of 404, 503 and 504 for each operation', () => {
    interface Documented {
      readonly operationId: string;
      readonly responses: Readonly<Record<string, { readonly description: string }>>;
    }
    const { paths } = buildOpenApi('kubernetes', ALL_LISTS);
    const operations = Object.values(paths as Readonly<Record<string, Readonly<Record<string, Documented>>>>).flatMap((each) =>
      Object.values(each),
    );
    const described = (code: string) =>
      Object.fromEntries(
        operations.map(({ operationId, responses }) => [operationId, responses[code]?.description.replace(/; retry.*/, '')]),
      );
    const [hub, version] = [
      'A request to the hub failed, Purser has not yet listed the objects on the hub, or Purser is stopping',
      'The requested resource version was not reached in time.',
    ];
    expect(described('404')).toEqual({
      createToken: 'The cluster, the service account or the bound object was not found, or a name in the path is invalid.',
      readCluster: 'The Cluster was not found, or a name in the path is invalid.',
      listNamespacedManagedToken: 'The namespace in the path is not a valid name.',
      readNamespacedManagedToken: 'The ManagedToken was not found, or a name in the path is invalid.',
    });
    expect(described('503')).toEqual({
      createToken: 'Purser, the hub or the cluster cannot serve the request now',
      listCluster: hub,
      readCluster: hub,
      listManagedTokenForAllNamespaces: hub,
      listNamespacedManagedToken: hub,
      readNamespacedManagedToken: hub,
    });
    const list = 'The requested resource version was not reached, or the list was not complete, in time.';
    expect(described('504')).toEqual({
      createToken: 'The cluster did not respond in time, or the request took longer than its timeout parameter allows.',
      listCluster: list,
      readCluster: version,
      listManagedTokenForAllNamespaces: list,
      listNamespacedManagedToken: list,
      readNamespacedManagedToken: version,
    });
  });

  it('documents a list of a namespaced kind for all namespaces, one namespace and one object', () => {
    const kind = { ...CLUSTER_LIST.kind, kind: 'Widget', listKind: 'WidgetList', namespaced: true };
    const { paths, components } = buildOpenApi('kubernetes', [{ ...CLUSTER_LIST, plural: 'widgets', kind }]);
    const operations = Object.entries(paths as Readonly<Record<string, { readonly get?: { readonly operationId: string } }>>).map(
      ([path, { get }]) => [path, get?.operationId],
    );
    expect(operations.slice(1)).toEqual([
      ['/auth/v1/widgets', 'listWidgetForAllNamespaces'],
      ['/auth/v1/namespaces/{namespace}/widgets', 'listNamespacedWidget'],
      ['/auth/v1/namespaces/{namespace}/widgets/{name}', 'readNamespacedWidget'],
    ]);
    expect(Object.keys(components.schemas)).toEqual(expect.arrayContaining(['Widget', 'WidgetList']));
  });
});

const { components, paths } = buildOpenApi('orchestrator', ALL_LISTS);
const schemas = components.schemas as Schemas;
const TOKEN = '/orchestrator/{cluster}/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token';
const LIST = '/auth/v1/clusters';

function problems(value: unknown, name: string, from = schemas): readonly string[] {
  return problemsOf(value, { $ref: `#/components/schemas/${name}` }, from);
}

const BOUND = { kind: 'Secret', apiVersion: 'v1', name: 'anchor', uid: '' };
const { spec: SPEC } = TOKEN_REQUEST;

/** Bodies of token requests; `accepted` is true if the façade accepts the body. */
const BODIES: readonly (readonly [name: string, accepted: boolean, body: unknown])[] = [
  ['only audiences', true, { spec: SPEC }],
  ['the type of the endpoint', true, TOKEN_REQUEST],
  ['an empty type', true, { apiVersion: '', kind: '', spec: SPEC }],
  [
    'null for all optional fields',
    true,
    { apiVersion: null, kind: null, metadata: null, status: null, spec: { ...SPEC, boundObjectRef: null } },
  ],
  ['null for the lifetime', true, { spec: { ...SPEC, expirationSeconds: null } }],
  ['null as an audience', true, { spec: { audiences: [null] } }],
  ['unknown fields', true, { spec: { ...SPEC, more: 1 }, more: 1 }],
  ['ignored metadata', true, { metadata: { labels: { a: null }, ownerReferences: [{ uid: 'u' }], creationTimestamp: null }, spec: SPEC }],
  ['a bound Secret', true, { spec: { ...SPEC, boundObjectRef: BOUND } }],
  ['a bound Pod without apiVersion', true, { spec: { ...SPEC, boundObjectRef: { kind: 'Pod', name: 'a', apiVersion: null } } }],
  ['an apiVersion of three parts', true, { spec: { ...SPEC, boundObjectRef: { ...BOUND, apiVersion: 'a/b/c' } } }],
  ['3607 seconds for a Secret', true, { spec: { ...SPEC, expirationSeconds: 3607, boundObjectRef: BOUND } }],
  ['3607 seconds for a Pod', false, { spec: { ...SPEC, expirationSeconds: 3607, boundObjectRef: { ...BOUND, kind: 'Pod' } } }],
  ['the minimum lifetime', true, { spec: { ...SPEC, expirationSeconds: 600 } }],
  ['less than the minimum lifetime', false, { spec: { ...SPEC, expirationSeconds: 599 } }],
  ['the maximum lifetime', true, { spec: { ...SPEC, expirationSeconds: 2 ** 32 } }],
  ['more than the maximum lifetime', false, { spec: { ...SPEC, expirationSeconds: 2 ** 32 + 1 } }],
  ['a lifetime of another type', false, { spec: { ...SPEC, expirationSeconds: '600' } }],
  ['no spec', false, {}],
  ['null as spec', false, { spec: null }],
  ['no audiences', false, { spec: {} }],
  ['null as audiences', false, { spec: { audiences: null } }],
  ['an empty list of audiences', false, { spec: { audiences: [] } }],
  ['an audience of another type', false, { spec: { audiences: [1] } }],
  ['another kind', false, { ...TOKEN_REQUEST, kind: 'Pod' }],
  ['another apiVersion', false, { ...TOKEN_REQUEST, apiVersion: 'v1' }],
  ['metadata of another type', false, { metadata: { labels: { a: 1 } }, spec: SPEC }],
  ['a time that is not RFC 3339', false, { metadata: { creationTimestamp: 'yesterday' }, spec: SPEC }],
  ['a bound Node', false, { spec: { ...SPEC, boundObjectRef: { ...BOUND, kind: 'Node' } } }],
  ['a bound object of another group', false, { spec: { ...SPEC, boundObjectRef: { ...BOUND, apiVersion: 'apps/v1' } } }],
  ['a bound object without kind', false, { spec: { ...SPEC, boundObjectRef: { name: 'a' } } }],
  ['a bound object without name', false, { spec: { ...SPEC, boundObjectRef: { kind: 'Secret' } } }],
  ['a bound object with a slash in its name', false, { spec: { ...SPEC, boundObjectRef: { ...BOUND, name: 'a/b' } } }],
  ['a bound object named ..', false, { spec: { ...SPEC, boundObjectRef: { ...BOUND, name: '..' } } }],
];

describe('TokenRequest schema', () => {
  it.each(BODIES)('agrees with the façade on a body with %s', async (_name, accepted, body) => {
    world = await FacadeWorld.start();
    const { status } = await world.post(body, { path: `${TOKEN_PATH}?dryRun=All` });
    expect(status === 201).toBe(accepted);
    expect(problems(body, 'TokenRequest').length === 0).toBe(accepted);
  });

  it.each([{}, { spec: null }, { spec: { audiences: null } }, { spec: { audiences: [] } }])(
    'allows %j if the façade has default audiences',
    async (body) => {
      world = await FacadeWorld.start({ settings: { facadeDefaultAudiences: ['api'] } });
      expect((await world.post(body)).status).toBe(201);
      const document = JSON.parse((await world.request('GET', '/openapi/v3')).body) as { readonly components: { schemas: Schemas } };
      expect(problems(body, 'TokenRequest', document.components.schemas)).toEqual([]);
    },
  );
});

describe('TokenResponse schema', () => {
  it.each([
    ['without a bound object, which is null', TOKEN_REQUEST, ''],
    ['of a dry run, whose expiry is null', { spec: { ...SPEC, boundObjectRef: BOUND } }, '?dryRun=All'],
    [
      'with metadata of the request',
      { metadata: { labels: { a: 'b' }, ownerReferences: [{ uid: 'u' }], managedFields: [{}] }, spec: SPEC },
      '',
    ],
  ])('allows a response %s', async (_name, body, query) => {
    world = await FacadeWorld.start();
    const response = await world.post(body, { path: `${TOKEN_PATH}${query}` });
    expect(response.status).toBe(201);
    expect(problems(JSON.parse(response.body), 'TokenResponse')).toEqual([]);
    expectDocumented(response, TOKEN, 'post');
  });
});

describe('Cluster schemas', () => {
  const admin = callerOf('admin');
  const TIMES = { lastHeartbeatTime: '2026-03-01T12:00:00Z', lastTransitionTime: '2026-03-01T11:00:00Z' };

  function replicaOf(): { readonly hub: HandHub; readonly replica: Replica } {
    const hub = new HandHub();
    hub.grant('admin', 'all', { kind: 'User', name: 'admin' });
    for (const name of ['a', 'b']) putCluster(hub, name);
    return { hub, replica: new Replica(hub, undefined, { annotationPrefixes: ['public/'] }) };
  }

  function putCluster(hub: HandHub, name: string): void {
    const metadata = {
      generation: 1,
      creationTimestamp: '2026-03-01T10:00:00Z',
      labels: { env: 'prod' },
      annotations: { 'public/a': 'b', c: 'd' },
    };
    const serverEndpoints = [{ clientCIDR: '10.0.0.0/8', serverAddress: 'https://10.0.0.1:6443' }];
    const conditions = [
      { type: 'Ready', status: 'True', reason: 'ClusterReady', message: 'secret', ...TIMES },
      { type: 'Reachable', status: 'Unknown', reason: 'Foreign', message: 'secret' },
    ];
    hub.clusters.put(name, {
      apiVersion: 'registry.purser.dev/v1alpha1',
      kind: 'Cluster',
      metadata,
      spec: { orchestratorApiEndpoints: { caBundle: 'Zm9v', serverEndpoints } },
      status: { type: 'K3s', version: 'v1.36.0+k3s1', activeEndpoint: 'https://10.0.0.1:6443', conditions },
    } as unknown as Cluster);
  }

  it('allows a list, a page and one object', async () => {
    const { replica } = replicaOf();
    const list = await replica.get('', admin);
    const page = await replica.get('limit=1', admin);
    const one = await replica.getOne('a', admin);
    expect(list.body.items).toHaveLength(2);
    expect(page.body.metadata.remainingItemCount).toBe(1);
    expect(problems(list.body, 'ClusterList')).toEqual([]);
    expect(problems(page.body, 'ClusterList')).toEqual([]);
    expect(problems(one.body, 'Cluster')).toEqual([]);
  });

  it('allows every event of a watch', async () => {
    const { hub, replica } = replicaOf();
    const stream = await replica.watch('allowWatchBookmarks=true', admin);
    putCluster(hub, 'a');
    hub.clusters.delete('b');
    await replica.catchUp();
    const expired = await replica.watch('resourceVersion=1', admin);
    const events = [...stream.take(), ...expired.take()];
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'ADDED', 'BOOKMARK', 'MODIFIED', 'DELETED', 'ERROR']);
    for (const event of events) expect(problems(event, 'ClusterWatchEvent')).toEqual([]);
    expect(problems({ ...events[0], type: 'ERROR' }, 'ClusterWatchEvent')).not.toEqual([]);
  });

  it('has the constraints of the custom resource', () => {
    const isAllowed = (clientCIDR: string, serverAddress = 'https://a') => {
      const spec = { orchestratorApiEndpoints: { serverEndpoints: [{ clientCIDR, serverAddress }] } };
      return problemsOf(spec, schemas['Cluster']?.properties?.['spec'] ?? { not: {} }, schemas).length === 0;
    };
    expect(['10.0.0.0/8', '2001:db8::/32', '10.0.0.0/33'].map((range) => isAllowed(range))).toEqual([true, true, false]);
    expect(['https://a', 'a:6443', 'http://a'].map((address) => isAllowed('::/0', address))).toEqual([true, true, false]);
    expect(JSON.stringify(schemas['Cluster'])).not.toContain('x-kubernetes-');
  });
});

describe('ManagedToken schemas', () => {
  const admin = callerOf('admin', 'system:masters');
  const sample = () => ({
    apiVersion: 'tokens.purser.dev/v1alpha1' as const,
    kind: 'ManagedToken' as const,
    metadata: { namespace: 'team-a', generation: 1, creationTimestamp: '2026-03-01T10:00:00Z', annotations: { a: 'b' } },
    spec: {
      clusterName: 'prod-eu',
      serviceAccount: { namespace: 'deploy', name: 'deployer' },
      audiences: ['https://kubernetes.default.svc'],
      expirationSeconds: 3_600,
      requesterServiceAccountName: 'default',
      rotation: { renewBefore: '20%', suspend: false },
      secret: { outputs: ['Token' as const], labels: { app: 'ci' }, keys: [{ key: 'ca', from: 'CA' as const }] },
      revocation: 'None' as const,
    },
    status: {
      observedGeneration: 1,
      conditions: [{ type: 'Ready', status: 'True' as const, reason: 'Issued', message: 'm', lastTransitionTime: '2026-03-01T10:00:00Z' }],
      expirationTimestamp: '2026-03-01T11:00:00Z',
      rotations: 3,
      tokenDigest: 'hidden',
    },
  });

  function replicaOf(): { readonly hub: TokenHub; readonly replica: TokenReplica } {
    const hub = new TokenHub();
    for (const name of ['a', 'b']) hub.tokens.get('')?.put(name, sample());
    return { hub, replica: new TokenReplica(hub) };
  }

  it('allows a list, a page and one object', async () => {
    const { replica } = replicaOf();
    const list = await replica.get('', admin);
    const page = await replica.get('limit=1', admin, 'team-a');
    const one = await replica.getOne('a', admin, { namespace: 'team-a' });
    expect([list.body.items.length, page.body.metadata.remainingItemCount, one.status]).toEqual([2, 1, 200]);
    expect(problems(list.body, 'ManagedTokenList')).toEqual([]);
    expect(problems(page.body, 'ManagedTokenList')).toEqual([]);
    expect(problems(one.body, 'ManagedToken')).toEqual([]);
    expect(problems({ ...one.body, status: { tokenDigest: 'x' } }, 'ManagedToken')).not.toEqual([]);
  });

  it('allows every event of a watch', async () => {
    const { hub, replica } = replicaOf();
    const stream = await replica.watch('allowWatchBookmarks=true', admin);
    hub.tokens.get('')?.put('a', sample());
    hub.deleteToken('team-a/b');
    await replica.catchUp();
    const events = stream.take();
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'ADDED', 'BOOKMARK', 'MODIFIED', 'DELETED']);
    for (const event of events) expect(problems(event, 'ManagedTokenWatchEvent')).toEqual([]);
    stream.leave();
  });
});

interface DocumentedOperation {
  readonly parameters: readonly { readonly name: string; readonly schema: OpenApiSchema }[];
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly headers: Readonly<Record<string, { readonly required: boolean; readonly schema: OpenApiSchema }>>;
        readonly content: Readonly<Record<string, { readonly schema: OpenApiSchema }>>;
      }
    >
  >;
}

function operationOf(path: string, method: 'get' | 'post'): DocumentedOperation {
  return (paths as Readonly<Record<string, Readonly<Record<string, unknown>>>>)[path]?.[method] as DocumentedOperation;
}

/** Checks the code, headers and body of a response against the document. */
function expectDocumented({ status, headers, body }: ApiResponse, path: string, method: 'get' | 'post'): void {
  const { headers: documented = {}, content = {} } = operationOf(path, method).responses[status] ?? {};
  const { schema = { not: {} } } = content[String(headers['content-type'])] ?? {};
  expect(problemsOf(JSON.parse(body), schema, schemas)).toEqual([]);
  for (const [name, { required, schema: form }] of Object.entries(documented)) {
    const value = headers[name.toLowerCase()];
    if (required) expect([name, typeof value]).toEqual([name, 'string']);
    if (typeof value === 'string') expect(problemsOf(form.type === 'integer' ? Number(value) : value, form, schemas)).toEqual([]);
  }
}

describe('responses of the document', () => {
  const authorization = `Bearer ${ALLOWED}`;

  it.each([
    [400, 'two Authorization headers', { more: [`Authorization: ${authorization}`] }],
    [400, 'bytes that are not HTTP', { version: '9.9' }],
    [401, 'no bearer token', { lines: ['Host: facade.test'] }],
    [403, 'a caller without permission', { lines: ['Host: facade.test', `Authorization: Bearer ${DENIED}`] }],
    [404, 'an unknown cluster', { target: TOKEN_PATH.replace('prod-eu', 'other') }],
    [405, 'another method', { method: 'PUT' }],
    [406, 'Accept for HTML', { more: ['Accept: text/html'] }],
    [413, 'a large body', { body: 'x'.repeat(9_000) }],
    [415, 'another media type', { lines: ['Host: facade.test', `Authorization: ${authorization}`, 'Content-Type: text/plain'] }],
    [417, 'an unknown expectation', { more: ['Expect: more'] }],
    [422, 'no audiences', { body: '{}' }],
    [431, 'large headers', { more: [`X-Filler: ${'x'.repeat(20_000)}`] }],
  ] as const)('documents the %d response to a token request with %s', async (code, _name, request) => {
    world = await FacadeWorld.start();
    const response = responseOf(await world.raw(bytesOf(request)));
    expect(response.status).toBe(code);
    expectDocumented(response, TOKEN, 'post');
  });

  it('documents the methods that paths of lists allow, with and without a watch', () => {
    const { Allow } = operationOf('/auth/v1/clusters', 'get').responses[405]?.headers ?? {};
    for (const value of ['GET, HEAD', 'GET']) expect(problemsOf(value, Allow?.schema ?? { not: {} }, schemas)).toEqual([]);
    expect(problemsOf('GET, POST', Allow?.schema ?? {}, schemas)).not.toEqual([]);
  });

  it.each([
    [429, 'a throttling target', 429],
    [451, 'a code that only an admission webhook uses', 451],
    [503, 'a failing target', 500],
  ])('documents the %d response for %s', async (code, _name, sent) => {
    world = await FacadeWorld.start({ target: (_request, reply) => reply.json(sent, { kind: 'Status', status: 'Failure', code: sent }) });
    const response = await world.post();
    expect(response.status).toBe(code);
    const { responses } = operationOf(TOKEN, 'post');
    expect(Object.keys(responses)).toContain(code === 451 ? '4XX' : String(code));
    expect(problems(JSON.parse(response.body), 'Status')).toEqual([]);
    if (code !== 451) expectDocumented(response, TOKEN, 'post');
  });

  it('documents the status codes of a list and of a single object', () => {
    const common = ['400', '401', '405', '406', '408', '417', '429', '431', '500', '503', '504'];
    const codes = (path: string) => Object.keys(operationOf(path, 'get').responses).sort();
    expect(codes(LIST)).toEqual(['200', ...common, '410', '422'].sort());
    expect(codes(`${LIST}/{name}`)).toEqual(['200', ...common, '404'].sort());
  });
});

describe('parameters of the document', () => {
  const values = (path: string, method: 'get' | 'post', name: string) =>
    operationOf(path, method).parameters.find((parameter) => parameter.name === name)?.schema;

  it.each([
    ['dryRun', 'All', true],
    ['dryRun', '', false],
    ['dryRun', 'None', false],
    ['fieldValidation', 'Strict', true],
    ['fieldValidation', '', true],
    ['fieldValidation', 'strict', false],
    ['fieldManager', 'ü'.repeat(64), true],
    ['fieldManager', 'm'.repeat(127), true],
    ['fieldManager', 'm'.repeat(128), false],
    ['fieldManager', 'a\nb', false],
    ['pretty', 'anything', true],
  ])('agrees with the façade on %s=%j', async (name, value, accepted) => {
    world = await FacadeWorld.start();
    const { status } = await world.post(TOKEN_REQUEST, { path: `${TOKEN_PATH}?${String(new URLSearchParams({ [name]: value }))}` });
    expect(status === 201).toBe(accepted);
    expect(problemsOf(value, values(TOKEN, 'post', name) ?? { not: {} }, schemas).length === 0).toBe(accepted);
  });

  it.each([
    ['resourceVersion', '', true],
    ['resourceVersion', '00000000000000000000101', true],
    ['resourceVersion', '-1', false],
    ['resourceVersion', 'x', false],
    ['continue', 'a b', false],
    ['resourceVersionMatch', '', true],
    ['resourceVersionMatch', 'Older', false],
  ])('agrees with a list on %s=%j', async (name, value, accepted) => {
    const hub = new HandHub();
    hub.putCluster('a');
    const query = new URLSearchParams({ [name]: value, ...(name === 'resourceVersionMatch' && { resourceVersion: '1' }) });
    const { status } = await new Replica(hub).get(String(query), callerOf('admin'));
    expect(status === 200).toBe(accepted);
    expect(problemsOf(value, values(LIST, 'get', name) ?? { not: {} }, schemas).length === 0).toBe(accepted);
  });

  it('restricts the namespace in a path to a DNS label', () => {
    const { pattern = '', maxLength } = values(TOKEN, 'post', 'namespace') ?? {};
    expect({ isLabel: new RegExp(pattern).test('a-b'), isSubdomain: new RegExp(pattern).test('a.b'), maxLength }).toEqual({
      isLabel: true,
      isSubdomain: false,
      maxLength: 63,
    });
  });
});
